package review

import (
	"context"
	"testing"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// A run that was seen merged stays merged where its repository does not answer in time; of another it is said that nobody
// knows.
func TestWhatWasMergedIsRemembered(t *testing.T) {
	dir := t.TempDir()
	NewDisk(dir).noteMerged([]run.ID{"r1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	list := []runs.Listed{
		{ID: "r1", Repository: dir, Status: run.Completed}, {ID: "r2", Repository: dir, Status: run.Completed}, {ID: "r3", Repository: dir, Status: run.Failed},
	}
	NewDisk(dir).MarkMerged(ctx, list)
	for i, want := range []string{"merged", "completed, merged?", "failed"} {
		if got := list[i].Word(false); got != want {
			t.Errorf("%s: got %q, want %q", list[i].ID, got, want)
		}
	}
}
