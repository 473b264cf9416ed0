package session

import (
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// ReportSignal is the signal by which the owner of an agent process reports what it saw: a
// session.Report.
const ReportSignal = "report"

// ProcessInput starts an agent process.
type ProcessInput struct {
	Session session.Input `json:"session"`
	Epoch   int           `json:"epoch"` // the number of the process
	Choice  setup.Choice  `json:"choice,omitzero"`
	// Fresh begins a new session of the agent.
	Fresh bool `json:"fresh,omitempty"`
}

// ProcessResult says how an agent process ended.
type ProcessResult struct {
	End    session.End `json:"end"`
	Reason string      `json:"reason,omitempty"`
	// Found is what the note on disk says of the last message at the end: a turn may have been given up.
	Found *session.Handed `json:"found,omitempty"`
}

// Handover is a message for the agent in a process.
type Handover struct {
	Session session.ID `json:"session"`
	Epoch   int        `json:"epoch"`
	// ID is the message's. Part numbers how often the agent was given it before, from 0: a later
	// part asks the agent to continue the turn that was cut off.
	ID   string `json:"id"`
	Part int    `json:"part,omitempty"`
	Text string `json:"text,omitempty"`
	// Permits are the decisions that hold in the turn. Decided is the one that the turn was cut off at.
	Permits []run.Permit  `json:"permits,omitempty"`
	Decided *run.Permit   `json:"decided,omitempty"`
	Left    provider.Left `json:"left,omitzero"` // of the budgets
}

// HandResult says what came of a Handover, a Verdict or an Interrupt.
type HandResult struct {
	// Done says that the agent was given it. Otherwise it surely was not, and Reason says why.
	Done   bool   `json:"done"`
	Reason string `json:"reason,omitempty"`
}

// Verdict is the decision on a tool call of the agent.
type Verdict struct {
	Session session.ID `json:"session"`
	Epoch   int        `json:"epoch"`
	Permit  run.Permit `json:"permit"`
	Final   bool       `json:"final,omitempty"` // a rejection that ends the turn
}

// ProcessRef names an agent process.
type ProcessRef struct {
	Session session.ID `json:"session"`
	Epoch   int        `json:"epoch"`
}
