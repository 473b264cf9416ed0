package provider

import (
	"encoding/json"
	"errors"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Halted is the error by which the code of a provider ends a call that has not failed. Generate returns no such error: see
// Response.Halt.
type Halted struct {
	Halt  run.Halt
	Asked json.RawMessage // see Response.Asked
}

func (*Halted) Error() string { return "the call is halted" }

// Suspend returns the halt of a call that waits for a permission. Input is the whole input of the tool. The agent's session
// waits, or is resumed: the same call with the decision among its Permits continues where this one stopped.
func Suspend(p run.Permission, input json.RawMessage) *Halted {
	p.Digest = run.DigestOf(append([]byte(p.Tool+"\n"), input...))
	return &Halted{Halt: run.Halt{Permission: &p}, Asked: input}
}

// Exhaust returns the halt of a call that was ended because a budget was used up.
func Exhaust() *Halted { return &Halted{Halt: run.Halt{Exhausted: true}} }

// HaltOf returns the halt that an error of a provider's code says; false: it is a failure.
func HaltOf(err error) (*Halted, bool) {
	if l, ok := errors.AsType[*failure.Limited](err); ok {
		return &Halted{Halt: run.Halt{Limited: &run.Limited{Until: l.Until, Reason: l.Cause.Message}}}, true
	}
	return errors.AsType[*Halted](err)
}

// WithHalt returns the response of a call that is halted.
func (r Response) WithHalt(h *Halted) Response {
	r.Halt, r.Asked = &h.Halt, h.Asked
	return r
}
