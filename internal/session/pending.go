package session

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Pending is what a session waits for, with the ways to resolve it.
type Pending struct {
	Session  ID           `json:"sessionId"`
	State    State        `json:"state"`
	Asks     []PendingAsk `json:"approvals,omitempty"`
	Question *Question    `json:"question,omitempty"`
}

// PendingAsk is a tool call that waits for a person, in the form of a run's pending approval.
type PendingAsk struct {
	ApprovalID string         `json:"approvalId"`
	Digest     run.Digest     `json:"digest"`
	Summary    string         `json:"summary"`
	Permission run.Permission `json:"permission"`
	Excerpt    string         `json:"excerpt,omitempty"`
	Commands   []string       `json:"commands"`
	// Signal is the payload to send as the signal `approval`.
	Signal run.Decision `json:"signal"`
}

// Pending returns what the session waits for.
func (s *Snapshot) Pending() Pending {
	p := Pending{Session: s.Input.ID, State: s.State, Question: s.Question}
	for _, a := range s.Asks {
		if a.Decided != nil {
			continue
		}
		p.Asks = append(p.Asks, PendingAsk{
			ApprovalID: a.ApprovalID, Digest: a.Digest, Summary: a.Permission.Summary(), Permission: a.Permission, Excerpt: a.Permission.Excerpt,
			Commands: []string{
				fmt.Sprintf("starter session decide %s approve --approval %s", s.Input.ID, a.ApprovalID),
				fmt.Sprintf("starter session decide %s approve --approval %s --session", s.Input.ID, a.ApprovalID),
				fmt.Sprintf("starter session decide %s reject --approval %s --reason TEXT", s.Input.ID, a.ApprovalID),
			},
			Signal: run.Decision{ApprovalID: a.ApprovalID, Decision: run.Approve},
		})
	}
	return p
}
