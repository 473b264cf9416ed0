package session

import (
	"encoding/json"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// note is what outlives the worker: enough to go on with the session, and not
// to pay for an answer twice.
type note struct {
	Session string `json:"session,omitempty"` // the agent's id; empty: none yet
	Rung    int    `json:"rung,omitempty"`    // of agent.Ladder, for the next start
	// Key and Call are the call that was sent last. While Open its turn has not
	// come to an end; Answer is what it ended in.
	Key    string  `json:"key,omitempty"`
	Call   int     `json:"call,omitempty"`
	Open   bool    `json:"open,omitempty"`
	Answer *answer `json:"answer,omitempty"`
}

// answer is a completed turn.
type answer struct {
	Text  string    `json:"text"`
	Usage run.Usage `json:"usage"`
}

func (n note) is(key string, call int) bool { return n.Key == key && n.Call == call }

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
