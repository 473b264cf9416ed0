package run

import (
	"fmt"
	"time"
)

// RefusedSignal is a message that a run, or a session, has not taken. A signal has no answer: what its sender does not
// learn is kept here.
type RefusedSignal struct {
	At     time.Time `json:"at"`
	Signal string    `json:"signal"`
	Reason string    `json:"reason"`
}

// MaxRefused bounds the refused signals that a run or a session remembers, the latest of them.
const MaxRefused = 5

// maxRefusedReason bounds a reason, which may quote the signal, in bytes.
const maxRefusedReason = 300

// AddRefused returns the list with one more refused signal, the latest last.
func AddRefused(list []RefusedSignal, at time.Time, signal string, why error) []RefusedSignal {
	list = append(list, RefusedSignal{At: at, Signal: signal, Reason: clipText(why.Error(), maxRefusedReason)})
	return list[max(0, len(list)-MaxRefused):]
}

// String says when which signal was refused, and why.
func (r RefusedSignal) String() string {
	return fmt.Sprintf("the signal %s of %s was refused: %s", r.Signal, r.At.UTC().Format("15:04:05 UTC"), r.Reason)
}
