// Package standing says where a run stands: its state, what it waits for, and how its record differs.
package standing

import (
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
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
	Record     *RecordNote     `json:"record,omitempty"`
}

func Of(ctx context.Context, c *factory.Factory, r runref.Found) (st Standing, err error) {
	e, err := r.Describe(ctx, r.ID)
	if err != nil {
		return st, err
	}
	recorded := seqOn(c, r.ID)
	if st.State, err = r.State(ctx, r.ID); err == nil {
		st.Facts, err = r.Facts(ctx, r.ID)
	}
	if errors.Is(err, runs.ErrNoWorker) && !e.Open {
		if s := recordedEnd(c, r.ID); s != nil {
			fmt.Fprintf(c.Err, "starter: no worker answers: this is what the record of run %s says\n", r.ID)
			return Standing{State: s.State, Facts: rundir.FactsOf(s)}, nil
		}
	}
	if errors.Is(err, runs.ErrNoWorker) {
		return st, fmt.Errorf("run %s is %s as last heard; %w", r.ID, e.Status, runs.ErrNoWorker)
	}
	if err != nil {
		return st, err
	}
	if !e.Open && !st.Status.Terminal() {
		return st, runref.OutsideError(c, r, e.Outcome, st.Status)
	}
	if !st.Status.Terminal() {
		p, err := r.Pending(ctx, r.ID)
		if err != nil {
			return st, err
		}
		if st.Status.Waiting() || p.Limited != nil || len(p.RefusedSignals) > 0 {
			st.Pending = &p
		}
	}
	st.Activities = e.Activities
	if st.Record = noteOn(c, r.ID, recorded, st.State); st.Record != nil && st.Record.Ahead > 0 {
		takeRecorded(c, &st)
	}
	return st, nil
}
