// Package follow prints a run live, and asks the person at the terminal what the run waits for.
package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

// Intervals between two looks at a followed run.
const (
	pollActive  = 250 * time.Millisecond
	pollQuiet   = 600 * time.Millisecond // after quietPolls without an event
	quietPolls  = 40
	pollWaiting = time.Second
	recordPoll  = 20 * time.Millisecond
	PollFrame   = 100 * time.Millisecond // of the moving line
)

// Waits for troubles that may end by themselves.
const (
	workerGrace = 3 * time.Second  // without a worker, before the follower says it
	recordGrace = 10 * time.Second // for the record, once the run is over or waits
	patience    = 30 * time.Second // without the engine, before it counts as lost

	decidedGrace = 10 * time.Second // for looks that still show a wait which this follower has decided
)

// Watched holds the methods of a run's client that a follower uses.
type Watched interface {
	Asked
	Events(ctx context.Context, id run.ID, after string) ([]run.Event, error)
	Describe(ctx context.Context, id run.ID) (runs.Execution, error)
	Note(ctx context.Context, id run.ID, n run.Note) error
}

// Follower prints the events of one run live. It ends when the run is over, or when the run
// waits and there is no person to ask.
type Follower struct {
	Watched
	ID      run.ID
	Print   func(run.Event) error
	Look    func(context.Context, runs.Execution) error // called with each look at a run that is at work; nil: not at all
	Screen  *terminal.Screen
	Decider decider // nil: there is no person to ask
	Now     func() time.Time
	Poll    time.Duration // between looks; zero: as the constants say
	// tools returns the agents' tool calls that have ended since its last call, and showTool shows one; nil:
	// none are shown.
	tools    func() []rundir.ToolCall
	showTool func(rundir.ToolCall)
	verbose  bool // with their outputs
	// Changes holds a value when the run has gone on; nil: the follower only asks now and then.
	Changes <-chan struct{}
	// Notes gives what the person types while nothing is asked; nil: nothing is typed.
	Notes <-chan string
	by    string // the person's name
	typed notesLeft
	Title string // of the run, for the calls of the screen; empty: it does not call

	Done      string // what the last decision or answer was, in a word
	decided   string // the id of the wait that this follower decided last
	decidedAt time.Time
	Shown     string // the id of the wait that is on the screen although no event reported it

	Typing bool // the person sees typed characters while nothing is asked

	calls    []rundir.ToolCall // ended, not shown yet
	used     run.Usage         // of the events printed
	Last     run.Event         // Last event printed
	failures map[string]string // Last failure printed, by the name of the activity
	idle     time.Time         // since when no worker answers
	lost     time.Time         // since when the engine does not answer
	reported bool              // the follower has reported that no worker answers
	quiet    int               // polls without an event
}

// Follow returns the status that the run ended in or waits in.
func (f *Follower) Follow(ctx context.Context) (run.Status, error) {
	defer f.Screen.Clear()
	for {
		status, err := f.printAndWait(ctx)
		if err != nil {
			return "", err
		}
		if status.Terminal() {
			f.Screen.SetFoot("")
			f.callPerson("is " + string(status))
			return status, f.awaitRecorded(ctx, status)
		}
		if status.Waiting() {
			err := f.DecideWait(ctx)
			if errors.Is(err, ErrUnanswered) {
				return status, f.awaitRecorded(ctx, status)
			}
			if err != nil && !errors.Is(err, ErrDecided) {
				return "", err
			}
		}
	}
}

