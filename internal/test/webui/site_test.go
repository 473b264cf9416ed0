package webui_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/engine"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor" // checks run under the test binary
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// fixture is an engine, a review page that serves its Web UI, a worker in this process, and a repository with one file,
// greet.go.
type fixture struct {
	t      *testing.T
	ui     string // URL of the Web UI
	page   *review.Server
	client client.Client
	runs   string // the runs directory
	repo   string
	base   run.Commit
}

func newFixture(t *testing.T, greet string, environ ...string) *fixture {
	t.Helper()
	dir := t.TempDir()
	s := &fixture{t: t, repo: filepath.Join(dir, "greeter")}
	e, err := engine.Start(t.Context(), engine.Options{DB: filepath.Join(dir, "engine.db"), Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			t.Log(err)
		}
	})
	own := temporalclient.Options{Engine: e.Address, Key: e.Key, API: e.API}
	s.client, err = temporalclient.Dial(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	s.runs = filepath.Join(dir, "runs")
	s.servePage(own)
	s.work(s.runs, environ...)
	s.makeRepository(greet)
	return s
}

// servePage serves the review page, and behind its login the Web UI.
func (s *fixture) servePage(own temporalclient.Options) {
	s.t.Helper()
	target, err := temporalclient.Resolve(own)
	if err == nil {
		s.page, err = review.Start(review.Config{Address: "127.0.0.1:0", WebUI: target.WebUI()}, runs.New(s.client, temporalclient.TaskQueue), review.NewDisk(s.runs))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.page.Stop)
	s.ui = s.page.URL + review.UIPath
}

// login returns a link that opens a page of the Web UI once.
func (s *fixture) login(page string) string {
	return s.page.Place().LoginOwner("kim", review.UIPath+page, time.Now())
}

func (s *fixture) work(runsDir string, environ ...string) {
	s.t.Helper()
	h, err := host.Open(s.t.Context(), host.Config{RunsDir: runsDir, Environ: append(os.Environ(), environ...), Sandbox: run.SandboxOff})
	if err == nil {
		err = temporalclient.EnsureSearchAttributes(s.t.Context(), s.client, client.DefaultNamespace)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	w := worker.New(s.client, temporalclient.TaskQueue, temporalclient.WorkerOptions("webui-test"))
	workflows.Register(w, h.Activities)
	if err := w.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(w.Stop)
}

func (s *fixture) makeRepository(greet string) {
	s.t.Helper()
	s.git("init", "-q", "-b", "main", s.repo)
	if err := os.WriteFile(filepath.Join(s.repo, "greet.go"), []byte(greet), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.git("-C", s.repo, "add", ".")
	s.git("-C", s.repo, "commit", "-q", "-m", "first")
	s.base = run.Commit(s.git("-C", s.repo, "rev-parse", "HEAD"))
}

func (s *fixture) git(args ...string) string {
	s.t.Helper()
	return gittest.Run(s.t, "", args...)
}

// replay keeps recorded answers and names the provider that gives them.
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

// input is a run that needs approval of each patch.
func (s *fixture) input(goal, provider string, checks ...string) run.Input {
	s.t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		s.t.Fatal(err)
	}
	return run.Input{
		RunID: run.ID(id.String()), Goal: goal, Policy: run.Always, Sandbox: run.SandboxOff, Checks: checks,
		Repository: run.Repository{Path: s.repo, Base: s.base},
		Providers:  run.Providers{Planner: provider, Developer: provider, Fixer: provider, Dir: s.repo},
	}
}

// begin starts the run and returns the URL of its page.
func (s *fixture) begin(in run.Input) string {
	s.t.Helper()
	c := runs.New(s.client, temporalclient.TaskQueue)
	if err := c.Start(s.t.Context(), in); err != nil {
		s.t.Fatal(err)
	}
	d, err := temporalclient.Describe(s.t.Context(), s.client, in.RunID.WorkflowID(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	return s.ui + "/namespaces/default/workflows/" + in.RunID.WorkflowID() + "/" + d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

func (s *fixture) state(id run.ID) run.State {
	s.t.Helper()
	var st run.State
	var err error
	awaitOr(s.t, "a worker answers, which may be busy", func() string { return err.Error() }, func() bool {
		var v converter.EncodedValue
		if v, err = s.client.QueryWorkflow(s.t.Context(), id.WorkflowID(), "", workflows.StateQuery); err == nil {
			err = v.Get(&st)
		}
		return err == nil
	})
	return st
}
