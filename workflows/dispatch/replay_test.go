package dispatch_test

import (
	"fmt"
	"maps"
	"testing"

	"go.temporal.io/api/history/v1"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/temporaltest"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

var corpus = temporaltest.Corpus{Dir: "testdata/history", Workflow: dispatchflow.Dispatch}

// TestReplayDispatch runs today's workflow over every history of every version.
func TestReplayDispatch(t *testing.T) {
	var ways []string
	for _, way := range passages {
		ways = append(ways, way.name)
	}
	corpus.Replay(t, ways)
}

// TestReplayFreshDispatches plays every passage on a real engine and replays it
// at once. Without the cache the worker replays it at every task, too.
func TestReplayFreshDispatches(t *testing.T) { corpus.ReplayFresh(t, playDispatches(t)) }

// TestRecordDispatches writes the corpus of the version anew:
//
//	RATCHET_RECORD_HISTORIES=1 go test -count=1 -run TestRecordDispatches ./workflows/dispatch
func TestRecordDispatches(t *testing.T) { corpus.Record(t, playDispatches) }

// playDispatches plays the passages side by side, waits for all of them to close
// at once, and returns the histories by name.
func playDispatches(t *testing.T) map[string]*history.History {
	s := temporaltest.StartEngine(t, nil)
	counters := make([]*counter, len(passages))
	all := t // whose end the workers wait for
	t.Run("passages", func(t *testing.T) {
		for i, way := range passages {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				target := dispatch.GardenID(fmt.Sprintf("20260612T09%04d-0a1b2c", i))
				counters[i] = newCounter(s, all, t, target, newTown(way.town))
				way.take(counters[i])
			})
		}
	})
	histories := map[string]*history.History{}
	for i, way := range passages {
		maps.Copy(histories, temporaltest.NameExecutions(way.name, way.leave(t, counters[i])))
	}
	return histories
}
