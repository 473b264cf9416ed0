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
	version        = "v0.3"
)

// A corpus is the stored histories of one workflow, by version and by the way
// that was taken.
type corpus struct {
	dir      string
	workflow any
}

var (
	runCorpus      = corpus{"testdata/history", workflows.Run}
	dispatchCorpus = corpus{"testdata/dispatch", workflows.Dispatch}
)

// replayer runs the workflow, changed by the interceptors, over histories.
func (c corpus) replayer(t testing.TB, changes ...interceptor.WorkerInterceptor) worker.WorkflowReplayer {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: changes})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflow(c.workflow)
	return r
}

// TestReplay runs today's workflow over every history of every version.
func TestReplay(t *testing.T) {
	var ways []string
	for _, way := range paths {
		ways = append(ways, way.name)
	}
	runCorpus.replay(t, ways)
}

// replay runs the workflow over every history, whole and cut off. Of each way
// there must be one of this version.
func (c corpus) replay(t *testing.T, ways []string) {
	histories := c.load(t)
	for _, way := range ways {
		if histories[version+"/"+way] == nil && histories[version+"/"+way+"-2"] == nil {
			t.Errorf("no history of %s: record it", way)
		}
	}
	r := c.replayer(t)
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
func TestReplayFreshRuns(t *testing.T) { runCorpus.replayFresh(t, playAll(t)) }

func (c corpus) replayFresh(t *testing.T, histories map[string]*history.History) {
	r := c.replayer(t)
	for name, h := range histories {
		if err := r.ReplayWorkflowHistory(quiet{}, h); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecordHistories writes the corpus of the version anew:
//
//	RATCHET_RECORD_HISTORIES=1 go test -count=1 -run TestRecordHistories ./workflows
func TestRecordHistories(t *testing.T) { runCorpus.record(t, playAll) }

func (c corpus) record(t *testing.T, play func(*testing.T) map[string]*history.History) {
	if os.Getenv(recordVariable) == "" {
		t.Skipf("writes test data: set %s=1", recordVariable)
	}
	histories := play(t)
	if t.Failed() {
		return
	}
	dir := filepath.Join(c.dir, version)
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
	count := fmt.Sprintln(len(c.files(t)))
	if err := os.WriteFile(c.countFile(), []byte(count), 0o644); err != nil {
		t.Fatal(err)
	}
}

// named are the histories of the executions of one way.
func named(way string, executions []*history.History) map[string]*history.History {
	all := map[string]*history.History{}
	for i, h := range executions {
		name := way
		if len(executions) > 1 {
			name = fmt.Sprintf("%s-%d", way, i+1)
		}
		all[name] = h
	}
	return all
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
				maps.Copy(histories, named(way.name, executions))
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

func (c corpus) countFile() string { return c.dir + "/expected_count.txt" }

// load reads all histories and counts them: a corpus that is not found passes no
// test.
func (c corpus) load(t testing.TB) map[string]*history.History {
	t.Helper()
	b, err := os.ReadFile(c.countFile())
	if err != nil {
		t.Fatal(err)
	}
	want, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || want < 1 {
		t.Fatalf("%s: %q is not a count", c.countFile(), b)
	}
	files := c.files(t)
	if len(files) != want {
		t.Fatalf("%d histories, %s says %d", len(files), c.countFile(), want)
	}
	histories := map[string]*history.History{}
	for _, file := range files {
		name, _ := filepath.Rel(c.dir, strings.TrimSuffix(file, ".json.gz"))
		histories[name] = unpack(t, file)
	}
	return histories
}

func (c corpus) files(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(c.dir + "/*/*.json.gz")
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
