package dispatch

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// MaxMessage is the longest message, in Unicode code points. JSON Schema counts maxLength the same
// way. A peer that counts UTF-16 units accepts no message that this limit refuses.
const MaxMessage = 16000

// Input holds a caller's request to the decider. Decoding is exact: an unknown member, a malformed
// garden id and an unknown word are errors of the caller, and no receipt is made.
type Input struct {
	Target GardenID `json:"target" jsonschema:"garden id of an existing session; a dispatch never starts a new session"`
	Intent Intent   `json:"intent" jsonschema:"the outcome that you wait for: fire-and-forget ends with the acknowledgement, owned-outcome with the end of the turn"`
	// Mode is empty when the caller leaves it open.
	Mode Mode `json:"mode,omitempty" jsonschema:"how a busy target takes the message: steer interrupts its turn, follow_up waits for its end; ignored for a mailbox and a resume"`
	// WantsReply is etiquette. It routes nothing, and nothing waits for the reply.
	WantsReply bool `json:"wantsReply,omitempty" jsonschema:"tells the target that a reply is welcome; nothing waits for one"`
}

// UnmarshalJSON decodes exactly.
func (in *Input) UnmarshalJSON(b []byte) error {
	type plain Input
	var p plain
	if err := exact.Decode(b, &p); err != nil {
		return fmt.Errorf("dispatch input: %w", err)
	}
	*in = Input(p)
	return nil
}

// Request is an Input with the message, as tools spell it. Decoding is exact.
type Request struct {
	Target     GardenID `json:"target" jsonschema:"garden id of an existing session; a dispatch never starts a new session"`
	Intent     Intent   `json:"intent" jsonschema:"the outcome that you wait for: fire-and-forget ends with the acknowledgement, owned-outcome with the end of the turn"`
	Message    string   `json:"message" jsonschema:"the message, verbatim"`
	Mode       Mode     `json:"mode,omitempty" jsonschema:"how a busy target takes the message: steer interrupts its turn, follow_up waits for its end; ignored for a mailbox and a resume"`
	WantsReply bool     `json:"wants_reply,omitempty" jsonschema:"tells the target that a reply is welcome; nothing waits for one"`
}

// Input returns the request without its message.
func (r Request) Input() Input {
	return Input{Target: r.Target, Intent: r.Intent, Mode: r.Mode, WantsReply: r.WantsReply}
}

// Validate returns the errors of the decoder for a request that was not decoded.
func (r Request) Validate() error {
	if err := r.Target.Validate(); err != nil {
		return err
	}
	if err := known(r.Intent, "intent", Intents); err != nil {
		return err
	}
	if r.Mode != "" {
		if err := known(r.Mode, "mode", Modes); err != nil {
			return err
		}
	}
	return validMessage(r.Message)
}

// UnmarshalJSON decodes exactly.
func (r *Request) UnmarshalJSON(b []byte) error {
	type plain Request
	var p plain
	if err := exact.Decode(b, &p); err != nil {
		return fmt.Errorf("dispatch request: %w", err)
	}
	if err := validMessage(p.Message); err != nil {
		return fmt.Errorf("dispatch request: %w", err)
	}
	*r = Request(p)
	return nil
}

// validMessage returns an error for a message that some transport cannot carry verbatim.
func validMessage(s string) error {
	switch n := utf8.RuneCountInString(s); {
	case !utf8.ValidString(s):
		return errors.New("message is not UTF-8")
	case n == 0:
		return errors.New("message is empty")
	case n > MaxMessage:
		return fmt.Errorf("message has %d characters, at most %d are allowed", n, MaxMessage)
	}
	return nil
}
