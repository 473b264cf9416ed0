package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// asWorker makes the test binary the worker itself, so that tests can kill a
// real one.
const asWorker = "RATCHET_TEST_AS_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(asWorker) {
	case "":
		if ledger := os.Getenv(asPi); ledger != "" {
			playPi(ledger)
		}
		if len(os.Args) == 3 && os.Args[1] == asAgent {
			playAgent(os.Args[2])
			os.Exit(0)
		}
		if len(os.Args) == 3 && os.Args[1] == asTalker {
			playTalker(os.Args[2])
			os.Exit(0)
		}
		if len(os.Args) == 4 && os.Args[1] == asApprover {
			playApprover(os.Args[2], run.ID(os.Args[3]))
		}
		code := eventually.RunTests(m, 4)
		temporaltest.StopShared()
		os.Exit(code)
	case resending:
		serveResending()
	case forgetful:
		serveForgetful()
	case faking, repeating:
		serveFaking(os.Getenv(asWorker) == repeating)
	case naive:
		serveWith(addNaiveApply)
	case openingAnyway:
		serveOpening()
	case floored:
		serveWith(addFloor)
	case hasty:
		serveWith(nil, &hastener{})
	default:
		main()
	}
}

// fixture is an engine, a client of it, a runs directory and a repository.
type fixture struct {
	t       testing.TB
	dir     string // all that follows is in it
	db      string
	engine  *engine.Engine
	client  client.Client
	runsDir string
	runs    *rundir.Store
	repo    string
	home    string // of workers: the registry of sessions is in it
	host    string // of workers, if they have one of another name than this
	base    run.Commit
	queue   string
	flaky   bool // the engine is killed too: who is refused tries again

	workers *workers
	sandbox run.Sandbox // of worker and runs; empty means off
	flags   []string    // of workers
	stdin   string      // likewise
}

// workers are the worker processes of a fixture, the dead ones too.
type workers struct {
	mu   sync.Mutex
	list []*workerProcess
}

// newFixture is newOwnFixture on an engine that other tests use at the same time. The test does not kill it or stop it,
// and gives its workflows ids that no other test has.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	s := newSite(t)
	s.engine, s.queue = temporaltest.Shared(t).Engine, temporalclient.TaskQueue+"-"+uuid.NewString()
	s.db = s.engine.DB
	s.writeEngineFile(s.engine.Key)
	s.dial()
	t.Cleanup(s.client.Close)
	return s
}

// newOwnFixture starts an engine for this test alone.
func newOwnFixture(t testing.TB) *fixture {
	t.Helper()
	s := newSite(t)
	s.startEngine(0)
	s.dial()
	t.Cleanup(func() { s.stopEngine() })
	return s
}

// newSite is a fixture without an engine. The repository has one file, log.txt, that is empty.
func newSite(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	s := &fixture{
		t: t, dir: dir, db: filepath.Join(dir, "engine.db"), runsDir: filepath.Join(dir, "runs"),
		repo: filepath.Join(dir, "repo"), home: filepath.Join(dir, "home"), queue: temporalclient.TaskQueue, workers: &workers{},
	}
	var err error
	if s.runs, err = rundir.Open(t.Context(), s.runsDir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.home, 0o700); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q", "-b", "main", s.repo)
	s.put(filepath.Join(s.repo, "log.txt"), "")
	s.git("-C", s.repo, "add", ".")
	s.git("-C", s.repo, "commit", "-q", "-m", "first")
	s.base = run.Commit(s.git("-C", s.repo, "rev-parse", "HEAD"))
	return s
}

// at is the same fixture with a task queue of its own: the workers started there
// serve its runs alone.
func (s *fixture) at(queue string) *fixture {
	there := *s
	there.queue = s.queue + "-" + queue
	return &there
}

