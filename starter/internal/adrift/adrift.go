// Package adrift tells of runs that are not over and have no workflow.
package adrift

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// patience is the time limit of a look.
const patience = 15 * time.Second

// Text tells how to resume the runs of this host that are not over and have no workflow; empty: there are none.
func Text(ctx context.Context, c *factory.Factory, client *runs.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ids, err := client.Adrift(ctx)
	if err != nil || len(ids) == 0 {
		return "", err
	}
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
		display.Count(len(ids), "run is", "runs are"), text, c.Hint("resume RUN")), nil
}
