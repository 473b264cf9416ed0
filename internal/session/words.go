// Package session is the contract of a standing session: its words, its state, and the fold of what
// happens to it. The fold decides the next step. A standing session is one conversation with an agent
// that outlives the agent's process and the worker that owns the process. The package is pure: no I/O, no
// clock, no Temporal. Package workflows/session carries out the steps.
package session

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// ID identifies a session; new ones are UUIDs of version 7.
type ID string

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Validate returns an error if the id cannot serve as the name of a directory and of a workflow.
func (id ID) Validate() error {
	if !idForm.MatchString(string(id)) {
		return fmt.Errorf("session id %q: want 1 to 64 letters, digits, '-' and '_'", string(id))
	}
	return nil
}

const workflowPrefix = "session-"

// WorkflowID returns the id of the session's workflow.
func (id ID) WorkflowID() string { return workflowPrefix + string(id) }

// IDOf returns the session id in a workflow id; ok is false if the workflow is not a session.
func IDOf(workflowID string) (id ID, ok bool) {
	s, ok := strings.CutPrefix(workflowID, workflowPrefix)
	return ID(s), ok && ID(s).Validate() == nil
}

// ModelMemo is the field of the workflow's memo that holds the sticky model, for lists.
const ModelMemo = "model"

// State is the state of a session as the outside sees it.
type State string

// The states.
const (
	Starting State = "starting" // the agent's process is being started, or waits for a place
	Idle     State = "idle"     // the agent lives and has no turn
	Working  State = "working"  // a turn is in progress
	Asking   State = "asking"   // a person must decide before the session works on
	Asleep   State = "asleep"   // there is no process; the next message starts one
	Dead     State = "dead"     // the process ended by itself; the next message starts another
	Lost     State = "lost"     // the worker that owned the process ended, or is not heard from
	Foreign  State = "foreign"  // a process that is not ours holds the agent's session, or may hold it
	Unable   State = "unable"   // the agent could not be started
	Retired  State = "retired"  // the session has ended for good
)

func (s *State) UnmarshalText(b []byte) error {
	return exact.Word(s, b, "session state", Starting, Idle, Working, Asking, Asleep, Dead, Lost, Foreign, Unable, Retired)
}

// End says how an agent process ended.
type End string

// The ends of an agent process.
const (
	Slept     End = "slept"     // the process was ended in good order, having been idle or to make room
	Ended     End = "ended"     // the process was ended in good order on request
	Died      End = "died"      // the process ended by itself
	WasLost   End = "lost"      // the worker did not report how the process ended
	Held      End = "held"      // nothing was started: another process holds the agent's session, or may
	Unstarted End = "unstarted" // the agent did not start
	Forgotten End = "forgotten" // nothing was started: the agent knows its own session no more
)

func (e *End) UnmarshalText(b []byte) error {
	return exact.Word(e, b, "end of an agent process", Slept, Ended, Died, WasLost, Held, Unstarted, Forgotten)
}

// Outcome is the way in which a message ended.
type Outcome string

// The outcomes of a message.
const (
	Completed   Outcome = "completed"
	Interrupted Outcome = "interrupted" // by a person
	Failed      Outcome = "failed"      // the agent says why
	CutOff      Outcome = "cut_off"     // the process ended in the turn, more often than it is resumed
	Unknown     Outcome = "unknown"     // the process ended while it was handed over: the agent may have it
	Withdrawn   Outcome = "withdrawn"   // it was never handed over: the session was stopped or retired
)

func (o *Outcome) UnmarshalText(b []byte) error {
	return exact.Word(o, b, "outcome", Completed, Interrupted, Failed, CutOff, Unknown, Withdrawn)
}

// Stage says how far the note on disk shows the handing over of a message.
type Stage string

// The stages. A message of which the note has nothing was not handed over.
const (
	Begun  Stage = "begun"  // the note was written before the message; the agent may have it
	Heard  Stage = "heard"  // the agent has reported something since
	Closed Stage = "closed" // the turn ended
)

func (s *Stage) UnmarshalText(b []byte) error { return exact.Word(s, b, "stage", Begun, Heard, Closed) }
