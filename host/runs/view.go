package runs

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/workflows"
)

// View is a run as all that know of it say together: the engine, with the search attributes, the workflow, its result, and
// the record on this host.
type View struct {
	// Execution is what the engine says; it has only an id where the engine does not know the run.
	Execution
	State run.State
	Facts rundir.Facts
	// Pending is what the run waits for, and the messages that it refused; nil: its workflow does not answer.
	Pending *run.Pending
	// From is the source of State and Facts.
	From Source
	// Adrift says that the run is not over and has no open workflow. It is resumed from its record.
	Adrift bool
	// Ahead is the number of events that the record knows and the workflow does not, as after a database was put back to an
	// older copy. Branch and commits are the record's then, and the end, too, where both are over.
	Ahead int
	// Foreign lists the files with text that others wrote into the record and that the worker set aside.
	Foreign []string
}

// Source is where the state of a run comes from.
type Source string

// The sources, from the best.
const (
	FromWorkflow Source = "workflow"
	FromRecord   Source = "record" // on this host
	FromResult   Source = "result" // of the workflow; the state has no more than how it ended
	FromEngine   Source = "engine" // only the status
)

// Over reports whether the run has ended.
func (v View) Over() bool { return v.State.Status.Terminal() }

// Known reports whether the engine knows the run. It forgets runs that ended 30 days ago, and all with its database.
func (v View) Known() bool { return v.execution != "" }

// AdriftReason says why a run that is not over has no open workflow.
func (v View) AdriftReason() string {
	if !v.Known() {
		return "the engine does not know the workflow"
	}
	return fmt.Sprintf("the workflow was ended from outside (%s)", v.Outcome)
}

// Needs says what the run needs from a person.
func (v View) Needs() Needs {
	if v.Over() {
		v.Pending = nil
	}
	return NewNeeds(v.State.RunID, v.Facts.Name, v.State.Status, v.Pending)
}

// View reads a run. The error is a *NotFoundError if the engine and this host do not know it. The error of an open run
// that does not answer, such as ErrNoWorker, comes with what the engine says.
func (c *Client) View(ctx context.Context, id run.ID) (View, error) {
	e, err := c.Describe(ctx, id)
	if _, gone := errors.AsType[*NotFoundError](err); gone {
		return mergeRecord(id, c.openSources(id).snapshot())
	}
	if err != nil {
		return View{}, err
	}
	return c.complete(ctx, e)
}

