package session_test

import (
	"maps"
	"slices"
	"testing"

	"go.temporal.io/api/history/v1"

	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

var corpus = temporaltest.Corpus{Dir: "testdata/history", Workflow: sessionflow.Session}

// TestReplaySessions runs today's workflow over every history of every version.
func TestReplaySessions(t *testing.T) {
	t.Parallel()
	ways := []string{longTalk.name}
	for _, way := range slices.Concat(paths, deliveryPaths) {
		ways = append(ways, way.name)
	}
	corpus.Replay(t, ways)
}

// TestSessions plays every path on a real engine and replays it at once. Without the cache the worker
// replays it at every task, too.
func TestSessions(t *testing.T) {
	t.Parallel()
	corpus.ReplayFresh(t, playSessions(t, paths))
}

// TestDeliveriesIntoSessions does the same for deliveries.
func TestDeliveriesIntoSessions(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	corpus.ReplayFresh(t, playSessions(t, deliveryPaths))
}

// TestASessionContinuesAsNew plays a session whose history grows long.
func TestASessionContinuesAsNew(t *testing.T) {
	t.Parallel()
	corpus.ReplayFresh(t, playSessions(t, []path{longTalk}))
}

// TestRecordSessions writes the corpus of the version anew:
//
//	RATCHET_RECORD_HISTORIES=1 go test -count=1 -run TestRecordSessions ./workflows/session
func TestRecordSessions(t *testing.T) {
	corpus.Record(t, func(t *testing.T) map[string]*history.History {
		return playSessions(t, slices.Concat(paths, deliveryPaths, []path{longTalk}))
	})
}

// playSessions plays the paths side by side and returns the histories by name.
func playSessions(t *testing.T, paths []path) map[string]*history.History {
	e := temporaltest.Shared(t)
	found := make([][]*history.History, len(paths))
	all := t
	t.Run("paths", func(t *testing.T) {
		for i, way := range paths {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(e, all, t, way.config)
				way.take(t, s)
				_, found[i] = s.retire()
			})
		}
	})
	histories := map[string]*history.History{}
	for i, way := range paths {
		maps.Copy(histories, temporaltest.NameExecutions(way.name, found[i]))
	}
	return histories
}
