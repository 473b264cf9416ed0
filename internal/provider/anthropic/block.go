package anthropic

import (
	"encoding/json"
	"errors"

	"github.com/ratchet-dev/ratchet/internal/provider/chat"
)

// block is a part of a message. The API wants its blocks back whole, unknown kinds included.
type block struct {
	members map[string]json.RawMessage // of its beginning

	kind, id, name            string
	text, thinking, signature []byte
	input                     []byte // JSON once it is whole
}

// delta is what follows the beginning of a block.
type delta struct {
	Type        string
	Text        chat.Text
	PartialJSON chat.Text `json:"partial_json"`
	Thinking    chat.Text
	Signature   chat.Text
}

// UnmarshalJSON reads the beginning of a block.
func (b *block) UnmarshalJSON(data []byte) error {
	var begin struct {
		Type, ID, Name            string
		Text, Thinking, Signature chat.Text
		Input                     json.RawMessage
	}
	e := chat.Event{Data: data}
	err := errors.Join(e.Decode(&begin), e.Decode(&b.members))
	b.kind, b.id, b.name, b.input = begin.Type, begin.ID, begin.Name, begin.Input
	b.text, b.thinking, b.signature = []byte(begin.Text), []byte(begin.Thinking), []byte(begin.Signature)
	return err
}

// addDelta adds what follows the beginning.
func (b *block) addDelta(d delta) {
	switch d.Type {
	case "text_delta":
		b.text = append(b.text, d.Text...)
	case "thinking_delta":
		b.thinking = append(b.thinking, d.Thinking...)
	case "signature_delta":
		b.signature = append(b.signature, d.Signature...)
	case "input_json_delta":
		if string(b.input) == "{}" && d.PartialJSON != "" { // it held the place
			b.input = nil
		}
		b.input = append(b.input, d.PartialJSON...)
	}
}

// MarshalJSON returns the whole block. A member that is null need not be sent back. Arguments of a tool that
// are not whole are left out.
func (b *block) MarshalJSON() ([]byte, error) {
	whole := map[string]any{}
	for name, value := range b.members {
		if string(value) != "null" {
			whole[name] = value
		}
	}
	for name, value := range map[string][]byte{"text": b.text, "thinking": b.thinking, "signature": b.signature} {
		if len(value) > 0 {
			whole[name] = string(value)
		}
	}
	if json.Valid(b.input) {
		whole["input"] = json.RawMessage(b.input)
	}
	return json.Marshal(whole)
}
