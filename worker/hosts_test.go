package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/store"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/storetest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// sharedRun is a run on a server's repository whose hosts share a bucket and nothing else.
type sharedRun struct {
	*scripted
	s      *fixture
	origin *gittest.Origin
	url    string // of the repository on its server
	store  string // URL of the bucket
	bucket string // directory of the bucket
}

// storedProbe is the line of providerProgram that tells a stored answer from the disk of the only host; inBucket tells it
// from the bucket.
const (
	storedProbe = `test -e "$2/workflows/$RATCHET_RUN_ID/artifacts/$file.raw.txt" && stored=stored`
	inBucket    = `cat "$2/runs/$RATCHET_RUN_ID"/* 2>/dev/null | zcat | grep -q "\"path\":\"artifacts/$file.raw.txt\"" && stored=stored`
)

// share makes a run that follows the script on a repository with a URL, in a task queue of its own.
func (s *fixture) share(name string, sc *script, seconds float64) *sharedRun {
	s.t.Helper()
	r := &sharedRun{s: s.at(name), origin: s.newOrigin()}
	r.url = r.origin.FileURL()
	r.store, r.bucket = storetest.New(s.t)
	return r.beside(sc, seconds)
}

// beside makes a run on the same repository, bucket and task queue.
func (r *sharedRun) beside(sc *script, seconds float64) *sharedRun {
	s, other := r.s, *r
	r = &other
	r.scripted = s.follow(sc, seconds)
	program := strings.Replace(providerProgram, storedProbe, inBucket, 1)
	s.put(filepath.Join(r.answers, "provider.sh"), program)
	spec := strings.Replace(r.in.Providers.Developer, s.runsDir, r.bucket, 1)
	r.in.Providers = run.Providers{Planner: spec, Developer: spec, Fixer: spec, Dir: s.t.TempDir()}
	r.in.Repository = run.Repository{Path: filepath.Join(s.dir, "of-another-host"), Base: run.Commit(r.origin.Git("rev-parse", "main")), URL: r.url}
	return r
}

// host starts a worker on a host of that name, with a home and a runs directory that no other has.
func (r *sharedRun) host(name string, env ...string) *hostProcess {
	r.s.t.Helper()
	there := *r.s
	dir := filepath.Join(r.s.t.TempDir(), name)
	there.runsDir, there.home, there.host = filepath.Join(dir, "runs"), filepath.Join(dir, "home"), name
	for _, d := range []string{there.runsDir, there.home} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			r.s.t.Fatal(err)
		}
	}
	way := networkTo(r.s.t, there.engine.Address)
	there.writeEngineFile(there.engine.Key)
	if err := engine.WriteFile(there.runsDir, engine.File{Address: way.address, API: there.engine.API}); err != nil {
		r.s.t.Fatal(err)
	}
	return &hostProcess{there.launch(append([]string{"GIT_ALLOW_PROTOCOL=file", store.Variable + "=" + r.store}, env...)...), dir, way}
}

type hostProcess struct {
	*workerProcess
	dir     string
	network *network
}

// burn kills the worker, and removes all that its host had.
func (h *hostProcess) burn(t *testing.T) {
	t.Helper()
	h.kill()
	eventually.Holds(t, "the removal of a host", func() bool { return os.RemoveAll(h.dir) == nil })
}

// await waits for the end of the run. The error says what the engine waits for.
func (r *sharedRun) await(t *testing.T, wr client.WorkflowRun) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	err := wr.Get(ctx, nil)
	if ctx.Err() == nil {
		return err
	}
	d, wrong := temporalclient.Describe(t.Context(), r.s.client, wr.GetID(), "")
	p, _ := query[run.Pending](r.s, r.in.RunID, workflows.PendingQuery)
	return fmt.Errorf("it does not end: %v, %v; pending %v, %+v", err, wrong, d.GetPendingActivities(), p)
}