// awaitRecorded waits until the printed events are on disk too, and until the worker has cleaned up
// after a run that is over. It gives up after recordGrace. The run's worker then does both when
// it can.
func (f *Follower) awaitRecorded(ctx context.Context, status run.Status) error {
	for end := f.Now().Add(recordGrace); f.Now().Before(end); {
		e, err := f.Describe(ctx, f.ID)
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

// printAndWait prints the new events and waits a little. It returns the status of a run that is over or
// waits, and running for any other.
func (f *Follower) printAndWait(ctx context.Context) (run.Status, error) {
	events, err := f.Events(ctx, f.ID, f.Last.ID)
	if err != nil {
		return f.tolerateTrouble(ctx, err)
	}
	f.idle, f.lost, f.reported = time.Time{}, time.Time{}, false
	f.quiet++
	if err := f.printAll(events); err != nil {
		return "", err
	}
	if status := statusAfter(f.Last); status != run.Running {
		return status, nil
	}
	e, err := f.Describe(ctx, f.ID)
	if err != nil {
		return f.tolerateTrouble(ctx, err)
	}
	if !e.Open {
		return f.printClosed(ctx, e)
	}
	if f.Look != nil {
		if err := f.Look(ctx, e); err != nil {
			return "", err
		}
	}
	f.printFailing(e.Activities)
	every, what := pollActive, f.progressText(e)
	if f.quiet > quietPolls {
		every = pollQuiet
	}
	if len(e.Activities) == 0 && f.quiet > quietPolls { // perhaps it waits without an event
		p, err := f.Pending(ctx, f.ID)
		switch {
		case err != nil:
		case waits.AboutRecord(p) && !f.hasDecided(p):
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

// printClosed prints the events that came with the end. It returns an error for a workflow that ended
// without an end of the contract, because it was ended from outside.
func (f *Follower) printClosed(ctx context.Context, e runs.Execution) (run.Status, error) {
	events, err := f.Events(ctx, f.ID, f.Last.ID)
	if err != nil {
		return f.tolerateTrouble(ctx, err)
	}
	if err := f.printAll(events); err != nil {
		return "", err
	}
	if status := statusAfter(f.Last); status.Terminal() {
		return status, nil
	}
	why := cmp.Or(e.Outcome, string(e.Status))
	return "", fmt.Errorf("the workflow of run %s ended (%s) before the run did: continue from its record with `starter resume`", f.ID, why)
}

// tolerateTrouble tolerates for a while an engine or a worker that does not answer.
func (f *Follower) tolerateTrouble(ctx context.Context, err error) (run.Status, error) {
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
		f.lost = f.Now()
		f.sayLine("the engine does not answer; trying for %s", terminal.Duration(patience))
	}
	if f.Now().Sub(f.lost) > patience {
		return "", fmt.Errorf("the engine was lost; the run continues when it is back: %w", err)
	}
	return run.Running, f.waitMoving(ctx, pollWaiting, "waits for the engine")
}

func (f *Follower) noWorker(ctx context.Context) error {
	e, err := f.Describe(ctx, f.ID)
	if err == nil && !e.Open {
		return fmt.Errorf("run %s is %s; %w to read more of it", f.ID, e.Status, runs.ErrNoWorker)
	}
	if f.idle.IsZero() {
		f.idle = f.Now()
	}
	if f.Now().Sub(f.idle) > workerGrace && !f.reported {
		f.reported = true
		f.sayLine("%s", runs.ErrNoWorker)
	}
	return f.waitMoving(ctx, pollActive, "waits for a worker")
}

func (f *Follower) sayLine(format string, args ...any) {
	f.Screen.Linef("  %s %s", f.Screen.Wait("!"), fmt.Sprintf(format, args...))
}

// printFailing prints why an activity is tried again, once for each reason.
func (f *Follower) printFailing(list []runs.Activity) {
	for _, a := range list {
		if a.Failure == "" || f.failures[a.Name] == a.Failure {
			continue
		}
		if f.failures == nil {
			f.failures = map[string]string{}
		}
		f.failures[a.Name] = a.Failure
		f.sayLine("attempt %d at %s follows: %s", a.Attempt, a.Step(), story.Message(a.Failure, 300))
	}
}

// waitMoving waits for d, or for f.poll when it is set, and keeps the moving line moving.
func (f *Follower) waitMoving(ctx context.Context, d time.Duration, text string) error {
	end := time.NewTimer(cmp.Or(f.Poll, d))
	defer end.Stop()
	frame := time.NewTicker(PollFrame)
	defer frame.Stop()
	for {
		f.Screen.SetFoot(f.footLine())
		f.Screen.Spin(text)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.Changes:
			return nil
		case line := <-f.Notes:
			f.takeNote(ctx, line)
		case <-end.C:
			return nil
		case <-frame.C:
		}
	}
}
