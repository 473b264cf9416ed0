package workspace

import (
	"context"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Head returns the commit at the tip of the run's branch; empty if there is none.
func (w *Workspace) Head(ctx context.Context) (run.Commit, error) {
	at, err := w.readStanding(ctx)
	return at.commit, err
}

// Log returns the commits that head has and base lacks, the latest first.
func (w *Workspace) Log(ctx context.Context, base, head run.Commit) ([]string, error) {
	out, err := w.repo.Run(ctx, "rev-list", string(base)+".."+string(head))
	return strings.Fields(string(out)), err
}
