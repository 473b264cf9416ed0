package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// BehindError says that the run directory has lost events that come before
// those given. Its details are the number of the last event there; the
// workflow then gives all after it.
const BehindError = "Behind"

// Record writes what is not on disk yet. A second call changes nothing.
func (a *Activities) Record(_ context.Context, p Place) error { return a.record(p) }

func (a *Activities) record(p Place) error {
	if len(p.Entry.Events) == 0 {
		return nil
	}
	last, err := a.runs.Run(p.RunID).Record(p.Entry)
	if err != nil {
		return err
	}
	if last < p.Entry.First()-1 {
		message := fmt.Sprintf("the record ends at event %d, event %d is due", last, p.Entry.First())
		return temporal.NewNonRetryableApplicationError(message, BehindError, nil, last)
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
