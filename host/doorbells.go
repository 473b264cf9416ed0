package host

import (
	"context"
	"log/slog"
	"time"

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
	ticks := b.Ticks
	if ticks == nil {
		ticks = time.Tick(lostAfter)
	}
	return lookRegularly(ctx, ticks, b.Log, "look for mail that was not announced", b.ringOnce)
}

func (b Doorbells) ringOnce(ctx context.Context) error {
	// Another worker of the host may have been killed. A sweep that fails is made again at the next tick.
	if gone, _ := (citizen.Host{Dirs: b.Boxes.Dirs}).Sweep(ctx); len(gone) > 0 {
		b.Log.Info("removed the sessions of a worker that has ended", "citizens", gone)
	}
	rung, err := b.Boxes.RingAgain(ctx, lostAfter)
	if len(rung) > 0 {
		b.Log.Info("announced unread mail again", "citizens", rung)
	}
	return err
}
