// Package standing says where a run stands: its state, what it waits for, and how its record differs.
package standing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
)

// Standing is the output of `status`. It holds the WorkflowState of the contract, and beside
// it the pending approval or question, the facts and the running activities.
type Standing struct {
	run.State
	Pending    *run.Pending    `json:"pending,omitempty"`
	Facts      rundir.Facts    `json:"facts"`
	Activities []runs.Activity `json:"activities,omitempty"`
	Host       string          `json:"host,omitempty"` // that has joined and does the run; empty: no such host alone
	Record     *RecordNote     `json:"record,omitempty"`
}

// RecordNote holds the faults of a record that `status` shows.
type RecordNote struct {
	// Foreign lists the files with text that others wrote into the record and that the
	// worker set aside.
	Foreign []string `json:"foreign,omitempty"`
	// Ahead is the number of events that the record knows and the workflow does not.
	Ahead int `json:"ahead,omitempty"`

	next string // what follows from Ahead
}

// Of looks at a run. One that is over needs no worker, if its record or its result says how it ended.
func Of(ctx context.Context, c *factory.Factory, r runref.Found) (st Standing, err error) {
	v, err := r.View(ctx, r.ID)
	if errors.Is(err, runs.ErrNoWorker) || err == nil && v.From == runs.FromEngine {
		return st, fmt.Errorf("run %s is %s as last heard; %w", r.ID, v.Status, runs.ErrNoWorker)
	}
	if err == nil {
		err = runref.OutsideError(c, v)
	}
	if err != nil {
		return st, err
	}
	if v.From != runs.FromWorkflow {
		why := "no worker answers"
		if !v.Known() {
			why = "the engine does not know the run any more"
		}
		fmt.Fprintf(c.Err, "starter: %s: this is what the %s of run %s says\n", why, v.From, r.ID)
	}
	st = Standing{State: v.State, Facts: v.Facts, Activities: v.Activities, Host: temporalclient.HostOf(v.Queue)}
	if p := v.Pending; p != nil && !v.Over() && (v.State.Status.Waiting() || p.Limited != nil || len(p.RefusedSignals) > 0) {
		st.Pending = p
	}
	if len(v.Foreign) > 0 || v.Ahead > 0 {
		st.Record = noteOf(c, v)
	}
	return st, nil
}

func noteOf(c *factory.Factory, v runs.View) *RecordNote {
	n := &RecordNote{Ahead: v.Ahead}
	for _, path := range v.Foreign {
		n.Foreign = append(n.Foreign, console.NearPath(path))
	}
	switch {
	case !v.Over():
		n.next = "branch and commits are the record's; the run asks before it continues"
	case v.Adrift:
		n.next = "continue from it with `" + c.Hint("resume %s", v.ID) + "`"
	default:
		n.next = "branch, commits and end are the record's"
	}
	return n
}

// Lines returns the note in words for a person.
func (n *RecordNote) Lines() (list []string) {
	if n == nil {
		return nil
	}
	if len(n.Foreign) > 0 {
		list = append(list, "others wrote into events.ndjson; what the worker set aside is in "+strings.Join(n.Foreign, ", "))
	}
	if n.Ahead > 0 {
		list = append(list, fmt.Sprintf("it knows %s that the workflow does not, as after a database was put back: %s", display.Count(n.Ahead, "event", "events"), n.next))
	}
	return list
}
