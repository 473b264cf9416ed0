package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// soon is far more than a cancellation takes on a busy machine, and far less than what is canceled here would last by
// itself: see daemons.
const soon = 2 * time.Minute

// daemons is a check that will not end, and starts two processes that have
// left it. They last for 300 s and more.
const daemons = `trap '' TERM INT HUP
(setsid sleep 300 &)
sh -c 'sleep 300 & sleep 300 &'
while :; do sleep 300; done`

// TestCanceled cancels runs wherever they stand. Soon nothing of them is left
// but a branch with whole patches and a record that names them.
func TestCanceled(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newFixture(t)
	s.spawn()
	stuck := newScript(run.Never, daemons).patch("execute-1", edit{file: "log.txt", line: "one"})
	asking := newScript(run.Never, "true").ask("execute-1")
	rows := []struct {
		name    string
		script  *script
		seconds float64
		there   func(r *scripted) bool
		off     bool // the baseline
	}{
		{"while the provider answers", variants[0](), 300, func(r *scripted) bool { return len(s.processes(string(r.in.RunID))) > 0 }, true},
		{"while a check ignores signals", stuck, 0, func(r *scripted) bool { return s.sleeping(r) >= 4 }, true},
		{"while a check of the base ignores signals", stuck, 0, func(r *scripted) bool { return s.sleeping(r) >= 4 }, false},
		{"while an approval waits", variants[1](), 0, func(r *scripted) bool { return s.state(r).PendingApprovalID != "" }, false},
		{"while a question waits", asking, 0, func(r *scripted) bool { return s.state(r).PendingQuestionID != "" }, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := s.follow(row.script, row.seconds)
			r.in.NoBaseline = row.off
			s.start(r.in)
			eventually.Holds(t, "the moment", func() bool { return row.there(r) })
			t.Logf("over after %v", s.cancel(t, r).Round(time.Millisecond))
		})
	}
	t.Run("at any moment", func(t *testing.T) {
		size := 16
		if need.Has(need.Nightly) {
			size = 50
		}
		s.cancelMany(t, size)
	})
	s.verifyFixture(t)
}

// cancelMany cancels runs without waits, a few at a time, each after some time.
func (s *fixture) cancelMany(t *testing.T, size int) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	var mu sync.Mutex
	ends := map[run.Status]int{}
	for range size {
		slots <- struct{}{}
		r := s.follow(variants[0](), 0.02)
		s.start(r.in)
		wg.Go(func() {
			defer func() { <-slots }()
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Millisecond) // the moment
			s.cancel(t, r)
			mu.Lock()
			defer mu.Unlock()
			ends[s.state(r).Status]++
		})
	}
	wg.Wait()
	t.Logf("ends: %v", ends)
}

// cancel asks for the end of a run and fails unless it comes soon and whole.
// A run that was over before is as good.
func (s *fixture) cancel(t *testing.T, r *scripted) (took time.Duration) {
	t.Helper()
	began := time.Now()
	id := r.in.RunID
	if err := s.client.CancelWorkflow(t.Context(), id.WorkflowID(), ""); err != nil && s.state(r).Status != run.Completed {
		t.Errorf("cancel %s: %v", id, err)
	}
	err := s.client.GetWorkflow(t.Context(), id.WorkflowID(), "").Get(t.Context(), nil)
	took = time.Since(began)
	state := s.state(r)
	if canceled := temporal.IsCanceledError(err) && state.Status == run.Canceled; !canceled && (err != nil || state.Status != run.Completed) {
		t.Errorf("run %s: %s, %v", id, state.Status, err)
	}
	if took > soon {
		t.Errorf("run %s: the cancellation took %v", id, took)
	}
	if state.PendingApprovalID != "" || state.PendingQuestionID != "" {
		t.Errorf("run %s still waits: %+v", id, state)
	}
	eventually.Within(t, "the end of its processes", soon, func() bool { return len(s.processes(string(id))) == 0 })
	if _, err := os.Lstat(s.runs.Workspace(id)); !os.IsNotExist(err) {
		t.Errorf("run %s: the worktree is left: %v", id, err)
	}
	s.verifyWhole(t, r, s.verifyRecord(t, id))
	return took
}

