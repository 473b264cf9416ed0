package workflows_test

import (
	"maps"
	"sync"
	"testing"

	"go.temporal.io/api/history/v1"

	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
)

var corpus = temporaltest.Corpus{Dir: "testdata/history", Workflow: workflows.Run}

// TestReplay runs today's workflow over every history of every version.
func TestReplay(t *testing.T) {
	t.Parallel()
	var ways []string
	for _, way := range paths {
		ways = append(ways, way.name)
	}
	corpus.Replay(t, ways)
}

// TestReplayFreshRuns plays every path on a real engine and replays it at
// once. Without the cache the worker replays it at every task, too.
func TestReplayFreshRuns(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	corpus.ReplayFresh(t, playAll(t))
}

// TestRecordHistories writes the histories of the ways that no version has:
//
//	RATCHET_RECORD_HISTORIES=1 go test -count=1 -run TestRecordHistories ./workflows
func TestRecordHistories(t *testing.T) { corpus.Record(t, playAll) }

// playAll plays the paths side by side and returns the histories of all
// executions by name.
func playAll(t *testing.T) map[string]*history.History {
	s := newTestEngine(t)
	var mu sync.Mutex
	histories := map[string]*history.History{}
	t.Run("paths", func(t *testing.T) {
		for _, way := range paths {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				executions := way.take(s.perform(t, way.inputOf()))
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(histories, temporaltest.NameExecutions(way.name, executions))
			})
		}
	})
	return histories
}
