package dispatch_test

import (
	"fmt"
	"maps"
	"testing"

	"go.temporal.io/api/history/v1"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

var corpus = temporaltest.Corpus{Dir: "testdata/history", Workflow: dispatchflow.Dispatch}

// TestReplayDispatch runs today's workflow over every history of every version.
func TestReplayDispatch(t *testing.T) {
	t.Parallel()
	var ways []string
	for _, way := range paths {
		ways = append(ways, way.name)
	}
	corpus.Replay(t, ways)
}

// TestReplayFreshDispatches plays every path on a real engine and replays it
// at once. Without the cache the worker replays it at every task, too.
func TestReplayFreshDispatches(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	corpus.ReplayFresh(t, playDispatches(t))
}

// TestRecordDispatches writes the histories of the ways that no version has:
//
//	RATCHET_RECORD_HISTORIES=1 go test -count=1 -run TestRecordDispatches ./workflows/dispatch
func TestRecordDispatches(t *testing.T) { corpus.Record(t, playDispatches) }

// playDispatches plays the paths side by side, waits for all of them to close
// at once, and returns the histories by name.
func playDispatches(t *testing.T) map[string]*history.History {
	s := temporaltest.StartEngine(t, nil)
	targets := make([]*engineTarget, len(paths))
	all := t // whose end the workers wait for
	t.Run("passages", func(t *testing.T) {
		for i, way := range paths {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				target := dispatch.GardenID(fmt.Sprintf("20260612T09%04d-0a1b2c", i))
				targets[i] = newEngineTarget(s, all, t, target, newFakeActivities(way.script))
				way.take(targets[i])
			})
		}
	})
	histories := map[string]*history.History{}
	for i, way := range paths {
		maps.Copy(histories, temporaltest.NameExecutions(way.name, way.leave(t, targets[i])))
	}
	return histories
}
