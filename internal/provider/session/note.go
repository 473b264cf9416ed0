package session

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// slotNote is the state of a slot that outlives the worker. With it a later attempt
// can resume the session, does not pay for an answer twice, and lets each
// permit through once.
type slotNote struct {
	Session string `json:"session,omitempty"` // the agent's id of the session; empty: none yet
	Rung    int    `json:"rung,omitempty"`    // for the next start; see agent.AnswerTokens
	// Garden is the id by which others know the session; empty: they do not know it.
	Garden dispatch.GardenID `json:"garden,omitempty"`

	// Key, Call and Task describe the work that was sent last: its workKey, the
	// number of the call, and the digest of the prompt.
	Key  string     `json:"key,omitempty"`
	Call int        `json:"call,omitempty"`
	Task run.Digest `json:"task,omitempty"`
	// Open says that the turn of that work has not ended. Heard says that the
	// agent has the message, because it has reported something since. Answer is
	// the answer that the turn ended with.
	Open   bool    `json:"open,omitempty"`
	Heard  bool    `json:"heard,omitempty"`
	Answer *answer `json:"answer,omitempty"`
	// Used is the usage of the call. Reported is the part that errors have reported.
	Used     run.Usage `json:"used,omitzero"`
	Reported run.Usage `json:"reported,omitzero"`

	// Passed is the number of the notes of people that were passed into the turns of that call, or may have been: the
	// first ones of those that no prompt carries yet.
	Passed int `json:"passed,omitempty"`

	Asked *askID  `json:"asked,omitempty"` // the request that suspended the work last
	Spent []askID `json:"spent,omitempty"` // the permits for one call that have let it through
}

// askID identifies a permission request, and thereby its permit.
type askID struct {
	CallID string     `json:"callId"`
	Digest run.Digest `json:"digest"`
}

func askIDOf(p run.Permit) askID { return askID{p.CallID, p.Digest} }

// maxSpent bounds Spent. A run keeps fewer permits than that.
const maxSpent = 256

// answer is the answer with which the run's own turn ended.
type answer struct {
	Text string `json:"text"`
	// Changes is the content of the checkout at the end of the turn. It is valid
	// once Taken says that the checkout was read. The checkout of a role that changes nothing counts as read.
	// No attempt gives an answer before, so only its note has its usage.
	Changes []byte `json:"changes,omitempty"`
	Taken   bool   `json:"taken,omitempty"`
}

func (n slotNote) isFor(key string, call int) bool { return n.Key == key && n.Call == call }

// hasGiven reports whether the note holds an answer that an attempt has given, or will give.
func (n slotNote) hasGiven() bool { return n.Answer != nil && n.Answer.Taken }

// spendPermit records that a permit has let its call through.
func (n *slotNote) spendPermit(a askID) {
	n.Spent = append(n.Spent, a)
	n.Spent = slices.Clone(n.Spent[max(0, len(n.Spent)-maxSpent):])
}

// awaitedPermit returns the decision on the request that suspended the work. It
// returns nil if that decision is not there or has let a call through already.
func (n slotNote) awaitedPermit(permits []run.Permit) *run.Permit {
	if n.Asked == nil || slices.Contains(n.Spent, *n.Asked) {
		return nil
	}
	i := slices.IndexFunc(permits, func(p run.Permit) bool { return askIDOf(p) == *n.Asked })
	if i < 0 {
		return nil
	}
	return &permits[i]
}

// GardenIDIn returns the id by which others know the session of a slot's note;
// it is empty if they do not know the session.
func GardenIDIn(b []byte) dispatch.GardenID {
	var n slotNote
	_ = json.Unmarshal(b, &n) // a note that cannot be read names no id
	return n.Garden
}

// AnswerUsage returns the usage of the answer to a request that a slot's note holds, as far as no error has reported it. The
// caller reports it if it gives up a call whose answer was not kept elsewhere: the next call counts it as reported.
func AnswerUsage(b []byte, req provider.Request) run.Usage {
	var n slotNote
	if json.Unmarshal(b, &n) != nil || !n.isFor(workKey(req), req.Call) || !n.hasGiven() {
		return run.Usage{}
	}
	return n.Used.Sub(n.Reported)
}

// loadNote reads the slot's note. A note that cannot be read counts as empty:
// the agent then begins a new session.
func loadNote(s provider.Site) (slotNote, error) {
	var n slotNote
	b, err := s.Note()
	if err != nil {
		return n, fmt.Errorf("read the session's note: %w", err)
	}
	if len(b) > 0 && json.Unmarshal(b, &n) != nil {
		return slotNote{}, nil
	}
	return n, nil
}

func (c *activeCall) keepNote() error {
	b, err := json.Marshal(c.note)
	if err != nil {
		return err
	}
	if err := c.req.Work.Site.SetNote(b); err != nil {
		return fmt.Errorf("keep the session's note: %w", err)
	}
	c.left = *c.unreportedUsage()
	return nil
}
