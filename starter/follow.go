package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Intervals between two looks at a followed run.
const (
	pollActive  = 250 * time.Millisecond
	pollQuiet   = 600 * time.Millisecond // after quietPolls without an event
	quietPolls  = 40
	pollWaiting = time.Second
	recordPoll  = 20 * time.Millisecond
	pollFrame   = 100 * time.Millisecond // of the moving line
)

// Waits for troubles that may end by themselves.
const (
	workerGrace = 3 * time.Second  // without a worker, before the follower says it
	recordGrace = 10 * time.Second // for the record, once the run is over or waits
	patience    = 30 * time.Second // without the engine, before it counts as lost

	settledGrace = 10 * time.Second // for looks that still show a wait which this follower has settled
)

// watched holds the methods of a run's client that a follower uses.
type watched interface {
	Events(ctx context.Context, id run.ID, after string) ([]run.Event, error)
	Describe(ctx context.Context, id run.ID) (runs.Execution, error)
	Pending(ctx context.Context, id run.ID) (run.Pending, error)
	Decide(ctx context.Context, id run.ID, d run.Decision) error
	Reply(ctx context.Context, id run.ID, r run.Reply) error
	Note(ctx context.Context, id run.ID, n run.Note) error
	Cancel(ctx context.Context, id run.ID) error
}

// decider settles the approvals and questions of a run. An errUnanswered leaves them pending, a
// dialog.ErrCancel ends the run.
type decider interface {
	Approve(ctx context.Context, a run.PendingApproval) (run.Decision, error)
	Answer(ctx context.Context, q run.PendingQuestion) (run.Reply, error)
}

// informed is a decider that is told what became of its last decision: err is nil if the run has taken it.
type informed interface{ Sent(err error) }

var (
	errUnanswered = dialog.ErrUnanswered
	errSettled    = errors.New("it was settled elsewhere")
)

// follower tells the events of one run live. It ends when the run is over, or when the run
// waits and there is no person to ask.
type follower struct {
	watched
	id      run.ID
	tell    func(run.Event) error
	look    func(context.Context, runs.Execution) error // called with each look at a run that is at work; nil: not at all
	screen  *terminal.Screen
	decider decider // nil: there is no person to ask
	now     func() time.Time
	poll    time.Duration // between looks; zero: as the constants say
	// tools returns the agents' tool calls that have ended since its last call, and showTool shows one; nil:
	// none are shown.
	tools    func() []rundir.ToolCall
	showTool func(rundir.ToolCall)
	// changes holds a value when the run has gone on; nil: the follower only asks now and then.
	changes <-chan struct{}
	// notes gives what the person types while nothing is asked; nil: nothing is typed.
	notes <-chan string
	by    string // the person's name
	typed notesLeft
	title string // of the run, for the calls of the screen; empty: it does not call

	settled   string // the id of the wait that this follower settled last
	settledAt time.Time
	shown     string // the id of the wait that is on the screen although no event told it

	typing bool // the person sees typed characters while nothing is asked

	calls    []rundir.ToolCall // ended, not shown yet
	used     run.Usage         // of the events told
	last     run.Event         // last event told
	failures map[string]string // last failure told, by the name of the activity
	idle     time.Time         // since when no worker answers
	lost     time.Time         // since when the engine does not answer
	told     bool              // the follower has told that no worker answers
	quiet    int               // polls without an event
}

// follow returns the status that the run ended in or waits in.
func (f *follower) follow(ctx context.Context) (run.Status, error) {
	defer f.screen.Clear()
	for {
		status, err := f.tellAndWait(ctx)
		if err != nil {
			return "", err
		}
		if status.Terminal() {
			f.screen.SetFoot("")
			f.callPerson("is " + string(status))
			return status, f.awaitRecorded(ctx, status)
		}
		if status.Waiting() {
			err := f.settleWait(ctx)
			if errors.Is(err, errUnanswered) {
				return status, f.awaitRecorded(ctx, status)
			}
			if err != nil && !errors.Is(err, errSettled) {
				return "", err
			}
		}
	}
}

