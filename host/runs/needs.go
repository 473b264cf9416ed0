package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Needs says where a run stands, and what it needs from a person.
type Needs struct {
	RunID   run.ID       `json:"runId"`
	Name    run.Name     `json:"name,omitempty"`
	Status  run.Status   `json:"status"`
	Over    bool         `json:"over"`    // it has ended
	Waits   bool         `json:"waits"`   // it needs a person
	Summary string       `json:"summary"` // in words
	Pending *run.Pending `json:"pending,omitempty"`
}

// The widths of quotations in a summary, in characters.
const (
	needsSummary  = 200
	needsQuestion = 300
)

// NewNeeds says what a run needs, from its status and its open approval or question.
func NewNeeds(id run.ID, name run.Name, status run.Status, p *run.Pending) Needs {
	n := Needs{RunID: id, Name: name, Status: status, Over: status.Terminal(), Waits: status.Waiting(), Pending: p}
	switch {
	case n.Over:
		n.Summary = fmt.Sprintf("the run has ended: %s", status)
	case p != nil && p.Approval != nil && p.Approval.Permission != nil:
		n.Summary = "it needs the permission to use a tool: " + display.OneLine(p.Approval.Summary, needsSummary)
	case p != nil && p.Approval != nil:
		n.Summary = fmt.Sprintf("it needs the approval of a patch: %s (%s)", display.OneLine(p.Approval.Summary, needsSummary), p.Approval.Stat)
	case p != nil && p.Question != nil:
		n.Summary = "it needs an answer: " + display.OneLine(p.Question.Question.Question, needsQuestion)
	case p != nil && p.Limited != nil:
		n.Summary = "it waits until a usage limit ends, then continues by itself"
	default:
		n.Summary = "it is running and needs nothing"
	}
	return n
}

// LookAtNeeds says what the run needs now.
func (c *Client) LookAtNeeds(ctx context.Context, id run.ID) (Needs, error) {
	e, err := c.Describe(ctx, id)
	if err != nil {
		return Needs{}, err
	}
	if e.Status.Terminal() {
		return NewNeeds(id, e.Name, e.Status, nil), nil
	}
	v, err := c.complete(ctx, e)
	if err != nil {
		return Needs{}, err
	}
	return v.Needs(), nil
}

// needsAgain is how long a look at a run that is waited for counts, for the changes that Changes misses.
const needsAgain = 10 * time.Second

// AwaitNeeds waits until the run needs a person or has ended, or until ctx ends, and says what it needs. A look that
// has begun is not cut off.
func (c *Client) AwaitNeeds(ctx context.Context, id run.ID) (Needs, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	again := time.NewTicker(needsAgain)
	defer again.Stop()
	for changed := c.Changes(watching, id); ; {
		n, err := c.LookAtNeeds(context.WithoutCancel(ctx), id)
		if err != nil || n.Over || n.Waits {
			return n, err
		}
		select {
		case <-ctx.Done():
			return n, nil
		case <-changed:
		case <-again.C:
		}
	}
}
