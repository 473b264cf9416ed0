package follow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

// Asked is what waits for a person: a run, a session or a ticket. The id is that of a run, or stands for the other's.
type Asked interface {
	Pending(ctx context.Context, id run.ID) (run.Pending, error)
	Decide(ctx context.Context, id run.ID, d run.Decision) error
	Reply(ctx context.Context, id run.ID, r run.Reply) error
	Cancel(ctx context.Context, id run.ID) error
}

// decider decides approvals and answers questions. An ErrUnanswered leaves them pending, a dialog.ErrCancel ends the run.
type decider interface {
	Approve(ctx context.Context, a run.PendingApproval) (run.Decision, error)
	Answer(ctx context.Context, q run.PendingQuestion) (run.Reply, error)
}

// informed is a decider that learns what became of its last decision: err is nil if the run has taken it.
type informed interface{ Sent(err error) }

var (
	ErrUnanswered = dialog.ErrUnanswered
	ErrDecided    = errors.New("it was decided elsewhere")
)

// unfollowed completes what waits and is not followed.
type unfollowed struct{ Asked }

func (unfollowed) Events(context.Context, run.ID, string) ([]run.Event, error) { return nil, nil }
func (unfollowed) Note(context.Context, run.ID, run.Note) error                { return runs.ErrOver }
func (unfollowed) Describe(context.Context, run.ID) (runs.Execution, error) {
	return runs.Execution{Open: true}, nil
}

// NewAsker returns a follower that asks the person at the terminal what an item waits for.
func NewAsker(c *factory.Factory, screen *terminal.Screen, client *runs.Client, i inbox.Item) *Follower {
	if i.Kind == inbox.Run {
		return New(c, screen, runref.Found{Client: client, ID: i.ID, Name: i.Name})
	}
	f := &Follower{ID: run.ID(i.Ref), Now: c.Now, Screen: screen, Title: i.Shown()}
	p := NewPerson(c, screen, f.ID)
	if i.Kind == inbox.Ticket {
		f.Watched = unfollowed{runs.TicketWait{Client: client}}
		p.Whole, p.Ends = "ticket", "the ticket and its run end; branch and pull request stay"
	} else {
		f.Watched = unfollowed{sessions.Wait{Client: sessionref.Client(c, client.Temporal())}}
		p.Whole, p.Ends = "turn", "the turn ends, the session stays"
		p.Load = func(ref run.Ref) ([]byte, error) { return sessionref.Load(c, session.ID(i.Ref), ref) }
	}
	f.Decider = p
	return f
}

// DecideWait asks the decider for the decision or the answer that the run waits for and sends it to
// the run. The error is ErrDecided when it was decided elsewhere meanwhile, and ErrUnanswered when
// there is no decider.
func (f *Follower) DecideWait(ctx context.Context) error {
	p, err := f.Pending(ctx, f.ID)
	if err != nil {
		_, err = f.tolerateTrouble(ctx, err)
		return err
	}
	if p.Approval == nil && p.Question == nil || f.hasDecided(p) {
		return f.waitMoving(ctx, PollFrame, "") // the next events show how it was decided
	}
	if waits.AboutRecord(p) && f.Shown != waits.ID(p) {
		f.Shown = waits.ID(p)
		waits.Show(f.Screen, p)
	}
	if f.Decider == nil {
		return ErrUnanswered
	}
	f.Screen.Clear()
	f.Screen.SetFoot("")
	if p.Approval != nil {
		f.callPerson("waits for an approval")
	} else {
		f.callPerson("waits for an answer")
	}
	ask, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go f.watchWait(ask, p, stop)
	switch {
	case p.Approval != nil:
		var d run.Decision
		if d, err = f.Decider.Approve(ask, *p.Approval); err == nil {
			err = f.decide(ctx, d)
		}
		f.Done = map[run.Verdict]string{run.Approve: "approved", run.Edit: "edited", run.Reject: "refused"}[d.Decision]
	default:
		var r run.Reply
		if r, err = f.Decider.Answer(ask, *p.Question); err == nil {
			err = f.Reply(ctx, f.ID, r)
		}
		f.Done = "answered"
	}
	if errors.Is(err, dialog.ErrCancel) {
		f.Done = "asked to end"
		f.sayLine("it is asked to end")
		err = f.Cancel(ctx, f.ID)
	}
	if refused, ok := errors.AsType[*runs.RefusedError](err); ok {
		f.Done = ""
		f.sayLine("%s", story.OneLine(refused.Reason, 300))
		return nil
	}
	if err != nil {
		f.Done = ""
	}
	switch {
	case err == nil:
		f.decided, f.decidedAt = waits.ID(p), f.Now()
	case errors.Is(err, runs.ErrOver):
		return ErrDecided
	case errors.Is(err, ErrDecided):
		f.sayLine("%s", err)
	case errors.Is(err, runs.ErrNoWorker), runs.Lost(err):
		_, err = f.tolerateTrouble(ctx, err) // follow asks again afterwards
	}
	return err
}

// decide sends a decision of the decider to the run.
func (f *Follower) decide(ctx context.Context, d run.Decision) error {
	err := f.Decide(ctx, f.ID, d)
	if i, ok := f.Decider.(informed); ok {
		i.Sent(err)
	}
	return err
}

// hasDecided reports whether this follower has just decided the wait: a look that was in progress meanwhile may
// still show it, and a person must not be asked the same twice.
func (f *Follower) hasDecided(p run.Pending) bool {
	return waits.ID(p) == f.decided && f.Now().Sub(f.decidedAt) < decidedGrace
}

// watchWait calls stop when the run no longer waits for the same approval or question.
func (f *Follower) watchWait(ctx context.Context, asked run.Pending, stop context.CancelCauseFunc) {
	tick := time.NewTicker(cmp.Or(f.Poll, pollWaiting))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p, err := f.Pending(ctx, f.ID)
		if err == nil && waits.ID(p) != waits.ID(asked) {
			stop(ErrDecided)
			return
		}
	}
}

// consequence bounds the wait for what a decision did.
const consequence = 4 * time.Second

// SkipShown passes over the events until now: a person who looks at a wait alone does not read the story before it.
func (f *Follower) SkipShown(ctx context.Context) error {
	if f.tools != nil {
		f.tools()
	}
	events, err := f.Events(ctx, f.ID, "")
	if err == nil && len(events) > 0 {
		f.Last = events[len(events)-1]
	}
	return err
}

// PrintConsequence prints the events of a decision and what follows from it, if that comes soon.
func (f *Follower) PrintConsequence(ctx context.Context) {
	f.Typing = false // nothing is typed meanwhile
	defer f.Screen.Clear()
	for before, end := f.Last.ID, f.Now().Add(consequence); f.Now().Before(end); {
		events, err := f.Events(ctx, f.ID, f.Last.ID)
		if err != nil || f.printAll(events) != nil {
			return
		}
		switch status := statusAfter(f.Last); {
		case status.Terminal(), status.Waiting() && len(events) == 0 && f.Last.ID != before:
			return
		case slices.Contains([]run.EventType{run.PatchAppliedEvent, run.PatchApplyFailedEvent, run.PhaseStartedEvent}, f.Last.Type) && f.Last.ID != before:
			return
		}
		if f.waitMoving(ctx, PollFrame, "") != nil {
			return
		}
	}
}