// awaitRecorded waits until the told events are on disk too, and until the worker has cleaned up
// after a run that is over. It gives up after recordGrace. The run's worker then does both when
// it can.
func (f *follower) awaitRecorded(ctx context.Context, status run.Status) error {
	for end := f.now().Add(recordGrace); f.now().Before(end); {
		e, err := f.Describe(ctx, f.id)
		if err != nil {
			return ctx.Err()
		}
		if !e.Open || status.Waiting() && len(e.Activities) == 0 {
			return nil
		}
		if err := f.waitMoving(ctx, recordPoll, "cleans up"); err != nil {
			return err
		}
	}
	return nil
}

// tellAndWait tells the new events and waits a little. It returns the status of a run that is over or
// waits, and running for any other.
func (f *follower) tellAndWait(ctx context.Context) (run.Status, error) {
	events, err := f.Events(ctx, f.id, f.last.ID)
	if err != nil {
		return f.tolerateTrouble(ctx, err)
	}
	f.printRecovered()
	f.quiet++
	if err := f.tellAll(events); err != nil {
		return "", err
	}
	if status := statusAfter(f.last); status != run.Running {
		return status, nil
	}
	e, err := f.Describe(ctx, f.id)
	if err != nil {
		return f.tolerateTrouble(ctx, err)
	}
	if !e.Open {
		return f.tellClosed(ctx, e)
	}
	if f.look != nil {
		if err := f.look(ctx, e); err != nil {
			return "", err
		}
	}
	f.tellFailing(e.Activities)
	every, what := pollActive, f.progressText(e)
	if f.quiet > quietPolls {
		every = pollQuiet
	}
	if len(e.Activities) == 0 && f.quiet > quietPolls { // perhaps it waits without an event
		p, err := f.Pending(ctx, f.id)
		switch {
		case err != nil:
		case asksAboutRecord(p) && !f.hasSettled(p):
			return run.AwaitingInput, nil
		case p.Limited != nil:
			what = fmt.Sprintf("waits for the usage limit of %s to end, %s", p.Limited.Provider, p.Limited.Until.Local().Format(time.DateTime))
		}
	}
	return run.Running, f.waitMoving(ctx, every, what)
}

// statusAfter returns the status after an event, as far as following needs it.
func statusAfter(e run.Event) run.Status {
	switch e.Type {
	case run.ApprovalRequestedEvent:
		return run.AwaitingApproval
	case run.QuestionRaisedEvent:
		return run.AwaitingInput
	case run.RunCompletedEvent:
		return run.Completed
	case run.RunFailedEvent:
		return run.Failed
	case run.RunCanceledEvent:
		return run.Canceled
	}
	return run.Running
}

// tellClosed tells the events that came with the end. It returns an error for a workflow that ended
// without an end of the contract, because it was ended from outside.
func (f *follower) tellClosed(ctx context.Context, e runs.Execution) (run.Status, error) {
	events, err := f.Events(ctx, f.id, f.last.ID)
	if err != nil {
		return f.tolerateTrouble(ctx, err)
	}
	if err := f.tellAll(events); err != nil {
		return "", err
	}
	if status := statusAfter(f.last); status.Terminal() {
		return status, nil
	}
	why := e.Outcome
	if why == "" {
		why = string(e.Status)
	}
	return "", fmt.Errorf("run %s: its workflow has ended (%s) without an end of the run: its record can be resumed with `starter resume`", f.id, why)
}

// tolerateTrouble tolerates for a while an engine or a worker that does not answer.
func (f *follower) tolerateTrouble(ctx context.Context, err error) (run.Status, error) {
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, runs.ErrNoWorker):
		f.lost = time.Time{}
		return run.Running, f.noWorker(ctx)
	case !runs.Lost(err):
		return "", err
	}
	if f.lost.IsZero() {
		f.lost = f.now()
		f.sayLine("the engine does not answer; trying for %s", terminal.Duration(patience))
	}
	if f.now().Sub(f.lost) > patience {
		return "", fmt.Errorf("the engine was lost; the run goes on when it is back: %w", err)
	}
	return run.Running, f.waitMoving(ctx, pollWaiting, "waits for the engine")
}

func (f *follower) noWorker(ctx context.Context) error {
	e, err := f.Describe(ctx, f.id)
	if err == nil && !e.Open {
		return fmt.Errorf("run %s is %s; %w to read more of it", f.id, e.Status, runs.ErrNoWorker)
	}
	if f.idle.IsZero() {
		f.idle = f.now()
	}
	if f.now().Sub(f.idle) > workerGrace && !f.told {
		f.told = true
		f.sayLine("%s", runs.ErrNoWorker)
	}
	return f.waitMoving(ctx, pollActive, "waits for a worker")
}

