package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// The types of the errors about a record that does not match the events of the workflow.
const (
	// BehindError means that the run directory has lost events that precede the given events, or
	// holds others in their place. Its details are the number of the last good event. The workflow
	// then gives all later events.
	BehindError = "Behind"
	// AheadError means that the run directory holds a later course of the same workflow. Its
	// details are a rundir.Ahead.
	AheadError = "Ahead"
)

// Record writes the events that are not on disk yet. A second call changes nothing.
func (a *Activities) Record(ctx context.Context, p Header) error { return a.writeEntry(ctx, p) }

func (a *Activities) writeEntry(ctx context.Context, p Header) error {
	onDisk, err := a.beginEntry(ctx, p)
	if err == nil {
		err = onDisk()
	}
	return err
}

// beginEntry is writeEntry without the wait for the disk: an activity calls onDisk before it acts, and at its end.
func (a *Activities) beginEntry(ctx context.Context, p Header) (onDisk func() error, err error) {
	nothing := func() error { return nil }
	if len(p.Entry.Events) == 0 {
		return nothing, nil
	}
	out, synced, err := a.runs.Run(p.RunID).BeginRecord(p.Entry)
	if ahead, ok := errors.AsType[*rundir.Ahead](err); ok {
		return nothing, temporal.NewNonRetryableApplicationError(ahead.Error(), AheadError, nil, ahead)
	}
	if err != nil {
		return nothing, err
	}
	if out.Aside != nil {
		activity.GetLogger(ctx).Warn("the record was repaired", "runId", p.RunID, "why", out.Aside.Why, "file", out.Aside.File)
	}
	if out.Last < p.Entry.First()-1 {
		message := fmt.Sprintf("the record is valid up to event %d, but event %d is next", out.Last, p.Entry.First())
		return nothing, temporal.NewNonRetryableApplicationError(message, BehindError, nil, out.Last)
	}
	return sync.OnceValue(func() error {
		err := synced()
		if err == nil {
			failpoint.Hit("record.kept")
		}
		return err
	}), nil
}

// finishEntry sets the error of an activity that began an entry, unless it has one.
func finishEntry(onDisk func() error, err *error) {
	if wrong := onDisk(); *err == nil {
		*err = wrong
	}
}

// keepJSON keeps v as an artifact in JSON.
func keepJSON(dir *rundir.Dir, name string, v any) (run.Ref, error) {
	b, err := encodeJSON(v)
	if err != nil {
		return run.Ref{}, fmt.Errorf("keep %s: %w", name, err)
	}
	return dir.Keep(name, b)
}

// encodeJSON returns v as indented JSON, because people read it too.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}