// record returns the record of the run as a host that has never seen it reads it.
func (r *sharedRun) record(t *testing.T) *rundir.Dir {
	t.Helper()
	dir := t.TempDir()
	b, err := store.Open(t.Context(), r.store, time.Second)
	if err == nil {
		err = rundir.Share(dir, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := rundir.OfRun(dir, r.in.RunID)
	if err != nil {
		t.Fatalf("run %s has no record in the bucket: %v", r.in.RunID, err)
	}
	return d
}

// verify fails unless the run has ended as its script says, with nothing lost and nothing done or asked for twice.
func (r *sharedRun) verify(t *testing.T, what string, kills int) {
	t.Helper()
	if repaid := r.verifyRun(t, what, kills); len(repaid) > 0 {
		t.Errorf("%s: paid again for answers in the bucket: %v", what, repaid)
	}
}

// verifyRun is verify but for the answers that were in the bucket when they were asked for again, which it returns.
func (r *sharedRun) verifyRun(t *testing.T, what string, kills int) (repaid []string) {
	t.Helper()
	s, id := r.s, r.in.RunID
	var res workflows.RunResult
	if err := s.client.GetWorkflow(t.Context(), id.WorkflowID(), "").Get(t.Context(), &res); err != nil {
		t.Errorf("%s: run %s: %v", what, id, err)
		return nil
	}
	if res.Status != run.Completed || res.Commits != r.patches {
		t.Errorf("%s: run %s is %s with %d commits, want %d", what, id, res.Status, res.Commits, r.patches)
	}
	if got := r.origin.Git("rev-list", "--count", "main.."+res.Branch); got != strconv.Itoa(r.patches) {
		t.Errorf("%s: the server has %s commits, want %d", what, got, r.patches)
	}
	for name, lines := range r.files {
		if got, want := r.origin.Git("show", res.Branch+":"+name), strings.Join(lines, "\n"); got != want {
			t.Errorf("%s: %s has %q on the server, want %q", what, name, got, want)
		}
	}
	count, repaid, err := r.calls()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for name := range r.script.answers {
		if n := count[name]; n < 1 || n > 1+kills {
			t.Errorf("%s: %d calls for %s with %d kills", what, n, name, kills)
		}
	}
	dir := r.record(t)
	events, err := dir.Events()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return repaid
	}
	known, err := answer[workflows.EventsResult](s, id, workflows.EventsQuery)
	if err != nil || known.First < 1 || asJSON(t, known.Events) != asJSON(t, events[min(known.First-1, len(events)):]) {
		t.Errorf("%s: the bucket has %d events and the workflow %d, %v", what, len(events), len(known.Events), err)
	}
	if foreign := dir.Foreign(); len(foreign) > 0 {
		t.Errorf("%s: %v were set aside, and nobody but workers wrote", what, foreign)
	}
	return repaid
}

// TestAHostBurns kills a worker at each effect of a run on a server's repository, and removes its host's directory. Another
// host, which has the bucket and the server alone, goes on.
func TestAHostBurns(t *testing.T) {
	need.Suite(t, need.CI)
	need.Program(t, "unshare")
	s := newFixture(t)
	points := []string{
		"store.attended", "store.before-put", "store.put", "call.answered", "call.stored", "apply.planned", "apply.committed",
		"mirror.before-push", "mirror.pushed", "check.ran", "check.kept", "propose.kept", "cleanup.done",
	}
	for _, point := range failpoints(t) {
		if strings.HasPrefix(point, "store.") && !strings.Contains(strings.Join(points, " "), point) {
			t.Errorf("no host burns at %s", point)
		}
	}
	slots := make(chan struct{}, 3)
	var wg sync.WaitGroup
	for i, point := range points {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r := s.share("burnt-"+point, variants[i%2](), 0.2)
			doomed := r.host("alpha", "RATCHET_FAILPOINTS="+point+"=kill")
			stop := r.s.decided(t, []*scripted{r.scripted})
			defer stop()
			wr := r.s.start(r.in)
			<-doomed.done
			doomed.burn(t)
			heir := r.host("beta")
			if err := r.await(t, wr); err != nil {
				t.Errorf("%s: %v: %s", point, err, heir.out)
				return
			}
			r.verify(t, point, 1)
			calls, _, _ := r.calls()
			total := 0
			for _, n := range calls {
				total += n
			}
			if again := total > len(r.script.answers); point == "call.answered" && !again || point == "call.stored" && again { // the first is the control
				t.Errorf("%s: %d calls for %d answers", point, total, len(r.script.answers))
			}
		})
	}
	wg.Wait()
}