func (s *fixture) startEngine(port int) {
	s.t.Helper()
	var e *engine.Engine
	var err error
	eventually.Holds(s.t, "the port is free", func() bool { // the other end of a connection may have it for a moment
		e, err = engine.Start(s.t.Context(), engine.Options{DB: s.db, Port: port, Progress: func(line string) { s.t.Log(line) }})
		return err == nil || !strings.Contains(err.Error(), "is taken")
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.engine = e
	s.writeEngineFile(e.Key)
}

func (s *fixture) dial() {
	s.t.Helper()
	c, err := temporalclient.Dial(s.t.Context(), temporalclient.Options{Engine: s.engine.Address, Key: s.engine.Key, Timeout: time.Minute})
	if err != nil {
		s.t.Fatal(err)
	}
	s.client = c
	if err := temporalclient.EnsureSearchAttributes(s.t.Context(), c, "default"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *fixture) stopEngine() {
	s.client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.engine.Stop(ctx); err != nil {
		s.t.Logf("stop the engine: %v", err)
	}
}

func (s *fixture) git(args ...string) string {
	s.t.Helper()
	return gittest.Run(s.t, "", args...)
}

func (s *fixture) put(path, content string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// workerProcess is one worker.
type workerProcess struct {
	cmd *exec.Cmd
	out *captured.Output // for the message of a failure

	ready chan struct{} // closed when it serves
	done  chan struct{} // closed when it has ended
}

// spawn starts a worker process and waits until it serves, or was killed at a failpoint.
func (s *fixture) spawn(env ...string) *workerProcess {
	s.t.Helper()
	w := s.launch(env...)
	select {
	case <-w.ready:
	case <-w.done:
		if w.cmd.ProcessState.Exited() {
			s.t.Fatalf("a worker has ended by itself: %s", w.out)
		}
	case <-time.After(5 * time.Minute):
		s.t.Errorf("a worker is not ready: %s", w.out)
	}
	return w
}

// launch starts a worker process and does not wait for it.
func (s *fixture) launch(env ...string) *workerProcess {
	s.t.Helper()
	w := &workerProcess{
		cmd: exec.Command(os.Args[0], append([]string{"-sandbox", string(cmp.Or(s.sandbox, run.SandboxOff)), "-runs-dir", s.runsDir, "-task-queue", s.queue}, s.flags...)...),
		out: &captured.Output{}, ready: make(chan struct{}), done: make(chan struct{}),
	}
	if s.host != "" { // unshare and the shell become the worker
		named := []string{"--uts", "sh", "-c", `echo "$0" >/proc/sys/kernel/hostname && exec "$@"`, s.host}
		w.cmd = exec.Command("unshare", append(named, w.cmd.Args...)...)
	}
	w.cmd.Env = append(os.Environ(), append([]string{asWorker + "=1", "TEMPORAL_ADDRESS=", "HOME=" + s.home}, env...)...)
	w.cmd.Stderr, w.cmd.Stdin = w.out, strings.NewReader(s.stdin)
	stdout, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	go w.watch(stdout)
	s.t.Cleanup(w.kill)
	s.workers.mu.Lock()
	defer s.workers.mu.Unlock()
	s.workers.list = append(s.workers.list, w)
	return w
}

func (w *workerProcess) watch(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		fmt.Fprintln(w.out, lines.Text())
		if strings.HasPrefix(lines.Text(), "serving ") {
			close(w.ready)
		}
	}
	_ = w.cmd.Wait()
	close(w.done)
}

// pids are the workers that were started here and live.
func (s *fixture) pids() []int {
	s.workers.mu.Lock()
	defer s.workers.mu.Unlock()
	var pids []int
	for _, w := range s.workers.list {
		if !w.dead() {
			pids = append(pids, w.cmd.Process.Pid)
		}
	}
	return pids
}

// kill is SIGKILL: the worker cleans nothing up.
func (w *workerProcess) kill() {
	_ = w.cmd.Process.Kill()
	<-w.done
}

func (w *workerProcess) dead() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// input is a run without approvals whose check is true.
func (s *fixture) input(provider string) run.Input {
	id, err := uuid.NewV7()
	if err != nil {
		s.t.Fatal(err)
	}
	return run.Input{
		RunID: run.ID(id.String()), Goal: "append a line", Policy: run.Never, Sandbox: cmp.Or(s.sandbox, run.SandboxOff), Checks: []string{"true"},
		Repository: run.Repository{Path: s.repo, Base: s.base},
		Providers:  run.Providers{Planner: provider, Developer: provider, Fixer: provider, Dir: s.repo},
	}
}

func (s *fixture) start(in run.Input) client.WorkflowRun {
	s.t.Helper()
	wr, err := s.begin(s.t.Context(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return wr
}

// begin starts a run; one that has begun is as good.
func (s *fixture) begin(ctx context.Context, in run.Input) (client.WorkflowRun, error) {
	return s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: in.RunID.WorkflowID(), TaskQueue: s.queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, workflows.Run, workflows.RunInput{Input: &in})
}

func query[T any](s *fixture, id run.ID, name string, args ...any) (out T, err error) {
	v, err := s.client.QueryWorkflow(s.t.Context(), id.WorkflowID(), "", name, args...)
	if err == nil {
		err = v.Get(&out)
	}
	return out, err
}

// answer is query for a run that has a worker, which may be busy.
func answer[T any](s *fixture, id run.ID, name string) (out T, err error) {
	err = s.patiently(s.t.Context(), func() (err error) {
		out, err = query[T](s, id, name)
		return err
	})
	return out, err
}

// replay writes recorded answers and returns the provider that gives them.
func (s *fixture) replay(answers map[string]string) string {
	s.t.Helper()
	dir := s.t.TempDir()
	for name, text := range answers {
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return "replay:" + dir
}

const planText = "# Plan\n\n- [ ] append a line to log.txt\n"

// appending is the answer that adds a line to the end of log.txt, whose last
// line is given; with none the file is empty.
func appending(last, line string) string {
	hunk := "@@ -0,0 +1 @@\n+" + line
	if last != "" {
		hunk = fmt.Sprintf("@@ -1 +1,2 @@\n %s\n+%s", last, line)
	}
	return fmt.Sprintf("<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: append %s\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\ndiff --git a/log.txt b/log.txt\n--- a/log.txt\n+++ b/log.txt\n%s\n[PATCH_END]\n", line, hunk)
}