// verifyWhole fails unless the branch holds the patches that the record says
// are applied, and no other.
func (s *fixture) verifyWhole(t *testing.T, r *scripted, events []run.Event) {
	t.Helper()
	var applied []string
	for _, e := range events {
		if p, ok := e.Payload.(run.PatchApplied); ok {
			applied = append(applied, string(p.Commit))
		}
	}
	var branch []string
	if name := r.in.RunID.Branch(); s.git("-C", s.repo, "branch", "--list", name) != "" {
		branch = strings.Fields(s.git("-C", s.repo, "rev-list", "--reverse", string(s.base)+".."+name))
	}
	if !slices.Equal(applied, branch) {
		t.Errorf("run %s: applied %v, on the branch %v", r.in.RunID, applied, branch)
	}
}

// state is that of the record; the zero State before there is one.
func (s *fixture) state(r *scripted) run.State {
	state, err := s.runs.Run(r.in.RunID).State()
	if err != nil {
		return run.State{}
	}
	return state
}

// sleeping counts the processes of a run that do nothing but sleep.
func (s *fixture) sleeping(r *scripted) (n int) {
	for _, p := range s.processes(string(r.in.RunID)) {
		if strings.Contains(p, " sleep 300") {
			n++
		}
	}
	return n
}

// TestWorkerKilledDuringACheck leaves no process of the check, however it has
// detached itself.
func TestWorkerKilledDuringACheck(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	for name, off := range map[string]bool{"of the base": false, "of a patch": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killDuringACheck(t, off)
		})
	}
}

func killDuringACheck(t *testing.T, noBaseline bool) {
	s := newFixture(t)
	r := s.follow(newScript(run.Never, daemons).patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
	r.in.NoBaseline = noBaseline
	s.start(r.in)
	times := 3
	if need.Has(need.Nightly) {
		times = 20
	}
	for i := range times {
		w := s.spawn()
		eventually.Holds(t, fmt.Sprintf("the check of worker %d", i), func() bool { return s.sleeping(r) >= 4 })
		w.kill()
		eventually.Within(t, "the end of all that it started", soon, func() bool { return len(s.processes(string(r.in.RunID))) == 0 })
	}
	s.spawn()
	eventually.Holds(t, "the last check", func() bool { return s.sleeping(r) >= 4 })
	s.cancel(t, r)
	s.verifyFixture(t)
}

// TestCanceledWhileTheWorkerIsLost cancels runs whose worker was killed. What
// it has begun the next one ends, and the record follows the workflow.
func TestCanceledWhileTheWorkerIsLost(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	rows := []struct {
		name  string
		point string
		want  run.Status
	}{
		{"after it has recorded a new phase", "rundir.after-state=kill@2", run.Canceled},
		{"while it checks", "check.ran=kill", run.Canceled},
		{"while it applies", "workspace.after-update-ref=kill@2", run.Canceled},
		{"while it removes the worktree", "workspace.before-remove=kill", run.Completed},
	}
	s := newFixture(t)
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			there := s.at(fmt.Sprintf("lost-%d", i))
			r := there.follow(variants[0](), 0)
			w := there.launch("RATCHET_FAILPOINTS=" + row.point)
			there.start(r.in)
			<-w.done
			if err := s.client.CancelWorkflow(t.Context(), r.in.RunID.WorkflowID(), ""); err != nil {
				t.Fatal(err)
			}
			w = there.spawn()
			defer w.kill()
			err := s.client.GetWorkflow(t.Context(), r.in.RunID.WorkflowID(), "").Get(t.Context(), nil)
			if canceled := temporal.IsCanceledError(err); canceled != (row.want == run.Canceled) {
				t.Errorf("the run ended with %v", err)
			}
			s.verifyWhole(t, r, s.verifyRecord(t, r.in.RunID))
			if got := s.state(r); got.Status != row.want {
				t.Errorf("state.json says %s", got.Status)
			}
		})
	}
	s.verifyFixture(t)
}