// TestAHostBurnsWhileAPersonIsAsked: the patch that was shown is what the other host applies.
func TestAHostBurnsWhileAPersonIsAsked(t *testing.T) {
	need.Suite(t, need.CI)
	need.Program(t, "unshare")
	s := newFixture(t)
	r := s.share("asked", variants[1](), 0)
	first := r.host("alpha")
	wr := r.s.start(r.in)
	eventually.Holds(t, "an approval", func() bool {
		p, err := query[run.Pending](r.s, r.in.RunID, workflows.PendingQuery)
		return err == nil && p.Approval != nil
	})
	first.burn(t)
	r.host("beta")
	stop := r.s.decided(t, []*scripted{r.scripted})
	defer stop()
	if err := r.await(t, wr); err != nil {
		t.Fatal(err)
	}
	r.verify(t, "asked", 0)
}

// TestARunMovesToAnotherHost moves a run that waits for a person from alpha to beta, which took no step before. Then alpha
// burns.
func TestARunMovesToAnotherHost(t *testing.T) {
	need.Suite(t, need.CI)
	need.Program(t, "unshare")
	s := newFixture(t)
	r := s.share("moves", variants[1](), 0)
	first := r.host("alpha")
	there, at := *r, *r.s
	at.queue += "@beta"
	there.s = &at
	heir := there.host("beta")
	<-first.ready
	<-heir.ready
	wr := r.s.start(r.in)
	asked := ""
	waits := func() bool {
		p, err := query[run.Pending](r.s, r.in.RunID, workflows.PendingQuery)
		return err == nil && p.Approval != nil && (asked == "" || p.Approval.ApprovalID == asked)
	}
	eventually.Holds(t, "an approval", waits)
	p, err := answer[run.Pending](r.s, r.in.RunID, workflows.PendingQuery)
	if err != nil {
		t.Fatal(err)
	}
	asked = p.Approval.ApprovalID
	if got := r.s.doneBy(r.in.RunID); got != "alpha" {
		t.Errorf("before the move %q did steps, want alpha alone", got)
	}
	if err := runs.New(r.s.client, r.s.queue).Move(t.Context(), r.in.RunID, at.queue); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the run is on beta", func() bool { return r.s.doneBy(r.in.RunID) == "beta" })
	first.burn(t)
	eventually.Holds(t, "the same approval on beta", waits)
	stop := r.s.decided(t, []*scripted{r.scripted})
	defer stop()
	if err := r.await(t, wr); err != nil {
		t.Fatal(err)
	}
	r.verify(t, "moved", 0)
	if got := r.s.doneBy(r.in.RunID); got != "beta" {
		t.Errorf("after the move %q did steps, want beta alone", got)
	}
}

// TestAHostThatOnlyPaused: another host takes the step, and what the first finishes late is refused.
func TestAHostThatOnlyPaused(t *testing.T) {
	need.Suite(t, need.CI)
	need.Program(t, "unshare")
	s := newFixture(t)
	for _, point := range []string{"call.stored", "apply.committed", "mirror.pushed", "check.ran"} {
		r := s.share("paused-"+point, variants[0](), 0)
		first := r.host("alpha", "RATCHET_FAILPOINTS="+point+"=stop")
		wr := r.s.start(r.in)
		awaitStopped(t, first.cmd.Process.Pid)
		r.host("beta")
		awaitOther(t, r, wr)
		if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if err := r.await(t, wr); err != nil {
			t.Fatal(err)
		}
		r.verify(t, point, 0)
		first.kill()
	}
}

