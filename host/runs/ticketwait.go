package runs

import (
	"context"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// TicketWait reaches what a ticket waits for as a client of runs does: the ids are names of tickets.
type TicketWait struct{ *Client }

// Pending returns the question of the ticket.
func (w TicketWait) Pending(ctx context.Context, id run.ID) (run.Pending, error) {
	v, err := w.Ticket(ctx, string(id))
	p := run.Pending{RunID: id, Name: run.Name(v.Name), Status: run.Running}
	switch q := v.State.Question; {
	case err == nil && !v.Open:
		p.Status = run.Completed
	case q != nil:
		p.Status = run.AwaitingInput
		p.Question = &run.PendingQuestion{
			QuestionID: q.Key, Kind: run.AgentQuestion, Question: run.Question{Question: q.Text, NeededInput: []string{"continue, retry, or a text, which the next run gets"}},
			Signal: run.Reply{QuestionID: q.Key},
		}
	}
	return p, err
}

// Decide refuses: a ticket waits for no approval.
func (TicketWait) Decide(_ context.Context, id run.ID, _ run.Decision) error {
	return fmt.Errorf("ticket %s waits for no approval", id)
}

// Reply answers the question.
func (w TicketWait) Reply(ctx context.Context, id run.ID, r run.Reply) error {
	return w.AnswerTicket(ctx, string(id), r.Text)
}

// Cancel ends the ticket.
func (w TicketWait) Cancel(ctx context.Context, id run.ID) error {
	return w.StopTicket(ctx, string(id))
}
