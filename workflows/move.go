package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// errMoves ends a wait in a phase that is done on another host.
var errMoves = errors.New("the run moves")

// takeMove has the run continue on another task queue. The run's own queue ends a move that has not begun.
func (r *runner) takeMove(ctx workflow.Context, m run.Move) Accepted {
	r.moveTo = m.Queue
	if m.Queue == workflow.GetInfo(ctx).TaskQueueName {
		r.moveTo = ""
	}
	return Accepted{RunID: r.s.Input.RunID}
}

// moves reports whether the run is to move before its next step. The making of the branch and a contest finish first.
func (r *runner) moves() bool {
	return r.moveTo != "" && r.contest == nil && (r.workspace == nil || r.workspace.IsReady())
}

// toQueue returns a context for the next execution, on the task queue that the run moves to.
func (r *runner) toQueue(ctx workflow.Context) workflow.Context {
	if r.moveTo == "" {
		return ctx
	}
	return workflow.WithWorkflowTaskQueue(ctx, r.moveTo)
}