// TestAHostThatPausedInACall: another host makes the call again. The first one ends its own when it wakes, and does not pay
// for the attempts that it was given in its sleep, while its poll was open.
func TestAHostThatPausedInACall(t *testing.T) {
	need.Suite(t, need.CI)
	need.Program(t, "unshare")
	s := newFixture(t)
	r := s.share("paused-in-a-call", newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
	hold, pids := filepath.Join(r.answers, "hold.execute-1"), filepath.Join(r.answers, "pids")
	s.put(hold, "")
	s.put(filepath.Join(r.answers, "provider.sh"), `echo $$ >>"$1/pids"`+"\n"+strings.Replace(providerProgram, storedProbe, inBucket, 1))
	inCalls := func(n int) {
		t.Helper()
		eventually.Holds(t, fmt.Sprintf("%d calls", n), func() bool {
			calls, _, err := r.calls()
			return err == nil && calls["execute-1"] == n
		})
	}
	first := r.host("alpha")
	wr := r.s.start(r.in)
	inCalls(1)
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.host("beta")
	inCalls(2)
	if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the end of the first call", func() bool {
		b, err := os.ReadFile(pids)
		all := strings.Fields(string(b))
		if err != nil || len(all) < 2 {
			return false
		}
		_, err = os.Stat(filepath.Join("/proc", all[len(all)-2]))
		return errors.Is(err, os.ErrNotExist)
	})
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	if err := r.await(t, wr); err != nil {
		t.Fatal(err)
	}
	r.verify(t, "paused in a call", 1)
}

// awaitStopped waits until a process is stopped.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	eventually.Holds(t, "the stop of a worker", func() bool {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		_, rest, _ := strings.Cut(string(b), ") ")
		return errors.Is(err, os.ErrNotExist) || strings.HasPrefix(rest, "T")
	})
}

// awaitOther waits until the engine has given the step to the host beta, or the run is over.
func awaitOther(t *testing.T, r *sharedRun, wr client.WorkflowRun) {
	t.Helper()
	eventually.Holds(t, "another host", func() bool {
		d, err := temporalclient.Describe(t.Context(), r.s.client, wr.GetID(), "")
		return r.hostOfStep(t, wr) == "beta" || err == nil && d.GetWorkflowExecutionInfo().GetCloseTime() != nil
	})
}

// TestTimeToAnotherHost measures the time from the end of a host, in a call, to the same call on another one.
func TestTimeToAnotherHost(t *testing.T) {
	need.Suite(t, need.Nightly)
	s := newFixture(t)
	var took []time.Duration
	for n := range 20 {
		r := s.share("time-"+strconv.Itoa(n), newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}), 0)
		s.put(filepath.Join(r.answers, "hold.execute-1"), "")
		hosts := map[string]*hostProcess{"alpha": r.host("alpha"), "beta": r.host("beta")}
		for _, h := range hosts {
			<-h.ready
		}
		wr := r.s.start(r.in)
		first := ""
		eventually.Holds(t, "the call", func() bool {
			calls, _, err := r.calls()
			first = r.hostOfStep(t, wr)
			return err == nil && calls["execute-1"] == 1 && hosts[first] != nil
		})
		hosts[first].kill()
		began := time.Now()
		eventually.Holds(t, "the call on another host", func() bool {
			calls, _, err := r.calls()
			return err == nil && calls["execute-1"] == 2
		})
		took = append(took, time.Since(began))
		if err := os.Remove(filepath.Join(r.answers, "hold.execute-1")); err != nil {
			t.Fatal(err)
		}
		if err := r.await(t, wr); err != nil {
			t.Fatal(err)
		}
		r.verify(t, "burnt", 1)
		for _, h := range hosts {
			h.kill()
		}
	}
	slices.Sort(took)
	t.Logf("%d hosts burnt: p50 %v, p95 %v, most %v", len(took), took[len(took)/2], took[len(took)*95/100-1], took[len(took)-1])
}

// hostOfStep returns the host that has the run's step; empty: none has.
func (r *sharedRun) hostOfStep(t *testing.T, wr client.WorkflowRun) string {
	t.Helper()
	d, err := temporalclient.Describe(t.Context(), r.s.client, wr.GetID(), "")
	if err != nil || len(d.GetPendingActivities()) == 0 {
		return ""
	}
	_, host, _ := strings.Cut(d.GetPendingActivities()[0].GetLastWorkerIdentity(), "@")
	return host
}
