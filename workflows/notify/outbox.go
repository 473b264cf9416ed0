package notify

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// Outbox sends the notices of a workflow, each by a workflow of its own. The sender waits for no receiver: those outlive it.
type Outbox struct{ begun []workflow.Future }

// Send has a notice delivered by the channels; by none, nothing is sent.
func (o *Outbox) Send(ctx workflow.Context, n notify.Notice, channels []run.Channel) {
	if len(channels) == 0 {
		return
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: n.ID, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, StaticSummary: page.OfLine(n.Title()),
	}), Notice, Input{Notice: n, Channels: channels})
	o.begun = append(o.begun, child.GetChildWorkflowExecution())
}

// Flush waits until the workflows of all notices have begun: before that the end of the sender would end them.
func (o *Outbox) Flush(ctx workflow.Context) {
	for _, begun := range o.begun {
		if err := begun.Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Warn("a notice was not sent", "error", err)
		}
	}
	o.begun = nil
}
