package sessions

import (
	"context"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// PendingOf returns what a session waits for in the form of a run's wait.
func PendingOf(s session.Snapshot) run.Pending {
	p := run.Pending{RunID: run.ID(s.Input.ID), Name: run.Name(s.Input.ID), Status: run.Running, RefusedSignals: s.RefusedSignals}
	waits := s.Pending()
	switch {
	case s.State == session.Retired:
		p.Status = run.Completed
	case len(waits.Asks) > 0:
		a := waits.Asks[0]
		p.Status = run.AwaitingApproval
		p.Approval = &run.PendingApproval{
			ApprovalID: a.ApprovalID, Digest: a.Digest, Summary: a.Summary, Permission: &a.Permission, Excerpt: a.Excerpt, Commands: a.Commands, Signal: a.Signal,
			Next: run.Outlook{Approve: "the tool runs, and the turn continues", Reject: "the agent gets your reason, and the turn continues without the tool"},
		}
	case waits.Question != nil:
		q := waits.Question
		p.Status = run.AwaitingInput
		p.Question = &run.PendingQuestion{QuestionID: q.ID, Kind: run.BudgetQuestion, Question: q.Question, Signal: run.Reply{QuestionID: q.ID}}
	}
	return p
}

// Wait reaches what one session waits for as a run's client does: the ids are the session's.
type Wait struct{ Client }

// Pending returns what the session waits for.
func (w Wait) Pending(ctx context.Context, id run.ID) (run.Pending, error) {
	s, err := w.State(ctx, session.ID(id))
	return PendingOf(s), err
}

// Decide decides about a tool.
func (w Wait) Decide(ctx context.Context, id run.ID, d run.Decision) error {
	return w.send(ctx, id, sessionflow.ApprovalMessage, d)
}

// Reply answers the question about a budget.
func (w Wait) Reply(ctx context.Context, id run.ID, r run.Reply) error {
	return w.send(ctx, id, sessionflow.AnswerMessage, r)
}

// Cancel ends the turn.
func (w Wait) Cancel(ctx context.Context, id run.ID) error {
	return w.send(ctx, id, sessionflow.StopUpdate, sessionflow.By{})
}

func (w Wait) send(ctx context.Context, id run.ID, name string, message any) error {
	return w.Send(ctx, session.ID(id), name, "", message, nil)
}
