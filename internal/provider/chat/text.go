package chat

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// Text is a JSON string that keeps bytes that are not UTF-8. Servers cut the text of a model into pieces between
// bytes, and a piece may begin within a character. Package json alone would replace both halves.
type Text string

// UnmarshalJSON leaves the text empty for anything else than a string.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) < 2 || b[0] != '"' {
		return nil
	}
	b = b[1 : len(b)-1]
	var out []byte
	for len(b) > 0 {
		plain := bytes.IndexByte(b, '\\')
		if plain < 0 {
			plain = len(b)
		}
		out, b = append(out, b[:plain]...), b[plain:]
		escapes := escapesLen(b)
		var s string
		if err := json.Unmarshal([]byte(`"`+string(b[:escapes])+`"`), &s); err != nil {
			return err
		}
		out, b = append(out, s...), b[escapes:]
	}
	*t = Text(out)
	return nil
}

// Parts is a text that may come as a part or a list of parts. All parts with a text count but those of thoughts.
type Parts string

// UnmarshalJSON leaves the text empty for anything else than a string, a part or a list.
func (p *Parts) UnmarshalJSON(b []byte) error {
	var list []json.RawMessage
	switch {
	case len(b) > 0 && b[0] == '{':
		list = []json.RawMessage{b}
	case len(b) == 0 || b[0] != '[' || (Event{Data: b}).Decode(&list) != nil:
		return (*Text)(p).UnmarshalJSON(b)
	}
	*p = ""
	for _, raw := range list {
		var part struct {
			Type string
			Text Text
		}
		if len(raw) > 0 && raw[0] == '"' {
			if err := part.Text.UnmarshalJSON(raw); err != nil {
				return err
			}
		} else if err := (Event{Data: raw}).Decode(&part); err != nil {
			return err
		}
		if !thoughts.MatchString(part.Type) {
			*p += Parts(part.Text)
		}
	}
	return nil
}

// thoughts matches the types of parts that hold what a model thinks.
var thoughts = regexp.MustCompile(`(?i)think|thought|reason`)

// escapesLen returns the length of the escapes at the beginning of b. Two of them may be one character.
func escapesLen(b []byte) int {
	n := 0
	for n+1 < len(b) && b[n] == '\\' {
		if b[n+1] == 'u' {
			n += 4
		}
		n += 2
	}
	return min(n, len(b))
}
