package rundir_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// teller gives a run's record its events as a workflow does: what the record
// lacks, a few at a time, and again what it says that it lacks.
type teller struct {
	dir       *rundir.Dir
	steps     []rundir.Entry // one event each
	knows     int            // number of the first event that this execution knows, from 1
	recorded  int            // number of the last event that is on disk, as far as it knows
	execution string
	over      bool
	asides    []rundir.Aside
	calls     int
}

// tell brings the record up to event number n.
func (w *teller) tell(n int) error {
	for gap := false; w.recorded < n; {
		if w.calls++; w.calls > 500 {
			return errors.New("the record does not go on")
		}
		first := max(w.recorded+1, w.knows)
		e := between(first-1, min(first+7, n)-1)
		e.State, e.Standing = w.steps[n-1].State, w.steps[n-1].Standing
		e.Gap, e.Execution, e.Over = gap, w.execution, w.over
		if !gap {
			e.Before = chain(w.steps[:first-1])
		}
		out, err := w.dir.Record(e)
		if err != nil {
			return err
		}
		if out.Aside != nil {
			w.asides = append(w.asides, *out.Aside)
		}
		if out.Last < first-1 {
			w.recorded, gap = out.Last, w.knows-1 > out.Last
			continue
		}
		w.recorded = e.Events[len(e.Events)-1].Seq()
	}
	return nil
}

func chain(steps []rundir.Entry) (d run.Digest) {
	for _, s := range steps {
		b, _ := s.Events[0].Line()
		d = run.ExtendChain(d, b)
	}
	return d
}

func telling(t testing.TB) *teller {
	return &teller{dir: newDir(t), steps: steps, knows: 1, execution: "x1"}
}

func (w *teller) must(t testing.TB, n int) {
	t.Helper()
	if err := w.tell(n); err != nil {
		t.Fatal(err)
	}
}

// set is what was set aside, all of it.
func set(t testing.TB, d *rundir.Dir) (all []byte) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(d.Path(), "events.*-*.ndjson"))
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			all = append(all, read(t, name)...)
		}
	}
	return all
}

const forgery = `{"id":"evt-000009","runId":"told","ts":"2099-01-01T00:00:00Z","type":"EVALUATION_PASSED","phase":"evaluate","iteration":1,"payload":{"report":{"name":"","digest":"","bytes":0},"reasons":["kim looked at it"]}}` + "\n"

