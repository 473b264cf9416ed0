package rundir_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func newDir(t testing.TB) *rundir.Dir {
	t.Helper()
	return openRun(t, t.TempDir())
}

// openRun opens the run's record as a process does that begins.
func openRun(t testing.TB, runs string) *rundir.Dir {
	t.Helper()
	store, err := rundir.Open(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	return store.Run(told.Input.RunID)
}

func record(t testing.TB, d *rundir.Dir, e rundir.Entry) int {
	t.Helper()
	out, err := d.Record(e)
	if err != nil {
		t.Fatal(err)
	}
	return out.Last
}

func logFile(d *rundir.Dir) string { return filepath.Join(d.Path(), "events.ndjson") }

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t testing.TB, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantWhole checks that the record is that of the told run, byte for byte.
func wantWhole(t testing.TB, d *rundir.Dir) {
	t.Helper()
	if got, want := read(t, logFile(d)), bytes.Join(lines(), nil); !bytes.Equal(got, want) {
		t.Fatalf("the log is\n%s\nwant\n%s", got, want)
	}
	state, err := d.State()
	if err != nil || !reflect.DeepEqual(state, told.State) {
		t.Fatalf("state %+v, %v\nwant  %+v", state, err, told.State)
	}
	s, err := d.Rebuild()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := asJSON(t, s), asJSON(t, told); got != want {
		t.Fatalf("rebuilt as\n%s\nwant\n%s", got, want)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRecordEventByEvent(t *testing.T) {
	d := newDir(t)
	for i, e := range steps {
		if last := record(t, d, e); last != i+1 {
			t.Fatalf("step %d: %d on disk", i+1, last)
		}
		if state, err := d.State(); err != nil || !reflect.DeepEqual(state, e.State) {
			t.Fatalf("step %d: state %+v, %v", i+1, state, err)
		}
	}
	wantWhole(t, d)
}

func TestRecordAgainChangesNothing(t *testing.T) {
	d := newDir(t)
	record(t, d, whole())
	before := map[string]string{}
	each(t, d.Path(), func(name string, b []byte) { before[name] = string(b) })
	for i := range steps {
		record(t, d, steps[i]) // older ones too
	}
	record(t, d, whole())
	each(t, d.Path(), func(name string, b []byte) {
		if before[name] != string(b) {
			t.Errorf("%s changed", name)
		}
	})
	wantWhole(t, d)
}

func each(t testing.TB, dir string, f func(name string, b []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		f(name, read(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordMendsALineCutAnywhere(t *testing.T) {
	all := lines()
	last := len(steps) - 1
	whole := bytes.Join(all, nil)
	d := newDir(t)
	record(t, d, between(0, last))
	for size := len(whole) - len(all[last]); size < len(whole); size++ {
		write(t, logFile(d), whole[:size])
		events, err := d.Events()
		if err != nil || len(events) != last {
			t.Fatalf("cut at %d of %d: %d events, %v", size, len(whole), len(events), err)
		}
		s, err := d.Rebuild()
		if err != nil || s.State.Status != run.Running {
			t.Fatalf("cut at %d: rebuilt as %v, %v: the events must win over state.json", size, s, err)
		}
		record(t, d, steps[last])
		wantWhole(t, d)
	}
}

func TestStateOlderThanTheEvents(t *testing.T) {
	d := newDir(t)
	record(t, d, between(0, 3))
	old := read(t, filepath.Join(d.Path(), "state.json"))
	record(t, d, between(4, len(steps)-1))
	write(t, filepath.Join(d.Path(), "state.json"), old)
	s, err := d.Rebuild()
	if err != nil || asJSON(t, s) != asJSON(t, told) {
		t.Errorf("rebuilt as %s, %v", asJSON(t, s), err)
	}
	record(t, d, steps[len(steps)-1])
	wantWhole(t, d)
}

func TestStateIsMissing(t *testing.T) {
	d := newDir(t)
	record(t, d, whole())
	for _, name := range []string{"state.json", "run.json"} {
		if err := os.Remove(filepath.Join(d.Path(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := d.Rebuild(); err != nil || asJSON(t, s) != asJSON(t, told) {
		t.Errorf("rebuilt as %s, %v", asJSON(t, s), err)
	}
}

func TestGap(t *testing.T) {
	d := newDir(t)
	record(t, d, between(0, 1))
	before := read(t, logFile(d))
	if last := record(t, d, between(5, 6)); last != 2 {
		t.Errorf("%d events on disk, want 2", last)
	}
	if got := read(t, logFile(d)); !bytes.Equal(got, before) {
		t.Errorf("something was written over a gap: %s", got)
	}
	if state, err := d.State(); err != nil || *state.LastEventID != run.EventID(2) {
		t.Errorf("state %+v, %v", state, err)
	}
	gap := between(5, 6)
	gap.Gap = true
	if last := record(t, d, gap); last != 7 {
		t.Errorf("%d is the last event, want 7", last)
	}
	if events, err := d.Events(); err != nil || len(events) != 4 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if _, err := d.Rebuild(); err == nil {
		t.Error("a record with a gap was rebuilt")
	}
}

func TestDamagedLine(t *testing.T) {
	d := newDir(t)
	record(t, d, whole())
	all := lines()
	all[2] = []byte("{\"id\":\"evt-000003\"\n")
	write(t, logFile(d), bytes.Join(all, nil))
	if _, err := d.Rebuild(); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("error %v, want the number of the line", err)
	}
	if _, err := newDir(t).Rebuild(); err == nil {
		t.Error("a directory without events was rebuilt")
	}
}

func TestNotesSurviveOutsideTheEvents(t *testing.T) {
	d := newDir(t)
	e := between(0, 3)
	e.Standing.Notes = []run.Note{{Text: "use tabs"}, {Text: " "}}
	record(t, d, e)
	s, err := d.Rebuild()
	if err != nil || len(s.Notes) != 1 || s.Notes[0].Text != "use tabs" {
		t.Errorf("notes %v, %v", s, err)
	}
}

func TestQuestionsAndLogs(t *testing.T) {
	d := newDir(t)
	record(t, d, whole())
	q, _, err := d.Find("ask/iter-0001.md")
	if err != nil || string(q) != "# which name?\n\ntwo fit\n\n## Needed\n\n- a name\n\n## Answer\n\nblue\n" {
		t.Errorf("question %q, %v", q, err)
	}
	gate := string(read(t, filepath.Join(d.Path(), "logs", "gatekeeper.log")))
	if n := strings.Count(gate, "\n"); n != 6 || !strings.Contains(gate, "[2026-01-02T12:00:11Z] [INFO] APPROVAL_REQUESTED {") ||
		!strings.Contains(gate, "[ERROR] PATCH_APPLY_FAILED {") ||
		!strings.Contains(gate, `[INFO] PATCH_APPLIED {"policy":"always","approvalId":"apr-2-`) {
		t.Errorf("%d lines in\n%s", n, gate)
	}
	if err := d.Log("provider-plan", rundir.Info, "answered", map[string]any{"text": "a\nb"}); err != nil {
		t.Fatal(err)
	}
	if b := read(t, filepath.Join(d.Path(), "logs", "provider-plan.log")); bytes.Count(b, []byte("\n")) != 1 {
		t.Errorf("one entry is not one line: %q", b)
	}
}

// TestAnyOrderOfCalls plays calls with any parts of the record in any order,
// and cuts the log where a crash could. Who then records all has all.
func TestAnyOrderOfCalls(t *testing.T) {
	need.Checks(t, 15, 100)
	rapid.Check(t, func(rt *rapid.T) {
		d := newDir(t)
		for range rapid.IntRange(0, 6).Draw(rt, "calls") {
			j := rapid.IntRange(0, len(steps)-1).Draw(rt, "to")
			if _, err := d.Record(between(rapid.IntRange(0, j).Draw(rt, "from"), j)); err != nil {
				rt.Fatal(err)
			}
			if b, err := os.ReadFile(logFile(d)); err == nil && rapid.Bool().Draw(rt, "cut") {
				write(t, logFile(d), b[:rapid.IntRange(0, len(b)).Draw(rt, "size")])
			}
			if events, err := d.Events(); errors.Is(err, fs.ErrNotExist) {
				continue // the first call lacked what comes before
			} else if err != nil {
				rt.Fatal(err)
			} else if _, err := run.Fold(events); err != nil {
				rt.Fatal(err)
			}
		}
		record(t, d, whole())
		wantWhole(t, d)
	})
}

func TestProcessesRecordAtOnce(t *testing.T) {
	store, err := rundir.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var wait []func() error
	for range 4 {
		cmd, _ := child(t, asRecorder, store.Dir())
		wait = append(wait, cmd.Wait)
	}
	for _, w := range wait {
		if err := w(); err != nil {
			t.Error(err)
		}
	}
	wantWhole(t, store.Run(told.Input.RunID))
}
