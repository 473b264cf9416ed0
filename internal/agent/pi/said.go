package pi

import "strings"

// said is what was told of the message that comes in pieces. A message that
// broke off is asked for again, and often begins with the same words: these
// are told once.
type said struct {
	message strings.Builder
	before  string // what was told of the message that broke off
}

// delta takes a piece and returns what of it is to be told.
func (s *said) delta(piece string) string {
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

// whole ends the message and returns what of it remains to be told: all of it
// where it is not what the pieces began.
func (s *said) whole(text string, broken bool) string {
	rest, ok := strings.CutPrefix(text, s.message.String())
	if ok && rest != "" {
		rest = s.delta(rest)
	}
	if told := s.message.String(); !broken {
		s.before = ""
	} else if len(told) > len(s.before) {
		s.before = told
	}
	s.message.Reset()
	return rest
}
