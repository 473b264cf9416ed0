package workflows_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/workflows"
)

const (
	dispatchCorpus    = "testdata/dispatch"
	dispatchCountFile = dispatchCorpus + "/expected_count.txt"
)

func dispatchReplayer(t testing.TB) worker.WorkflowReplayer {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflow(workflows.Dispatch)
	return r
}

// TestReplayDispatch runs today's workflow over every history of every version.
func TestReplayDispatch(t *testing.T) {
	histories := loadDispatches(t)
	for _, way := range passages {
		if histories[version+"/"+way.name] == nil && histories[version+"/"+way.name+"-2"] == nil {
			t.Errorf("no history of %s: record it", way.name)
		}
	}
	r := dispatchReplayer(t)
	for _, name := range slices.Sorted(maps.Keys(histories)) {
		t.Run(name, func(t *testing.T) {
			if err := r.ReplayWorkflowHistory(quiet{}, histories[name]); err != nil {
				t.Error(err)
			}
			prefixes := 0
			for h := range prefixesOf(histories[name]) {
				prefixes++
				if err := r.ReplayWorkflowHistory(quiet{}, h); err != nil {
					t.Errorf("up to event %d: %v", len(h.Events), err)
				}
			}
			if prefixes == 0 {
				t.Error("no prefix was replayed")
			}
		})
	}
}

// TestReplayFreshDispatches plays every passage on a real engine and replays it
// at once. Without the cache the worker replays it at every task, too.
func TestReplayFreshDispatches(t *testing.T) {
	r := dispatchReplayer(t)
	for name, h := range playDispatches(t) {
		if err := r.ReplayWorkflowHistory(quiet{}, h); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecordDispatches writes the corpus of the version anew:
//
//	RATCHET_RECORD_HISTORIES=1 go test -count=1 -run TestRecordDispatches ./workflows
func TestRecordDispatches(t *testing.T) {
	if os.Getenv(recordVariable) == "" {
		t.Skipf("writes test data: set %s=1", recordVariable)
	}
	histories := playDispatches(t)
	if t.Failed() {
		return
	}
	dir := filepath.Join(dispatchCorpus, version)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, h := range histories {
		scrub(h)
		if err := os.WriteFile(filepath.Join(dir, name+".json.gz"), pack(t, h), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	count := fmt.Sprintln(len(dispatchFiles(t)))
	if err := os.WriteFile(dispatchCountFile, []byte(count), 0o644); err != nil {
		t.Fatal(err)
	}
}

// playDispatches plays the passages side by side, waits for all of them to close
// at once, and returns the histories by name.
func playDispatches(t *testing.T) map[string]*history.History {
	s := newStage(t)
	counters := make([]*counter, len(passages))
	all := t // whose end the workers wait for
	t.Run("passages", func(t *testing.T) {
		for i, way := range passages {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				target := dispatch.GardenID(fmt.Sprintf("20260612T09%04d-0a1b2c", i))
				counters[i] = s.counter(all, t, target, newTown(way.town))
				way.take(counters[i])
			})
		}
	})
	histories := map[string]*history.History{}
	for i, way := range passages {
		executions := way.leave(t, counters[i])
		for n, h := range executions {
			name := way.name
			if len(executions) > 1 {
				name = fmt.Sprintf("%s-%d", name, n+1)
			}
			histories[name] = h
		}
	}
	return histories
}

// loadDispatches reads all histories by version and passage, and counts them.
func loadDispatches(t testing.TB) map[string]*history.History {
	t.Helper()
	b, err := os.ReadFile(dispatchCountFile)
	if err != nil {
		t.Fatal(err)
	}
	want, err := strconv.Atoi(strings.TrimSpace(string(b)))
	files := dispatchFiles(t)
	if err != nil || want < 1 || len(files) != want {
		t.Fatalf("%d histories, %s says %q", len(files), dispatchCountFile, b)
	}
	histories := map[string]*history.History{}
	for _, file := range files {
		name, _ := filepath.Rel(dispatchCorpus, strings.TrimSuffix(file, ".json.gz"))
		histories[name] = unpack(t, file)
	}
	return histories
}

func dispatchFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(dispatchCorpus + "/*/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	return files
}
