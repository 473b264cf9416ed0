// Package adrift finds runs that are not over and have no workflow.
package adrift

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// patience is the time limit of adrift.
const patience = 15 * time.Second

// Find returns the runs without an open workflow whose records in the runs directory say that
// they are not over. A loss of the database causes such runs.
func Find(ctx context.Context, c *factory.Factory, client *runs.Client) (ids []run.ID, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	entries, err := os.ReadDir(filepath.Join(c.RunsDir, "workflows"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		id := run.ID(entry.Name())
		dir, err := c.OpenRecord(id)
		if err != nil || id.Validate() != nil {
			continue
		}
		if state, err := dir.State(); err == nil && state.Status.Terminal() {
			continue
		}
		e, err := client.Describe(ctx, id)
		if _, gone := errors.AsType[*runs.NotFoundError](err); err != nil && !gone {
			return ids, err
		}
		if err == nil && e.Open {
			continue
		}
		if s, err := dir.Rebuild(); err == nil && !s.State.Status.Terminal() {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Text returns a text that says how to resume these runs.
func Text(c *factory.Factory, ids []run.ID) string {
	const most = 3
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, string(id))
	}
	text := strings.Join(names, ", ")
	if more := len(ids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s not over and without a workflow: %s; bring each back with `%s`",
		display.Count(len(ids), "run is", "runs are"), text, c.Hint("resume RUN"))
}
