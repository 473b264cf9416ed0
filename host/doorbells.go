package host

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
)

// Doorbells rings again for mail that lies unread although its receiver is present. A ring can be
// lost, and the session then sleeps until the next message. One Doorbells for each worker is
// enough, and several ring no more often.
type Doorbells struct {
	Boxes mailbox.Mailboxes
	Log   *slog.Logger     // receives an error when it changes, and each repeated ring
	Ticks <-chan time.Time // starts each look; nil means every minute
}

// lostAfter is the time after which an unanswered ring counts as lost. It is also the interval
// between two looks.
const lostAfter = time.Minute

// Start looks until ctx ends or stop is called. Stop returns when no look is in progress any more.
func (b Doorbells) Start(ctx context.Context) (stop func()) {
	return untilStopped(ctx, b.ringRegularly)
}

func (b Doorbells) ringRegularly(ctx context.Context) {
	ticks := b.Ticks
	if ticks == nil {
		t := time.NewTicker(lostAfter)
		defer t.Stop()
		ticks = t.C
	}
	wrong := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			wrong = b.ringOnce(ctx, wrong)
		}
	}
}

// ringOnce rings for unread mail and returns the text of the error, or an empty string. It logs the
// error unless it equals before.
func (b Doorbells) ringOnce(ctx context.Context, before string) (wrong string) {
	// Another worker of the host may have been killed. A sweep that fails is made again at the next tick.
	if gone, _ := (citizen.Host{Dirs: b.Boxes.Dirs}).Sweep(ctx); len(gone) > 0 {
		b.Log.Info("removed the sessions of a worker that has ended", "citizens", gone)
	}
	rung, err := b.Boxes.RingAgain(ctx, lostAfter)
	if len(rung) > 0 {
		b.Log.Info("announced unread mail again", "citizens", rung)
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return ""
	}
	wrong = report.Summary(err.Error())
	if wrong != before {
		b.Log.Warn("look for mail that was not announced", "error", wrong)
	}
	return wrong
}
