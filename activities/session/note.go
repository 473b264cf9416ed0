package session

import (
	"encoding/json"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// note is the part of a session that outlives the worker. It is on disk before the agent is given what it
// says.
type note struct {
	Agent string `json:"agent,omitempty"` // the agent's own id of its session; empty: none yet
	Rung  int    `json:"rung,omitempty"`  // for the next start; see agent.AnswerTokens
	// Own is the model that the agent chose by itself, as far as its client reports it. Strayed says that a start has had a
	// chosen one since: see agent.Modelled.
	Own     string `json:"own,omitempty"`
	Strayed bool   `json:"strayed,omitempty"`
	// OwnMode and StrayedMode say the same of the mode: see agent.Defaulted.
	OwnMode     string `json:"ownMode,omitempty"`
	StrayedMode bool   `json:"strayedMode,omitempty"`
	// Epoch is the number of the last process that was started. Orderly says that its process was ended in good order, so that
	// nothing of ours can hold the agent's session.
	Epoch   int  `json:"epoch,omitempty"`
	Orderly bool `json:"orderly,omitempty"`
	// Turns counts the turns that the agent has taken in its session.
	Turns int `json:"turns,omitempty"`
	// Garden is the id by which other sessions know this one; empty: they do not.
	Garden dispatch.GardenID `json:"garden,omitempty"`
	// Last is the message that was handed over last, and Part its part: see Handover.
	Last *session.Handed `json:"last,omitempty"`
	Part int             `json:"part,omitempty"`
	// Spent holds the permits for one call that have let it through in the turn.
	Spent []run.Digest `json:"spent,omitempty"`
}

// loadNote reads the note. One that cannot be read is an error: with an empty one a message would be said
// again.
func loadNote(slot rundir.Slot) (n note, err error) {
	b, err := slot.Note()
	if err == nil && len(b) > 0 {
		err = json.Unmarshal(b, &n)
	}
	if err != nil {
		return n, fmt.Errorf("read the session's note: %w", err)
	}
	return n, nil
}

func (n note) keepIn(slot rundir.Slot) error {
	b, err := json.Marshal(n)
	if err == nil {
		err = slot.SetNote(b)
	}
	if err != nil {
		return fmt.Errorf("keep the session's note: %w", err)
	}
	return nil
}