// hostile are what others may do to a log that has eight lines.
var hostile = []struct {
	name string
	do   func(t testing.TB, file string)
	lost string // a part of what is set aside; empty: nothing is
}{
	{"an event is forged at the end", func(t testing.TB, file string) { add(t, file, forgery) }, "kim looked at it"},
	{"an event is forged, out of order", func(t testing.TB, file string) {
		add(t, file, strings.Replace(forgery, "evt-000009", "evt-000099", 1))
	}, "evt-000099"},
	{"an id is repeated", func(t testing.TB, file string) {
		add(t, file, strings.Replace(forgery, "evt-000009", "evt-000003", 1))
	}, "kim looked at it"},
	{"a line that is no event", func(t testing.TB, file string) { add(t, file, "tidy\n") }, "tidy"},
	{"bytes without an end", func(t testing.TB, file string) { add(t, file, "tidy") }, "tidy"},
	{"a line is altered", func(t testing.TB, file string) {
		write(t, file, bytes.Replace(read(t, file), []byte("make it work"), []byte("make it fail"), 1))
	}, "make it fail"},
	{"a line is taken out", func(t testing.TB, file string) {
		lines := bytes.SplitAfter(read(t, file), []byte("\n"))
		write(t, file, bytes.Join(slices.Delete(lines, 3, 4), nil))
	}, "evt-000008"},
	{"it is truncated", func(t testing.TB, file string) { write(t, file, nil) }, ""},
	{"it is shortened", func(t testing.TB, file string) { write(t, file, bytes.Join(lines()[:3], nil)) }, ""},
	{"it is removed", func(t testing.TB, file string) { remove(t, file) }, ""},
	{"a link stands in its place", func(t testing.TB, file string) {
		write(t, file+".theirs", read(t, file))
		remove(t, file)
		if err := os.Symlink(file+".theirs", file); err != nil {
			t.Fatal(err)
		}
	}, ""},
	{"a pipe stands in its place", func(t testing.TB, file string) {
		remove(t, file)
		if err := unix.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
	}, ""},
	{"a directory stands in its place", func(t testing.TB, file string) {
		remove(t, file)
		if err := os.MkdirAll(filepath.Join(file, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}, ""},
	{"it has a second name", func(t testing.TB, file string) {
		if err := os.Link(file, file+".theirs"); err != nil {
			t.Fatal(err)
		}
	}, ""},
	{"the seal is gone and an event is forged", func(t testing.TB, file string) {
		remove(t, sealOf(file))
		add(t, file, forgery)
	}, "kim looked at it"},
	{"the seal covers a forgery", func(t testing.TB, file string) {
		add(t, file, forgery)
		reseal(t, file)
	}, "kim looked at it"},
	{"the seal is a pipe", func(t testing.TB, file string) {
		remove(t, sealOf(file))
		if err := unix.Mkfifo(sealOf(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}, ""},
}

func sealOf(file string) string { return filepath.Join(filepath.Dir(file), "events.seal") }

func add(t testing.TB, file, text string) {
	t.Helper()
	write(t, file, append(read(t, file), text...))
}

func remove(t testing.TB, file string) {
	t.Helper()
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
}

// reseal makes the seal that of the log as it is, as one does who knows how.
func reseal(t testing.TB, file string) {
	t.Helper()
	var seal map[string]any
	if err := json.Unmarshal(read(t, sealOf(file)), &seal); err != nil {
		t.Fatal(err)
	}
	var d run.Digest
	n := 0
	for l := range bytes.Lines(read(t, file)) {
		d = run.ExtendChain(d, l)
		n++
	}
	seal["lines"], seal["chain"], seal["bytes"] = n, d, len(read(t, file))
	b, err := json.Marshal(seal)
	if err != nil {
		t.Fatal(err)
	}
	write(t, sealOf(file), b)
}

// Finding B6: what others do to the log is noticed, set aside and told, and the
// record goes on as the workflow has it.
func TestForeignEditsOfTheLog(t *testing.T) {
	for _, tc := range hostile {
		t.Run(tc.name, func(t *testing.T) {
			w := telling(t)
			w.must(t, 8)
			tc.do(t, logFile(w.dir))
			w.must(t, len(steps))
			wantWhole(t, w.dir)
			if info, err := os.Lstat(logFile(w.dir)); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
				t.Errorf("the log is %v, %v", info, err)
			}
			if !bytes.Contains(set(t, w.dir), []byte(tc.lost)) {
				t.Errorf("%q is not set aside: %q", tc.lost, set(t, w.dir))
			}
			quiet := strings.Contains(tc.name, "second name") || strings.Contains(tc.name, "seal is a pipe")
			if (len(w.asides) == 0) != quiet {
				t.Errorf("told %+v", w.asides)
			}
			if log, err := os.ReadFile(filepath.Join(w.dir.Path(), "logs", "record.log")); (err != nil) != quiet {
				t.Errorf("record.log %q, %v", log, err)
			}
			if (len(w.dir.Foreign()) > 0) != (tc.lost != "" || strings.Contains(tc.name, "in its place")) {
				t.Errorf("set aside %v", w.dir.Foreign())
			}
			calls := w.calls
			w.must(t, len(steps))
			if w.calls != calls {
				t.Error("it is told again")
			}
		})
	}
}

// After a new history the workflow knows the events since then alone: what
// lies before is kept as it can be.
func TestForeignEditsOfALongRun(t *testing.T) {
	for _, tc := range hostile {
		t.Run(tc.name, func(t *testing.T) {
			w := telling(t)
			w.must(t, 6)
			w.knows, w.execution = 7, "x2"
			w.must(t, 8)
			tc.do(t, logFile(w.dir))
			w.must(t, len(steps))
			all := bytes.Join(lines()[6:], nil)
			if got := read(t, logFile(w.dir)); !bytes.HasSuffix(got, all) || bytes.Contains(got, []byte("kim looked")) {
				t.Errorf("the log is\n%s", got)
			}
			if state, err := w.dir.State(); err != nil || *state.LastEventID != run.EventID(len(steps)) {
				t.Errorf("state %+v, %v", state, err)
			}
		})
	}
}

// Whatever others do, and in whatever order, once the workflow has told all, the
// log holds its events and no byte more; what others wrote is aside.
func TestForeignEditsInAnyOrder(t *testing.T) {
	need.Checks(t, 15, 100)
	rapid.Check(t, func(rt *rapid.T) {
		w := telling(t)
		for n := 1; n <= len(steps); n += rapid.IntRange(1, 6).Draw(rt, "events") {
			if err := w.tell(n); err != nil {
				rt.Fatal(err)
			}
			file := logFile(w.dir)
			switch rapid.SampledFrom([]string{"nothing", "forge", "cut", "link", "late", "touch", "unseal"}).Draw(rt, "edit") {
			case "forge":
				text := rapid.SampledFrom([]string{forgery, "tidy\n", strings.Replace(forgery, "evt-000009", run.EventID(n+1), 1)}).Draw(rt, "text")
				add(t, file, text)
			case "cut":
				b := read(t, file)
				write(t, file, b[:rapid.IntRange(0, len(b)).Draw(rt, "size")])
			case "link":
				write(t, file+".theirs", read(t, file))
				remove(t, file)
				if err := os.Symlink(file+".theirs", file); err != nil {
					rt.Fatal(err)
				}
			case "late":
				old := *w
				old.recorded = rapid.IntRange(0, n-1).Draw(rt, "since")
				if err := old.tell(rapid.IntRange(old.recorded, n).Draw(rt, "to")); err != nil {
					rt.Fatal(err)
				}
			case "touch":
				b := bytes.Replace(read(t, file), []byte("kim"), []byte("tim"), 1)
				write(t, file, b)
			case "unseal":
				remove(t, sealOf(file))
			}
		}
		if err := w.tell(len(steps)); err != nil {
			rt.Fatal(err)
		}
		// The last event is told again, as by an attempt whose result was lost:
		// nothing that follows is looked at any more, but for what it brings.
		w.recorded = len(steps) - 1
		if err := w.tell(len(steps)); err != nil {
			rt.Fatal(err)
		}
		wantWhole(t, w.dir)
	})
}

// Finding B7: the execution that has forgotten what it wrote is not believed
// until a person says so. One that began by a reset is.
func TestRecordThatIsAheadOfItsWorkflow(t *testing.T) {
	later := func(n int) []rundir.Entry { // another course from event n on
		var list []rundir.Entry
		for i, s := range steps[n-1:] {
			e := s.Events[0]
			e.TS = e.TS.Add(time.Hour)
			s.Events = []run.Event{e}
			list = append(list, s)
			if i == 2 {
				break
			}
		}
		return append(slices.Clone(steps[:n-1]), list...)
	}
	for _, tc := range []struct {
		name      string
		by        []string // the executions that wrote events 1 to 6, and those after
		execution string   // that writes another course from event 9 on
		over      bool
		ahead     bool
	}{
		{name: "a restored database", by: []string{"x1", "x1"}, execution: "x1", ahead: true},
		{name: "a restored database, from before a new history", by: []string{"x1", "x2"}, execution: "x1", ahead: true},
		{name: "a person says to go on", by: []string{"x1", "x1"}, execution: "x1", over: true},
		{name: "a reset", by: []string{"x1", "x1"}, execution: "x2"},
		{name: "a reset of a long run", by: []string{"x1", "x2"}, execution: "x3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := telling(t)
			w.execution = tc.by[0]
			w.must(t, 6)
			w.execution = tc.by[1]
			w.must(t, 14)
			before := read(t, logFile(w.dir))

			other := later(9)
			restored := entry(other[8].Events[0])
			restored.State, restored.Before, restored.Execution, restored.Over = other[8].State, chain(steps[:8]), tc.execution, tc.over
			out, err := w.dir.Record(restored)
			ahead, is := errors.AsType[*rundir.Ahead](err)
			if is != tc.ahead {
				t.Fatalf("%+v, %v", out, err)
			}
			if is {
				if *ahead != (rundir.Ahead{Last: run.EventID(14), Type: steps[13].Events[0].Type, At: steps[13].Events[0].TS, Events: 6}) {
					t.Errorf("%+v", ahead)
				}
				if !bytes.Equal(read(t, logFile(w.dir)), before) || len(set(t, w.dir)) > 0 {
					t.Error("something was written")
				}
				return
			}
			if err != nil || out.Last != 9 {
				t.Fatalf("%+v, %v", out, err)
			}
			if !bytes.Equal(set(t, w.dir), bytes.Join(lines()[8:14], nil)) || len(w.dir.Foreign()) > 0 {
				t.Errorf("set aside: %s", set(t, w.dir))
			}
			// The old course's attempts come too late.
			w.recorded, w.over = 8, false
			if tc.execution != tc.by[1] {
				w.must(t, 14)
			}
			if b, _ := other[8].Events[0].Line(); !bytes.HasSuffix(read(t, logFile(w.dir)), b) {
				t.Errorf("the log is\n%s", read(t, logFile(w.dir)))
			}
		})
	}
}