func (f *follower) printRecovered() { f.idle, f.lost, f.told = time.Time{}, time.Time{}, false }

func (f *follower) sayLine(format string, args ...any) {
	f.screen.Linef("  %s %s", f.screen.Wait("!"), fmt.Sprintf(format, args...))
}

// tellFailing prints why an activity is tried again, once for each reason.
func (f *follower) tellFailing(list []runs.Activity) {
	for _, a := range list {
		if a.Failure == "" || f.failures[a.Name] == a.Failure {
			continue
		}
		if f.failures == nil {
			f.failures = map[string]string{}
		}
		f.failures[a.Name] = a.Failure
		f.sayLine("attempt %d at %s follows: %s", a.Attempt, a.Step(), story.OneLine(a.Failure, 300))
	}
}

// waitMoving waits for d, or for f.poll when it is set, and keeps the moving line moving.
func (f *follower) waitMoving(ctx context.Context, d time.Duration, text string) error {
	end := time.NewTimer(cmp.Or(f.poll, d))
	defer end.Stop()
	frame := time.NewTicker(pollFrame)
	defer frame.Stop()
	for {
		f.screen.SetFoot(f.footLine())
		f.screen.Spin(text)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.changes:
			return nil
		case line := <-f.notes:
			f.takeNote(ctx, line)
		case <-end.C:
			return nil
		case <-frame.C:
		}
	}
}

// settleWait asks the decider for the decision or the answer that the run waits for and sends it to
// the run. The error is errSettled when it was settled elsewhere meanwhile, and errUnanswered when
// there is no decider.
func (f *follower) settleWait(ctx context.Context) error {
	p, err := f.Pending(ctx, f.id)
	if err != nil {
		_, err = f.tolerateTrouble(ctx, err)
		return err
	}
	if p.Approval == nil && p.Question == nil || f.hasSettled(p) {
		return f.waitMoving(ctx, pollFrame, "") // the next events tell how it was settled
	}
	if asksAboutRecord(p) && f.shown != pendingID(p) {
		f.shown = pendingID(p)
		tellWait(f.screen, p)
	}
	if f.decider == nil {
		return errUnanswered
	}
	f.screen.Clear()
	f.screen.SetFoot("")
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
		if d, err = f.decider.Approve(ask, *p.Approval); err == nil {
			err = f.decide(ctx, d)
		}
	default:
		var r run.Reply
		if r, err = f.decider.Answer(ask, *p.Question); err == nil {
			err = f.Reply(ctx, f.id, r)
		}
	}
	if errors.Is(err, dialog.ErrCancel) {
		f.sayLine("the run is asked to end")
		err = f.Cancel(ctx, f.id)
	}
	if refused, ok := errors.AsType[*runs.RefusedError](err); ok {
		f.sayLine("%s", story.OneLine(refused.Reason, 300))
		return nil
	}
	switch {
	case err == nil:
		f.settled, f.settledAt = pendingID(p), f.now()
	case errors.Is(err, runs.ErrOver):
		return errSettled
	case errors.Is(err, errSettled):
		f.sayLine("%s", err)
	case errors.Is(err, runs.ErrNoWorker), runs.Lost(err):
		_, err = f.tolerateTrouble(ctx, err) // follow asks again afterwards
	}
	return err
}

// decide sends a decision of the decider to the run.
func (f *follower) decide(ctx context.Context, d run.Decision) error {
	err := f.Decide(ctx, f.id, d)
	if i, ok := f.decider.(informed); ok {
		i.Sent(err)
	}
	return err
}

// hasSettled reports whether this follower has just settled the wait: a look that was under way meanwhile may
// still show it, and a person must not be asked the same twice.
func (f *follower) hasSettled(p run.Pending) bool {
	return pendingID(p) == f.settled && f.now().Sub(f.settledAt) < settledGrace
}

// watchWait calls stop when the run no longer waits for the same approval or question.
func (f *follower) watchWait(ctx context.Context, asked run.Pending, stop context.CancelCauseFunc) {
	tick := time.NewTicker(cmp.Or(f.poll, pollWaiting))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p, err := f.Pending(ctx, f.id)
		if err == nil && pendingID(p) != pendingID(asked) {
			stop(errSettled)
			return
		}
	}
}
