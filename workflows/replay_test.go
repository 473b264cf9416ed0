package workflows_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ratchet-dev/ratchet/workflows"
)

const (
	// recordVariable makes TestRecordHistories write the corpus of the version anew.
	recordVariable = "RATCHET_RECORD_HISTORIES"
	version        = "v0.2"

	corpus    = "testdata/history"
	countFile = corpus + "/expected_count.txt"
)

// replayer runs the workflow, changed by the interceptors, over histories.
func replayer(t testing.TB, changes ...interceptor.WorkerInterceptor) worker.WorkflowReplayer {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: changes})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflow(workflows.Run)
	return r
}

// TestReplay runs today's workflow over every history of every version.
func TestReplay(t *testing.T) {
	histories := loadCorpus(t)
	for _, way := range paths {
		if histories[version+"/"+way.name] == nil && histories[version+"/"+way.name+"-2"] == nil {
			t.Errorf("no history of %s: record it", way.name)
		}
	}
	r := replayer(t)
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

// prefixesOf cuts a history at the start of every workflow task: what a worker
// without a cache is given.
func prefixesOf(h *history.History) func(func(*history.History) bool) {
	return func(yield func(*history.History) bool) {
		for i, e := range h.Events {
			if e.GetEventType() != enums.EVENT_TYPE_WORKFLOW_TASK_STARTED {
				continue
			}
			if !yield(&history.History{Events: h.Events[:i+1]}) {
				return
			}
		}
	}
}

// TestReplayFreshRuns plays every path on a real engine and replays it at
// once. Without the cache the worker replays it at every task, too.
func TestReplayFreshRuns(t *testing.T) {
	r := replayer(t)
	for name, h := range playAll(t) {
		if err := r.ReplayWorkflowHistory(quiet{}, h); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecordHistories writes the corpus of the version anew:
//
//	RATCHET_RECORD_HISTORIES=1 go test -count=1 -run TestRecordHistories ./workflows
func TestRecordHistories(t *testing.T) {
	if os.Getenv(recordVariable) == "" {
		t.Skipf("writes test data: set %s=1", recordVariable)
	}
	histories := playAll(t)
	if t.Failed() {
		return
	}
	dir := filepath.Join(corpus, version)
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
	count := fmt.Sprintln(len(historyFiles(t)))
	if err := os.WriteFile(countFile, []byte(count), 0o644); err != nil {
		t.Fatal(err)
	}
}

// playAll plays the paths side by side and returns the histories of all
// executions by name.
func playAll(t *testing.T) map[string]*history.History {
	s := newStage(t)
	var mu sync.Mutex
	histories := map[string]*history.History{}
	t.Run("paths", func(t *testing.T) {
		for _, way := range paths {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				executions := way.take(s.perform(t, way.inputOf()))
				mu.Lock()
				defer mu.Unlock()
				for i, h := range executions {
					name := way.name
					if len(executions) > 1 {
						name = fmt.Sprintf("%s-%d", name, i+1)
					}
					histories[name] = h
				}
			})
		}
	})
	return histories
}

// scrub takes out what names the machine: the queues of the sticky cache are
// called after it.
func scrub(h *history.History) {
	for _, e := range h.Events {
		if q := e.GetWorkflowTaskScheduledEventAttributes().GetTaskQueue(); q.GetKind() == enums.TASK_QUEUE_KIND_STICKY {
			q.Name = "sticky"
		}
	}
}

func pack(t testing.TB, h *history.History) []byte {
	t.Helper()
	loose, err := protojson.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if host, err := os.Hostname(); err == nil && bytes.Contains(loose, []byte(host)) {
		t.Errorf("a history names this machine, %s", host)
	}
	var text, b bytes.Buffer
	if err := json.Compact(&text, loose); err != nil {
		t.Fatal(err)
	}
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// loadCorpus reads all histories by version and path, and counts them: a
// corpus that is not found passes no test.
func loadCorpus(t testing.TB) map[string]*history.History {
	t.Helper()
	b, err := os.ReadFile(countFile)
	if err != nil {
		t.Fatal(err)
	}
	want, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || want < 1 {
		t.Fatalf("%s: %q is not a count", countFile, b)
	}
	files := historyFiles(t)
	if len(files) != want {
		t.Fatalf("%d histories, %s says %d", len(files), countFile, want)
	}
	histories := map[string]*history.History{}
	for _, file := range files {
		name, _ := filepath.Rel(corpus, strings.TrimSuffix(file, ".json.gz"))
		histories[name] = unpack(t, file)
	}
	return histories
}

func historyFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(corpus + "/*/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func unpack(t testing.TB, file string) *history.History {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	h, err := client.HistoryFromJSON(io.LimitReader(z, 64<<20), client.HistoryJSONOptions{})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return h
}
