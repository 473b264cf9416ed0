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

// The errors that say how the record stands to what the workflow gives it.
const (
	// BehindError says that the run directory has lost events that come before
	// those given, or has others there. Its details are the number of the last event
	// that is good; the workflow then gives all after it.
	BehindError = "Behind"
	// AheadError says that the run directory knows of a later course of the same
	// workflow. Its details are a rundir.Ahead.
	AheadError = "Ahead"
)

// Record writes what is not on disk yet. A second call changes nothing.
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

// keepJSON keeps an artifact that people read too.
func keepJSON(dir *rundir.Dir, name string, v any) (run.Ref, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return run.Ref{}, fmt.Errorf("keep %s: %w", name, err)
	}
	return dir.Keep(name, b.Bytes())
}
