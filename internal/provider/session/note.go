package session

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// note is what outlives the worker: enough to go on with the session, not to
// pay for an answer twice, and to let a permit through once.
type note struct {
	Session string `json:"session,omitempty"` // the agent's id; empty: none yet
	Rung    int    `json:"rung,omitempty"`    // for the next start; see agent.AnswerTokens
	// Garden is the id by which others know the session; empty: they do not.
	Garden dispatch.GardenID `json:"garden,omitempty"`

	// Key, Call and Task are the work that was sent last: what it is about, the
	// number of the call, and the digest of the prompt.
	Key  string     `json:"key,omitempty"`
	Call int        `json:"call,omitempty"`
	Task run.Digest `json:"task,omitempty"`
	// Open says that its turn has not come to an end, Heard that the agent has
	// said something since it was sent, and so has it. Answer is what the turn
	// ended in.
	Open   bool    `json:"open,omitempty"`
	Heard  bool    `json:"heard,omitempty"`
	Answer *answer `json:"answer,omitempty"`
	// Used is what the call has used, Told the part of it that went with errors.
	Used run.Usage `json:"used,omitzero"`
	Told run.Usage `json:"told,omitzero"`

	Asked *ask  `json:"asked,omitempty"` // what the work was suspended for last
	Spent []ask `json:"spent,omitempty"` // of the permits for one call, those that have let it through
}

// ask identifies what was asked for, and by that a permit.
type ask struct {
	CallID string     `json:"callId"`
	Digest run.Digest `json:"digest"`
}

func askOf(p run.Permit) ask { return ask{p.CallID, p.Digest} }

// maxSpent bounds Spent: a run keeps fewer permits.
const maxSpent = 256

// answer is what the run's own turn ended in.
type answer struct {
	Text string `json:"text"`
	// Changes is what the checkout held when the turn ended, once Taken says that
	// it was looked at.
	Changes []byte `json:"changes,omitempty"`
	Taken   bool   `json:"taken,omitempty"`

	used run.Usage // of the call so far
}

func (n note) is(key string, call int) bool { return n.Key == key && n.Call == call }

// spend notes that a permit has let its call through.
func (n *note) spend(a ask) {
	n.Spent = append(n.Spent, a)
	n.Spent = slices.Clone(n.Spent[max(0, len(n.Spent)-maxSpent):])
}

// awaited is the decision on what the work was suspended for, as long as it
// has let nothing through.
func (n note) awaited(permits []run.Permit) *run.Permit {
	if n.Asked == nil || slices.Contains(n.Spent, *n.Asked) {
		return nil
	}
	i := slices.IndexFunc(permits, func(p run.Permit) bool { return askOf(p) == *n.Asked })
	if i < 0 {
		return nil
	}
	return &permits[i]
}

// Garden is the id in a slot's note by which others know its session; empty
// when they do not.
func Garden(b []byte) dispatch.GardenID {
	var n note
	_ = json.Unmarshal(b, &n) // what cannot be read names none
	return n.Garden
}

// loadNote reads the slot's note. One that cannot be read is none: the agent
// begins anew.
func loadNote(s provider.Site) (note, error) {
	var n note
	b, err := s.Note()
	if err != nil {
		return n, fmt.Errorf("read the session's note: %w", err)
	}
	if len(b) > 0 && json.Unmarshal(b, &n) != nil {
		return note{}, nil
	}
	return n, nil
}

func (c *call) keepNote() error {
	b, err := json.Marshal(c.note)
	if err != nil {
		return err
	}
	if err := c.req.Work.Site.SetNote(b); err != nil {
		return fmt.Errorf("keep the session's note: %w", err)
	}
	return nil
}
