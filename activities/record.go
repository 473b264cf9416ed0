package activities

import (
	"context"
	"encoding/json"
	"fmt"
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
	b, err := json.MarshalIndent(in.Brief, "", "  ")
	if err != nil {
		return out, fmt.Errorf("brief: %w", err)
	}
	ref, err := dir.Keep(in.BriefName, append(b, '\n'))
	if err != nil {
		return out, err
	}
	out.Brief = &ref
	return out, nil
}
