package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// sendNotice notifies people about an event that needs them.
func (r *runner) sendNotice(ctx workflow.Context, e run.Event) {
	if n, calls := notify.Of(r.s.Input, e); calls {
		r.notices.Send(ctx, n, r.s.Input.Notify)
	}
}
