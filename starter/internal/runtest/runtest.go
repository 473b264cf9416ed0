// Package runtest plays a run in memory, for tests of what follows and shows one.
package runtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Run is a run in memory: the contract's own snapshot, moved by a script
// of payloads of which each poll lets one happen.
type Run struct {
	mu         sync.Mutex
	Snapshot   *run.Snapshot
	Script     []func(*run.Snapshot) run.Payload
	Emitted    []run.Event
	Execution  runs.Execution
	Troubles   []error // of the next polls
	Refuse     error   // of the next decision
	Elsewhere  *run.Decision
	Unpolled   int // pendings until elsewhere decides
	Describing []runs.Activity
	Noted      []run.Note
}

func Play(script ...func(*run.Snapshot) run.Payload) *Run {
	in := run.Input{RunID: "r1", Goal: "g", Repository: run.Repository{Path: "/r", Base: "b"}, Policy: run.Always}
	f := &Run{Snapshot: run.New(in), Script: script, Execution: runs.Execution{Open: true}}
	f.Add(run.RunCreated{Input: in, Format: run.Format})
	return f
}

func Is(p run.Payload) func(*run.Snapshot) run.Payload {
	return func(*run.Snapshot) run.Payload { return p }
}

func (f *Run) Add(p run.Payload) {
	e := f.Snapshot.Event(time.Unix(int64(f.Snapshot.Seq), 0), p)
	if err := f.Snapshot.Apply(e); err != nil {
		panic(err)
	}
	f.Emitted = append(f.Emitted, e)
}

func (f *Run) Events(_ context.Context, _ run.ID, after string) ([]run.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.Troubles) > 0 {
		err := f.Troubles[0]
		f.Troubles = f.Troubles[1:]
		return nil, err
	}
	if len(f.Script) > 0 && f.Snapshot.Next.Do != run.Decide && f.Snapshot.Next.Do != run.Await {
		f.Add(f.Script[0](f.Snapshot))
		f.Script = f.Script[1:]
	}
	return slices.Clone(f.Emitted[run.Event{ID: after}.Seq():]), nil
}

// Describe returns an open execution until the run is over: nothing is left to clean up then.
func (f *Run) Describe(context.Context, run.ID) (runs.Execution, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.Execution
	e.Open = e.Open && !f.Snapshot.State.Status.Terminal()
	e.Activities = f.Describing
	return e, nil
}

func (f *Run) Pending(context.Context, run.ID) (run.Pending, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Elsewhere != nil {
		if f.Unpolled--; f.Unpolled < 0 {
			f.decide(*f.Elsewhere)
			f.Elsewhere = nil
		}
	}
	return f.Snapshot.Pending(), nil
}

func (f *Run) Decide(_ context.Context, _ run.ID, d run.Decision) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Refuse; err != nil {
		f.Refuse = nil
		return err
	}
	if err := f.Snapshot.CheckDecision(d); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	f.decide(d)
	return nil
}

func (f *Run) decide(d run.Decision) {
	id := f.Snapshot.State.PendingApprovalID
	if d.Decision == run.Approve {
		f.Add(run.ApprovalGranted{ApprovalID: id, By: d.By})
		return
	}
	f.Add(run.ApprovalRejected{ApprovalID: id, By: d.By, Reason: d.Reason, Final: d.Final})
}

func (f *Run) Reply(_ context.Context, _ run.ID, r run.Reply) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Snapshot.CheckReply(r); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	f.Add(run.QuestionAnswered{QuestionID: r.QuestionID, Text: r.Text})
	return nil
}

func (f *Run) Note(_ context.Context, _ run.ID, n run.Note) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Snapshot.CheckNote(n); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	f.Noted = append(f.Noted, n)
	return nil
}

func (f *Run) Cancel(context.Context, run.ID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Add(run.RunCanceled{Reason: "a cancellation was requested"})
	return nil
}
