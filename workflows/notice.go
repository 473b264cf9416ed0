package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// sendNotice tells people of an event that calls them, if the run has channels for it.
func (r *runner) sendNotice(ctx workflow.Context, e run.Event) {
	if n, calls := notify.Of(r.s.Input, e); calls && len(r.s.Input.Notify) > 0 {
		ctx, _ = workflow.NewDisconnectedContext(ctx)
		r.notices.Send(ctx, n, r.s.Input.Notify)
	}
}
