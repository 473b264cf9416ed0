package activities_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Finding B8. Two attempts at the checks of one run, as a worker that slept and
// its successor make, have the tree one after the other.
func TestAttemptsAtTheChecksTakeTurns(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	alone := "mkdir '" + filepath.Join(t.TempDir(), "busy") + "'"
	busy := alone[len("mkdir "):]
	var wg sync.WaitGroup
	verdicts := make([]run.Result, 3)
	for i := range verdicts {
		wg.Go(func() {
			verdicts[i] = s.check(alone + " && touch mine && sleep 0.3 && ls mine && rmdir " + busy).Verdict
		})
	}
	wg.Wait()
	for _, v := range verdicts {
		if v != run.Pass {
			t.Errorf("verdicts %v: two were at work at once", verdicts)
		}
	}
}