// Adrift returns the runs that by their records on this host are not over, and that have no open workflow, as after the
// loss of a database. It asks no worker.
func (c *Client) Adrift(ctx context.Context) (ids []run.ID, err error) {
	recorded, err := rundir.IDs(c.RunsDir)
	for _, id := range recorded {
		dir, err := rundir.OfRun(c.RunsDir, id)
		if err != nil {
			continue
		}
		if state, err := dir.State(); err == nil && state.Status.Terminal() {
			continue
		}
		if err := c.MayResume(ctx, id); errors.As(err, new(*ExistsError)) {
			continue
		} else if err != nil {
			return ids, err
		}
		if s, err := dir.Rebuild(); err == nil && !s.State.Status.Terminal() {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// complete returns the view of a run that the engine has described.
func (c *Client) complete(ctx context.Context, e Execution) (View, error) {
	s := c.openSources(e.ID) // the record is read first: it is written after its workflow
	c.askWorkflow(ctx, e.ID, &s)
	s.result = func() (workflows.RunResult, error) { return c.Result(ctx, e.ID) }
	return mergeView(e, s)
}

// sources are the sources of a run's state besides the engine.
type sources struct {
	state   run.State
	facts   rundir.Facts
	pending run.Pending
	silent  error // why the workflow does not answer
	result  func() (workflows.RunResult, error)
	// recorded is the number of the last event of the record; zero: there is no record here.
	recorded int
	snapshot func() *run.Snapshot // of the record; nil: it cannot be read
	foreign  []string
}

// openSources reads how far the record on this host is.
func (c *Client) openSources(id run.ID) sources {
	s := sources{snapshot: func() *run.Snapshot { return nil }}
	dir, err := rundir.OfRun(c.RunsDir, id)
	if err != nil {
		return s
	}
	s.foreign = dir.Foreign()
	s.snapshot = func() *run.Snapshot {
		snapshot, err := dir.Rebuild()
		if err != nil {
			return nil
		}
		return snapshot
	}
	if state, err := dir.State(); err == nil {
		s.recorded = lastSeq(state)
	}
	return s
}

// lastSeq returns the number of the last event of a state; zero: it has none.
func lastSeq(s run.State) int {
	if s.LastEventID == nil {
		return 0
	}
	return run.Event{ID: *s.LastEventID}.Seq()
}

// askWorkflow asks all at once: each question takes a turn of the worker.
func (c *Client) askWorkflow(ctx context.Context, id run.ID, s *sources) {
	var wg sync.WaitGroup
	errs := make([]error, 3)
	wg.Go(func() { s.state, errs[0] = c.State(ctx, id) })
	wg.Go(func() { s.facts, errs[1] = c.Facts(ctx, id) })
	wg.Go(func() { s.pending, errs[2] = c.Pending(ctx, id) })
	wg.Wait()
	for _, err := range errs { // the first says most
		if s.silent = err; err != nil {
			return
		}
	}
}

// mergeRecord returns the view of a run that the engine does not know.
func mergeRecord(id run.ID, s *run.Snapshot) (View, error) {
	if s == nil {
		return View{}, &NotFoundError{string(id)}
	}
	v := View{State: s.State, Facts: rundir.FactsOf(s), From: FromRecord, Adrift: !s.State.Status.Terminal()}
	v.ID, v.Name, v.Status = id, v.Facts.Name, s.State.Status
	return v, nil
}

// mergeView returns the view of a run that the engine knows.
func mergeView(e Execution, s sources) (View, error) {
	v := View{Execution: e, Foreign: s.foreign}
	if s.silent != nil {
		return v.withoutWorkflow(s)
	}
	v.State, v.Facts, v.Pending, v.From = s.state, s.facts, &s.pending, FromWorkflow
	v.Adrift = !e.Open && !v.Over()
	if v.Ahead = max(0, s.recorded-lastSeq(v.State)); v.Ahead > 0 {
		v.takeRecord(s.snapshot())
	}
	return v, nil
}

// takeRecord takes from the record what the workflow has forgotten.
func (v *View) takeRecord(s *run.Snapshot) {
	if s == nil {
		return
	}
	facts := rundir.FactsOf(s)
	v.Facts.Branch, v.Facts.Standing = facts.Branch, facts.Standing
	switch {
	case !v.Over(): // it asks before it continues
	case s.State.Status.Terminal():
		v.State = s.State
	default:
		v.Adrift = true
	}
}

// withoutWorkflow completes the view of a run whose workflow does not answer. One that is over needs no worker.
func (v View) withoutWorkflow(s sources) (View, error) {
	v.From, v.State, v.Facts.Name = FromEngine, run.State{RunID: v.ID, Status: v.Status}, v.Name
	if v.Open || !errors.Is(s.silent, ErrNoWorker) {
		return v, s.silent
	}
	if record := s.snapshot(); record != nil && record.State.Status.Terminal() {
		v.State, v.Facts, v.From = record.State, rundir.FactsOf(record), FromRecord
		return v, nil
	}
	res, err := s.result()
	if err != nil { // it was ended from outside: Outcome says how
		return v, nil
	}
	v.From, v.State.Status, v.State.LastError = FromResult, res.Status, res.Error
	v.Facts.RunID, v.Facts.Branch = v.ID, res.Branch
	v.Facts.Repository.Base = res.Base
	v.Facts.Standing = rundir.Standing{Head: res.Head, Commits: res.Commits, Stat: res.Stat, Usage: res.Usage}
	return v, nil
}
