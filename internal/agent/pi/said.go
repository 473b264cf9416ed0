package pi

import "strings"

// partialMessage holds the reported part of the message that comes in pieces. A
// message that broke off is requested again, and often begins with the same
// words: these are reported once.
type partialMessage struct {
	message strings.Builder
	before  string // the reported part of the message that broke off
}

// addPiece takes a piece and returns the part of it to report.
func (s *partialMessage) addPiece(piece string) string {
	s.message.WriteString(piece)
	now := s.message.String()
	switch {
	case s.before == "":
		return piece
	case strings.HasPrefix(s.before, now):
		return ""
	}
	rest, _ := strings.CutPrefix(now, s.before) // all of it, if it is another message
	s.before = ""
	return rest
}

// completeMessage ends the message and returns the part that has not been reported.
// It returns the whole message if the pieces are not its beginning.
func (s *partialMessage) completeMessage(text string, broken bool) string {
	rest, ok := strings.CutPrefix(text, s.message.String())
	if ok && rest != "" {
		rest = s.addPiece(rest)
	}
	if told := s.message.String(); !broken {
		s.before = ""
	} else if len(told) > len(s.before) {
		s.before = told
	}
	s.message.Reset()
	return rest
}
