package forge

import (
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/workflows/notify"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// tellPeople starts the delivery of a notice of the ticket's question or end, if the runs have channels for it. The ticket
// does not wait for a receiver.
func (w *work) tellPeople(ctx workflow.Context) {
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
	if key == w.s.Told {
		return
	}
	if w.s.Told = key; key == "" || len(w.in.Input.Notify) == 0 {
		return
	}
	id := fmt.Sprintf("%s-%d", TicketID(w.in.Ticket), w.s.Notices)
	w.s.Notices++
	n := notices.OfTicket(w.in.Input, kind, w.in.Name(), id, text, w.s.Run, workflow.Now(ctx))
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: n.ID, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, StaticSummary: page.OfLine(n.Title()),
	}), notify.Notice, notify.Input{Notice: n, Channels: w.in.Input.Notify})
	w.notices = append(w.notices, child.GetChildWorkflowExecution())
}

// awaitNotices waits until the workflows of all notices have begun. They live on when this execution ends.
func (w *work) awaitNotices(ctx workflow.Context) {
	for _, begun := range w.notices {
		if err := begun.Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Warn("a notice was not sent", "error", err)
		}
	}
	w.notices = nil
}
