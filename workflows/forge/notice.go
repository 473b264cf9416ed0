package forge

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/activities/report"
	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/ticket"
)

// sendNotice starts the delivery of a notice of the ticket's question or end, if the runs have channels for it. The ticket
// does not wait for a receiver.
func (w *work) sendNotice(ctx workflow.Context) {
	kind, key, text := notices.TicketQuestion, "", ""
	switch {
	case w.s.Step == ticket.Over:
		kind, key, text = notices.TicketEnded, "end:"+string(w.s.End), string(w.s.End)
		if w.s.Reason != "" {
			text += ": " + w.s.Reason
		}
	case w.s.Question != nil:
		key, text = w.s.Question.Key, w.s.Question.Text
	}
	if key == w.s.Notified {
		return
	}
	if w.s.Notified = key; key == "" || len(w.in.Input.Notify) == 0 {
		return
	}
	id := fmt.Sprintf("%s-%d", TicketID(w.in.Ticket), w.s.Notices)
	w.s.Notices++
	n := notices.OfTicket(w.in.Input, kind, w.in.Name(), id, text, w.s.Run, workflow.Now(ctx))
	w.notices.Send(ctx, n, w.in.Input.Notify)
}

// say writes the state into the comment on the issue, if it says something else. If it cannot, the state says so.
func (w *work) say(ctx workflow.Context) {
	text := w.s.Comment(w.in.Bounds)
	if text == w.said {
		return
	}
	in := activities.CommentInput{Repository: w.in.Repository, Issue: w.in.Issue, Text: text}
	if err := workflow.ExecuteActivity(acting(ctx, 10*time.Minute), acts.CommentOnIssue, in).Get(ctx, nil); err != nil {
		w.s.Silent = report.ProblemOf(err).Message
		return
	}
	w.said, w.s.Silent = text, ""
}

// show keeps the search attributes up to date, by which the tickets are found that ask.
func (w *work) show(ctx workflow.Context) {
	status := run.Running
	if w.s.Question != nil {
		status = run.AwaitingInput
	}
	if status == w.shown {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, attribute.Status().ValueSet(string(status)), attribute.Repository().ValueSet(w.in.Input.Repository.Path)); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not sent", "error", err)
	}
	w.shown = status
}
