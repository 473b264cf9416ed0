package rundir_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Finding H4: what a crash left is mended without an event, at once.
func TestRepair(t *testing.T) {
	all := lines()
	for _, tc := range []struct {
		name  string
		spoil func(t *testing.T, d *rundir.Dir)
		last  int
		aside string
	}{
		{name: "nothing is wrong", last: 12},
		{name: "state.json is behind", last: 12, spoil: func(t *testing.T, d *rundir.Dir) {
			other := newDir(t)
			record(t, other, between(0, 5))
			write(t, filepath.Join(d.Path(), "state.json"), read(t, filepath.Join(other.Path(), "state.json")))
		}},
		{name: "state.json is gone", last: 12, spoil: func(t *testing.T, d *rundir.Dir) { remove(t, filepath.Join(d.Path(), "state.json")) }},
		{name: "the last line is torn", last: 11, spoil: func(t *testing.T, d *rundir.Dir) {
			b := read(t, logFile(d))
			write(t, logFile(d), b[:len(b)-len(all[11])/2])
		}},
		{name: "the last line is torn and there is no seal", last: 11, spoil: func(t *testing.T, d *rundir.Dir) {
			b := read(t, logFile(d))
			write(t, logFile(d), b[:len(b)-len(all[11])/2])
			remove(t, sealOf(logFile(d)))
		}},
		{name: "an event is forged that cannot follow", last: 12, aside: "kim looked at it", spoil: func(t *testing.T, d *rundir.Dir) {
			add(t, logFile(d), strings.Replace(forgery, "evt-000009", "evt-000013", 1))
		}},
		{name: "a line that is no event", last: 12, aside: "tidy", spoil: func(t *testing.T, d *rundir.Dir) { add(t, logFile(d), "tidy\n") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDir(t)
			record(t, d, between(0, 11))
			if tc.spoil != nil {
				tc.spoil(t, d)
			}
			for range 2 {
				s, err := d.Repair()
				if err != nil || s.Seq != tc.last {
					t.Fatalf("%+v, %v", s, err)
				}
				if got := read(t, logFile(d)); !bytes.Equal(got, bytes.Join(all[:tc.last], nil)) {
					t.Errorf("the log is\n%s", got)
				}
				if state, err := d.State(); err != nil || *state.LastEventID != run.EventID(tc.last) || state.PendingApprovalID != s.State.PendingApprovalID {
					t.Errorf("state %+v, %v", state, err)
				}
			}
			if got := set(t, d); !bytes.Contains(got, []byte(tc.aside)) || (len(got) > 0) != (tc.aside != "") {
				t.Errorf("set aside %q", got)
			}
		})
	}
}

func TestRepairOfWhatNobodyCanVouchFor(t *testing.T) {
	d := newDir(t)
	record(t, d, between(0, 11))
	spoiled := bytes.Replace(read(t, logFile(d)), []byte(`"evt-000004"`), []byte(`"evt-000044"`), 1)
	write(t, logFile(d), spoiled)
	if s, err := d.Repair(); err == nil {
		t.Errorf("repaired as %+v", s)
	}
	if !bytes.Equal(read(t, logFile(d)), spoiled) {
		t.Error("the log was changed")
	}
	empty := newDir(t)
	if _, err := empty.Repair(); err == nil {
		t.Error("a directory that is not there was repaired")
	}
	if _, err := os.Stat(empty.Path()); err == nil {
		t.Error("a directory was made")
	}
}

