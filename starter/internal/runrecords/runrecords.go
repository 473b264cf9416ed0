// Package runrecords reads the records of the runs of this host.
package runrecords

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// Record is the record of a run on this host.
type Record struct {
	Dir    string
	Input  run.Input
	Branch string
	Events []run.Event
}

// End returns the event that ended the run; nil: it is not over.
func (r Record) End() *run.Event {
	last := r.Events[len(r.Events)-1]
	switch last.Payload.(type) {
	case run.RunCompleted, run.RunFailed, run.RunCanceled:
		return &last
	}
	return nil
}

// Read returns the records of this host. It names those that cannot be read, and leaves them out.
func Read(c *factory.Factory) (list []Record, err error) {
	ids, err := rundir.IDs(c.RunsDir)
	for _, id := range ids {
		events, err := c.RecordedEvents(id)
		if err == nil && len(events) == 0 {
			continue
		}
		if err != nil {
			fmt.Fprintf(c.Err, "starter: the record of run %s is left out: %s\n", id, display.Line(err.Error()))
			continue
		}
		if created, ok := events[0].Payload.(run.RunCreated); ok && created.RunID == id {
			list = append(list, Record{filepath.Join(c.RunsDir, "workflows", string(id)), created.Input, created.Branch, events})
		}
	}
	return list, err
}

// FindLanded looks into the repositories of the records. One that is gone or cannot be read is left out.
func FindLanded(ctx context.Context, c *factory.Factory, records []Record) map[string]merge.Landed {
	branches := map[string][]string{}
	for _, r := range records {
		branches[r.Input.Repository.Path] = append(branches[r.Input.Repository.Path], r.Branch)
	}
	landed := map[string]merge.Landed{}
	for path, own := range branches {
		if l, err := merge.FindLanded(ctx, path, own); err == nil {
			landed[path] = l
		}
	}
	return landed
}
