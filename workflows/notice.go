package workflows

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	flow "github.com/ratchet-dev/ratchet/workflows/notify"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// sendNotice has a workflow of its own tell people of an event that calls them, if the run has channels for it. The run
// waits for no receiver: that workflow outlives it.
func (r *runner) sendNotice(ctx workflow.Context, e run.Event) {
	n, calls := notify.Of(r.s.Input, e)
	if !calls || len(r.s.Input.Notify) == 0 {
		return
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: n.ID, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, StaticSummary: page.OfLine(n.Title()),
	}), flow.Notice, flow.Input{Notice: n, Channels: r.s.Input.Notify})
	r.notices = append(r.notices, child.GetChildWorkflowExecution())
}

// awaitNotices waits until the workflows of all notices have begun. They live on when this execution ends.
func (r *runner) awaitNotices(ctx workflow.Context) {
	for _, begun := range r.notices {
		if err := begun.Get(ctx, nil); err != nil {
			r.log.Warn("a notice was not sent", "error", err)
		}
	}
	r.notices = nil
}