// Temporary files of writers that were killed go with the next write into their
// directory, those of the living and those of others stay.
func TestTemporaryFilesOfTheDeadAreSwept(t *testing.T) {
	d := newDir(t)
	record(t, d, between(0, 3))
	if _, err := d.Keep("plan/iter-0001.md", []byte("plan")); err != nil {
		t.Fatal(err)
	}
	temp := func(base string) string { return "." + base + "." + uuid.NewString() + ".tmp" }
	dead := []string{temp("state.json"), filepath.Join("artifacts", "plan", temp("iter-0001.raw.txt"))}
	living, young, foreign := temp("run.json"), temp("run.json"), ".theirs.tmp"
	old := time.Now().Add(-time.Minute)
	for _, name := range append([]string{living, young, foreign}, dead...) {
		write(t, filepath.Join(d.Path(), name), []byte("half"))
		if name != young {
			if err := os.Chtimes(filepath.Join(d.Path(), name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	f, err := os.Open(filepath.Join(d.Path(), living))
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	record(t, d, between(0, 4))
	there := func(name string) bool { _, err := os.Lstat(filepath.Join(d.Path(), name)); return err == nil }
	if there(dead[0]) || !there(living) || !there(young) || !there(foreign) {
		t.Errorf("dead %v, living %v, young %v, foreign %v", there(dead[0]), there(living), there(young), there(foreign))
	}
	d.Sweep()
	if there(dead[1]) || !there(living) || !there(young) || !there(foreign) {
		t.Errorf("dead %v, living %v, young %v, foreign %v", there(dead[1]), there(living), there(young), there(foreign))
	}
}

// Finding D5: why a patch passed the gate, and how the run ended, is in a log.
func TestGateAndEndAreLogged(t *testing.T) {
	for _, tc := range []struct {
		policy run.Policy
		want   string
	}{
		{run.Never, `[INFO] PATCH_APPLIED {"policy":"never","risks":["deletes a file"],"patch":"d1"`},
		{run.Risky, `[INFO] PATCH_APPLIED {"policy":"risky","approvalId":"apr-1-`},
	} {
		t.Run(string(tc.policy), func(t *testing.T) {
			d := newDir(t)
			zero := 0
			s := run.New(run.Input{RunID: "told", Policy: tc.policy, MaxFix: &zero})
			add := func(p run.Payload) {
				e := s.Event(noon.Add(time.Duration(s.Seq)*time.Second), p)
				if err := s.Apply(e); err != nil {
					t.Fatal(err)
				}
				record(t, d, rundir.Entry{Events: []run.Event{e}, State: s.State})
			}
			add(run.RunCreated{Input: s.Input, Format: run.Format})
			add(run.PhaseStarted{Role: run.Planner})
			add(run.PhaseCompleted{Result: run.Planned})
			add(run.PhaseStarted{Role: run.Developer})
			add(run.PatchProduced{Proposal: run.Proposal{Patch: run.Ref{Digest: "d1"}, Base: "b0", Risks: []string{"deletes a file"}}})
			if tc.policy == run.Risky {
				add(s.NewApproval())
				add(run.ApprovalGranted{ApprovalID: s.State.PendingApprovalID})
			}
			add(run.PatchApplied{Patch: "d1", Base: "b0", Commit: "c1"})
			add(run.PhaseCompleted{Result: run.Patched})
			add(run.PhaseStarted{Role: run.Evaluator})
			add(run.EvaluationFailedFixable{})
			add(run.PhaseCompleted{Result: run.Fixable})
			add(run.RunFailed{Error: s.Problem})
			if gate := string(read(t, filepath.Join(d.Path(), "logs", "gatekeeper.log"))); !strings.Contains(gate, tc.want) || !strings.Contains(gate, `"risks":["deletes a file"]`) {
				t.Errorf("the gate's log is\n%s", gate)
			}
			if end := string(read(t, filepath.Join(d.Path(), "logs", "run.log"))); !strings.Contains(end, "[ERROR] RUN_FAILED") || !strings.Contains(end, "FIX_LIMIT") {
				t.Errorf("the run's log is\n%s", end)
			}
		})
	}
}

// A pipe in the place of a log, a snapshot or an artifact holds nobody up.
func TestPipesHoldNobodyUp(t *testing.T) {
	d := newDir(t)
	record(t, d, between(0, 11))
	for _, name := range []string{"state.json", "run.json", "events.seal", "logs/gatekeeper.log", "artifacts/ask/iter-0001.md"} {
		file := filepath.Join(d.Path(), name)
		remove(t, file)
		if err := unix.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Repair(); err != nil {
		t.Error(err)
	}
	record(t, d, whole())
	wantWhole(t, d)
}

// A record in a format that this build does not read is refused as it is: repairing it would set the whole run aside.
func TestARecordOfAnotherFormatIsLeftAlone(t *testing.T) {
	d := newDir(t)
	record(t, d, between(0, 5))
	log := filepath.Join(d.Path(), "events.ndjson")
	old := bytes.Replace(read(t, log), []byte(`"rules":3`), []byte(`"rules":2`), 1)
	if err := os.WriteFile(log, old, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (*run.Snapshot, error){"rebuild": d.Rebuild, "repair": d.Repair} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "the run was recorded in format 2") {
			t.Errorf("%s: got %v, want a refusal of format 2", name, err)
		}
	}
	if got := read(t, log); !bytes.Equal(got, old) {
		t.Errorf("the record is now\n%s\nwant\n%s", got, old)
	}
}
