package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Record writes events, state and facts to the run directory, and keeps the
// brief of the call that follows. A second call changes nothing.
func (a *Activities) Record(_ context.Context, in RecordInput) (RecordResult, error) {
	dir := a.runs.Run(in.RunID)
	last, err := dir.Record(in.Entry)
	if err != nil {
		return RecordResult{}, err
	}
	out := RecordResult{Last: last}
	if in.Brief == nil {
		return out, nil
	}
	ref, err := keepJSON(dir, in.BriefName, in.Brief)
	if err != nil {
		return out, err
	}
	out.Brief = &ref
	return out, nil
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
