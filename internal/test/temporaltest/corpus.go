package temporaltest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ratchet-dev/ratchet/internal/test/need"
)

const (
	// recordVariable makes Record write the histories that no version has.
	recordVariable = "RATCHET_RECORD_HISTORIES"
	version        = "v1"
)

// Corpus names the stored histories of one workflow, by version and by the way that was taken.
type Corpus struct {
	Dir      string
	Workflow any
}

// Replayer runs the workflow, changed by the interceptors, over histories. A busy machine can stop it for longer than the
// second after which the SDK would take it for a deadlock.
func (c Corpus) Replayer(t testing.TB, changes ...interceptor.WorkerInterceptor) worker.WorkflowReplayer {
	t.Helper()
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: changes, DisableDeadlockDetection: true})
	if err != nil {
		t.Fatal(err)
	}
	r.RegisterWorkflow(c.Workflow)
	return r
}

// Replay runs the workflow over every history, whole and cut off. Of each way there must be one, of any
// version.
func (c Corpus) Replay(t *testing.T, ways []string) {
	histories := c.Load(t)
	for _, way := range ways {
		if !hasWay(histories, way) {
			t.Errorf("no history of %s: record it", way)
		}
	}
	r := c.Replayer(t)
	for _, name := range slices.Sorted(maps.Keys(histories)) {
		t.Run(name, func(t *testing.T) {
			if err := r.ReplayWorkflowHistory(Quiet{}, histories[name]); err != nil {
				t.Error(err)
			}
			prefixes := prefixesOf(histories[name])
			for _, h := range prefixes {
				if err := r.ReplayWorkflowHistory(Quiet{}, h); err != nil {
					t.Errorf("up to event %d: %v", len(h.Events), err)
				}
			}
			if len(prefixes) == 0 {
				t.Error("no prefix was replayed")
			}
		})
	}
}

// hasWay reports whether some version has a history of the way.
func hasWay(histories map[string]*history.History, way string) bool {
	for name := range histories {
		if base := path.Base(name); base == way || base == way+"-2" {
			return true
		}
	}
	return false
}

// manyPrefixes is the number of prefixes of one history that replay outside the nightly suite. A long
// history repeats the same steps, and the time of all its prefixes grows with the square of its length.
const manyPrefixes = 12

// prefixesOf returns the history, cut off at the start of every workflow task, as a worker without a cache
// gets it. Outside the nightly suite, of a long history they are the first ones, the last ones and some between.
func prefixesOf(h *history.History) []*history.History {
	var all []*history.History
	for i, e := range h.Events {
		if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_STARTED {
			all = append(all, &history.History{Events: h.Events[:i+1]})
		}
	}
	if len(all) <= manyPrefixes || need.Has(need.Nightly) {
		return all
	}
	const third = manyPrefixes / 3
	first, between, last := all[:third], all[third:len(all)-third], all[len(all)-third:]
	some := slices.Clone(first)
	for i := range third {
		some = append(some, between[i*len(between)/third])
	}
	return append(some, last...)
}

// ReplayFresh runs the workflow over histories that were just played.
func (c Corpus) ReplayFresh(t *testing.T, histories map[string]*history.History) {
	r := c.Replayer(t)
	for name, h := range histories {
		if err := r.ReplayWorkflowHistory(Quiet{}, h); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Record plays the ways and writes the histories that no version has to the corpus of this version, if the
// environment says so. A version is one release: delete a file to record it again.
func (c Corpus) Record(t *testing.T, play func(*testing.T) map[string]*history.History) {
	if os.Getenv(recordVariable) == "" {
		t.Skipf("writes test data: set %s=1", recordVariable)
	}
	histories := play(t)
	if t.Failed() {
		return
	}
	dir := filepath.Join(c.Dir, version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, h := range histories {
		if older, _ := filepath.Glob(filepath.Join(c.Dir, "*", name+".json.gz")); len(older) > 0 {
			continue
		}
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

// NameExecutions returns the histories of the executions of one way, by name.
func NameExecutions(way string, executions []*history.History) map[string]*history.History {
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

// scrub removes the name of the machine: the queues of the sticky cache have it.
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

func (c Corpus) countFile() string { return c.Dir + "/expected_count.txt" }

// Load reads all histories and counts them: a corpus that is not found passes no test.
func (c Corpus) Load(t testing.TB) map[string]*history.History {
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
		name, _ := filepath.Rel(c.Dir, strings.TrimSuffix(file, ".json.gz"))
		histories[name] = unpack(t, file)
	}
	return histories
}

func (c Corpus) files(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(c.Dir + "/*/*.json.gz")
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
