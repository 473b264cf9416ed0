package session

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/session"
)

// hooks are the places where the delivery half of the workflow joins in. A nil member joins in nowhere.
// None of them may block, except step. They reach the session by the runner that they were made for:
// runner.apply with session.DeliveryBegun, session.NotHanded and session.WakeAsked, runner.own for
// activities of the process's owner, runner.touch after a change that step or due depends on.
type hooks struct {
	// seated is called when the agent takes input: a sitting, and with it a stream of events without a
	// gap, has begun. Watched says that the session proves what its thread does.
	seated func(ctx workflow.Context, sitting session.Sitting, watched bool)
	// sighted is called for each event of a watched thread, and reported for each end of a delivery's turn.
	sighted  func(ctx workflow.Context, epoch int, what session.Sight)
	reported func(ctx workflow.Context, epoch int, end session.TurnEnded)
	// ended is called when a sitting has ended. No more events of it come.
	ended func(ctx workflow.Context, epoch int, end session.End, reason string)
	// step is called when the session rests: what a person said goes first. It may run activities, and
	// reports whether it did anything.
	step func(ctx workflow.Context) bool
	// due returns when step is to be called next though nothing happens; zero means never.
	due func(now time.Time) time.Time
	// carried is called before the workflow continues as new, and may change its input.
	carried func(in *Input)
}
