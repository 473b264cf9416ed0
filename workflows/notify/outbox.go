package notify

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// Outbox sends the notices of a workflow. Each is delivered by a workflow of its own, which outlives that one.
type Outbox struct{ begun []workflow.Future }

// Send starts the delivery of a notice. It waits for no receiver.
func (o *Outbox) Send(ctx workflow.Context, n notices.Notice, channels []run.Channel) {
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: n.ID, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, StaticSummary: page.OfLine(n.Title()),
	}), Notice, Input{Notice: n, Channels: channels})
	o.begun = append(o.begun, child.GetChildWorkflowExecution())
}

// Flush waits until all deliveries have begun. Before, the workflow must not end.
func (o *Outbox) Flush(ctx workflow.Context) {
	for _, begun := range o.begun {
		if err := begun.Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Warn("a notice was not sent", "error", err)
		}
	}
	o.begun = nil
}
