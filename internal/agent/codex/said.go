package codex

import (
	"slices"
	"strings"
)

// saidItems bounds the number of incomplete messages that are kept.
const saidItems = 64

// partialMessages holds the parts that were reported of messages that are not
// complete (CLIENT.md, 12).
type partialMessages struct {
	text        map[string]*strings.Builder // by item
	order       []string
	lastMessage string // the last whole message
}

// addPiece records a piece that is being reported.
func (s *partialMessages) addPiece(item, piece string) {
	text := s.text[item]
	if text == nil {
		if len(s.order) == saidItems {
			delete(s.text, s.order[0])
			s.order = s.order[1:]
		}
		text = &strings.Builder{}
		s.text[item], s.order = text, append(s.order, item)
	}
	text.WriteString(piece)
}

// completeMessage takes a complete message and returns the part that has not been
// reported. It returns the whole message if the pieces are not its beginning.
func (s *partialMessages) completeMessage(item, message string) string {
	s.lastMessage = message
	text := s.text[item]
	if text == nil {
		return message
	}
	delete(s.text, item)
	s.order = slices.DeleteFunc(s.order, func(other string) bool { return other == item })
	if rest, ok := strings.CutPrefix(message, text.String()); ok {
		return rest
	}
	return message
}
