package runs

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Turn says whose turn it is at a run.
type Turn int

// The turns, in the order of lists.
const (
	NeedsPerson Turn = iota
	Working
	Over
)

// Turn returns whose turn it is.
func (l Listed) Turn() Turn {
	switch {
	case l.Ended != nil || l.Status.Terminal():
		return Over
	case l.Status.Waiting():
		return NeedsPerson
	}
	return Working
}

// Word says in a word or two what the run does, or what it waits for: tool is set if that is a tool call, not a patch.
func (l Listed) Word(tool bool) string {
	switch {
	case l.Outcome != "":
		return l.Outcome
	case l.Status == run.AwaitingApproval && tool:
		return "allow"
	case l.Status == run.AwaitingApproval:
		return "approve"
	case l.Status == run.AwaitingInput:
		return "answer"
	case l.Merged:
		return "merged"
	case l.Undone:
		return "undone"
	case l.Unsure:
		return "completed, merged?"
	case l.Status.Terminal():
		return string(l.Status)
	case l.Phase != "":
		return fmt.Sprintf("%s %d", l.Phase, l.Iteration)
	}
	return cmp.Or(string(l.Status), "starts")
}

// CompareTurns puts runs in the order of lists: first those that need a person, the longest wait first; then those that
// work and those that are over, the newest first. The times are the beginnings of the waits.
func CompareTurns(a Listed, since time.Time, b Listed, sinceB time.Time) int {
	t, u := a.Turn(), b.Turn()
	switch {
	case t != u:
		return int(t) - int(u)
	case t == NeedsPerson:
		return since.Compare(sinceB)
	case t == Over:
		return b.over().Compare(a.over())
	}
	return b.Started.Compare(a.Started)
}

// over returns when the run ended.
func (l Listed) over() time.Time {
	if l.Ended != nil {
		return *l.Ended
	}
	return l.Started
}
