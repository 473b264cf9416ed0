package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	if len(p.Entry.Events) == 0 {
		return nil
	}
	out, err := a.runs.Run(p.RunID).Record(p.Entry)
	if ahead, ok := errors.AsType[*rundir.Ahead](err); ok {
		return temporal.NewNonRetryableApplicationError(ahead.Error(), AheadError, nil, ahead)
	}
	if err != nil {
		return err
	}
	if out.Aside != nil {
		activity.GetLogger(ctx).Warn("the record was mended", "runId", p.RunID, "why", out.Aside.Why, "file", out.Aside.File)
	}
	if out.Last < p.Entry.First()-1 {
		message := fmt.Sprintf("the record is good up to event %d, event %d is due", out.Last, p.Entry.First())
		return temporal.NewNonRetryableApplicationError(message, BehindError, nil, out.Last)
	}
	failpoint.Hit("record.kept")
	return nil
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
