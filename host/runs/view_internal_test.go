package runs

import (
	"errors"
	"reflect"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/workflows"
)

// TestViewsMergeWhatIsKnown holds which source tells what where they do not say the same.
func TestViewsMergeWhatIsKnown(t *testing.T) {
	const id run.ID = "20260612T090000-0a1b2c"
	state := func(status run.Status, seq int) run.State {
		event := run.EventID(seq)
		return run.State{RunID: id, Status: status, LastEventID: &event}
	}
	at := func(head run.Commit) rundir.Facts {
		return rundir.Facts{RunID: id, Standing: rundir.Standing{Head: head}}
	}
	engine := func(open bool, status run.Status) Execution {
		return Execution{Listed: Listed{ID: id, Status: status}, Open: open}
	}
	says := func(status run.Status, seq int) sources {
		var s sources
		s.state, s.facts = state(status, seq), at("workflow")
		return s
	}
	recorded := func(s sources, status run.Status, seq int) sources {
		s.recorded = seq
		s.snapshot = func() *run.Snapshot { return &run.Snapshot{State: state(status, seq), Head: "record"} }
		return s
	}
	silent := sources{
		silent: ErrNoWorker, snapshot: func() *run.Snapshot { return nil },
		result: func() (workflows.RunResult, error) { return workflows.RunResult{}, errors.New("terminated") },
	}
	ended := silent
	ended.result = func() (workflows.RunResult, error) {
		return workflows.RunResult{Status: run.Failed, Head: "result", Error: &run.Problem{Code: "C"}}, nil
	}
	type seen struct {
		Status  run.Status
		Head    run.Commit
		From    Source
		Pending bool
		Adrift  bool
		Ahead   int
	}
	for name, tt := range map[string]struct {
		engine Execution
		more   sources
		want   seen
		err    error
	}{
		"a run at work":                                         {engine(true, run.Running), recorded(says(run.Running, 4), run.Running, 3), seen{run.Running, "workflow", FromWorkflow, true, false, 0}, nil},
		"visibility is late":                                    {engine(true, run.Running), says(run.AwaitingInput, 4), seen{run.AwaitingInput, "workflow", FromWorkflow, true, false, 0}, nil},
		"a run that is over":                                    {engine(false, run.Completed), says(run.Completed, 9), seen{run.Completed, "workflow", FromWorkflow, true, false, 0}, nil},
		"no worker, and the run is open":                        {engine(true, run.Running), silent, seen{run.Running, "", FromEngine, false, false, 0}, ErrNoWorker},
		"no worker, and the record has the end":                 {engine(false, run.Failed), recorded(silent, run.Failed, 9), seen{run.Failed, "record", FromRecord, false, false, 0}, nil},
		"no worker, and the record is of before the end":        {engine(false, run.Failed), recorded(ended, run.Running, 8), seen{run.Failed, "result", FromResult, false, false, 0}, nil},
		"no worker, no record, and the workflow was terminated": {engine(false, run.Failed), silent, seen{run.Failed, "", FromEngine, false, false, 0}, nil},
		"the workflow was ended from outside":                   {engine(false, run.Failed), says(run.Running, 4), seen{run.Running, "workflow", FromWorkflow, true, true, 0}, nil},
		"the database was put back, the run continues":          {engine(true, run.Running), recorded(says(run.Running, 4), run.Completed, 9), seen{run.Running, "record", FromWorkflow, true, false, 5}, nil},
		"the database was put back, both are over":              {engine(false, run.Failed), recorded(says(run.Failed, 4), run.Completed, 9), seen{run.Completed, "record", FromWorkflow, true, false, 5}, nil},
		"the database was put back, the record goes on":         {engine(false, run.Failed), recorded(says(run.Failed, 4), run.Running, 9), seen{run.Failed, "record", FromWorkflow, true, true, 5}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := mergeView(tt.engine, tt.more)
			got := seen{v.State.Status, v.Facts.Head, v.From, v.Pending != nil, v.Adrift, v.Ahead}
			if !reflect.DeepEqual(got, tt.want) || !errors.Is(err, tt.err) {
				t.Errorf("got %+v, %v, want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
	if v, err := mergeRecord(id, &run.Snapshot{State: state(run.Running, 4)}); err != nil || !v.Adrift || v.From != FromRecord || v.ID != id {
		t.Errorf("got %+v, %v, want the record of a run that is adrift", v, err)
	}
	if _, err := mergeRecord(id, nil); err == nil {
		t.Error("got a view of a run that nobody knows")
	}
}
