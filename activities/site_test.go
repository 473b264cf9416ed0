package activities_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

const secret = "s3cret-of-the-worker"

// fixture is a repository, a runs directory and the activities on them.
type fixture struct {
	t        testing.TB
	repo     string
	base     run.Commit
	runs     *rundir.Store
	acts     *activities.Activities
	provider *scriptedProvider
	opened   error             // instead of a provider
	agent    provider.Provider // instead of both, when there is one
	pool     *session.Pool
	engine   engine
	sandbox  run.Sandbox // of run and worker
	branch   string      // of the run; empty: the default
}

var repository gittest.Template

func newFixture(t testing.TB) *fixture { return newFixtureWith(t, "runs") }

// newFixtureWith is newFixture with the runs directory somewhere else, and with changes
// of the configuration; the repository is repo.
func newFixtureWith(t testing.TB, runs string, changes ...func(*activities.Config)) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &fixture{t: t, repo: filepath.Join(dir, "repo"), provider: &scriptedProvider{}, pool: session.NewPool(0)}
	t.Cleanup(func() { s.pool.Stop("") })
	if s.runs, err = rundir.Open(t.Context(), filepath.Join(dir, runs)); err != nil {
		t.Fatal(err)
	}
	repository.Copy(t, s.repo, func(dir string) {
		s := &fixture{t: t, repo: dir}
		s.git("init", "-q", "-b", "main")
		s.write("log.txt", "one\n")
		s.git("add", ".")
		s.git("commit", "-q", "-m", "first")
	})
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
	environ := []string{"MODEL_KEY=" + secret, "LET_THROUGH=yes"}
	config := activities.Config{
		Runs: s.runs, Redact: redact.New(environ), Agents: s.pool, Survey: noAgents, Probe: noProblem,
		Sandbox: activities.Sandbox{Policy: run.SandboxOff},
		Open: func(activities.Opening) (provider.Provider, error) {
			if s.agent != nil {
				return s.agent, nil
			}
			return s.provider, s.opened
		},
		LookupEnv: func(name string) (string, bool) {
			if name == "PATH" {
				return os.LookupEnv("PATH")
			}
			return "yes", name == "LET_THROUGH"
		},
	}
	for _, change := range changes {
		change(&config)
	}
	s.sandbox = config.Sandbox.Policy
	if s.acts, err = activities.New(config); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *fixture) git(args ...string) string {
	s.t.Helper()
	return gittest.Run(s.t, s.repo, args...)
}

func (s *fixture) write(name, content string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.repo, name), []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *fixture) place() activities.Header {
	return activities.Header{RunID: "r1", Repository: run.Repository{Path: s.repo, Base: s.base}, Sandbox: s.sandbox, Branch: s.branch}
}

func (s *fixture) dir() *rundir.Dir { return s.runs.Run("r1") }

// call is a provider call, and brings the events of the run up to it.
func (s *fixture) call(phase run.Phase) activities.Call {
	s.t.Helper()
	place := s.place()
	place.Entry = s.upTo(phase)
	return activities.Call{
		Header: place, Phase: phase, Iteration: 1, Number: 1, Provider: "fake", Timeout: time.Minute, Head: s.base,
	}
}

// input is the input of a run whose checks do not run on the base commit.
func (s *fixture) input() run.Input {
	return run.Input{
		RunID: "r1", Goal: "append a line", Policy: run.Never, Checks: []string{"true"}, NoBaseline: true,
		Repository: s.place().Repository,
		Providers:  run.Providers{Planner: "fake", Developer: "fake", Evaluator: "fake", Fixer: "fake"},
	}
}

// upTo is the record of a run from its beginning to the start of the phase.
func (s *fixture) upTo(phase run.Phase) rundir.Entry {
	s.t.Helper()
	snapshot := run.New(s.input())
	e := rundir.Entry{}
	for _, p := range []run.Payload{
		run.RunCreated{Input: snapshot.Input, Format: run.Format}, run.PhaseStarted{Role: run.Planner},
		run.PhaseCompleted{Result: run.Planned}, run.PhaseStarted{Role: run.Developer},
		run.PhaseCompleted{Result: run.Noop}, run.PhaseStarted{Role: run.Evaluator},
	} {
		event := snapshot.Event(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), p)
		if err := snapshot.Apply(event); err != nil {
			s.t.Fatal(err)
		}
		e.Events = append(e.Events, event)
		if snapshot.Phase() == phase && snapshot.Next.Do == run.Work {
			break
		}
	}
	e.State, e.Standing = snapshot.State, rundir.StandingOf(snapshot)
	return e
}

func (s *fixture) environment() *testsuite.TestActivityEnvironment {
	return s.environmentOf(context.Background())
}

// environmentOf is one whose activities end with ctx.
func (s *fixture) environmentOf(ctx context.Context) *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(temporaltest.Quiet{})
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute)
	told := &told{engine: &s.engine}
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{told, temporaltest.WithClient(told)}})
	env.RegisterActivity(s.acts)
	return env
}

// do runs an activity as a worker does, so that what it takes and gives has
// been through JSON.
func do[Out any](s *fixture, activity, in any) (out Out, err error) {
	s.t.Helper()
	v, err := s.environment().ExecuteActivity(activity, in)
	if err != nil || !v.HasValue() {
		return out, err
	}
	return out, v.Get(&out)
}

// must is do for what may not fail.
func must[Out any](s *fixture, activity, in any) Out {
	s.t.Helper()
	out, err := do[Out](s, activity, in)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s *fixture) prepare() {
	s.t.Helper()
	must[any](s, s.acts.Prepare, s.place())
}

// propose takes the answer through Propose.
func (s *fixture) propose(answer string) activities.ProposeResult {
	s.t.Helper()
	s.provider.says(answer)
	return must[activities.ProposeResult](s, s.acts.Propose, s.call(run.Execute))
}

// size is how many bytes a result takes in history.
func size(t testing.TB, v any) int {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

// scriptedProvider is a provider that works by a script; its last act goes on for ever.
type scriptedProvider struct {
	mu    sync.Mutex
	acts  []func(context.Context, func(provider.Progress)) (provider.Response, error)
	asked []provider.Request
}

func (p *scriptedProvider) Capabilities() provider.Capabilities {
	return provider.Capabilities{Name: "scripted", SupportsPatchFirst: true}
}

func (p *scriptedProvider) Generate(ctx context.Context, req provider.Request, progress func(provider.Progress)) (provider.Response, error) {
	p.mu.Lock()
	p.asked = append(p.asked, req)
	act := p.acts[0]
	p.acts = p.acts[min(1, len(p.acts)-1):]
	p.mu.Unlock()
	return act(ctx, progress)
}

func (p *scriptedProvider) then(act func(context.Context, func(provider.Progress)) (provider.Response, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acts = append(p.acts, act)
}

// responds adds a response. A halt is in it, as in that of any provider.
func (p *scriptedProvider) responds(r provider.Response, err error) {
	if h, ok := provider.HaltOf(err); ok {
		r, err = r.WithHalt(h), nil
	}
	p.then(func(context.Context, func(provider.Progress)) (provider.Response, error) { return r, err })
}

// says adds answers; what was said before is over.
func (p *scriptedProvider) says(answers ...string) {
	p.acts = nil
	for _, a := range answers {
		p.responds(provider.Response{RawText: a, FinishReason: provider.Stop, Usage: &run.Usage{InputTokens: 7, OutputTokens: 3}}, nil)
	}
}

// fails adds a failure that leaves a partial answer.
func (p *scriptedProvider) fails(partial string, e failure.Error) {
	p.responds(provider.FailedResponse(&e, partial, time.Second), &e)
}

func (p *scriptedProvider) calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// Answers of a developer.
func patching(diff string) string {
	return "<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: append a line\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n"
}

func result(fields string) string {
	return "<<<AIO_RESULT_START>>>\n" + fields + "\n<<<AIO_RESULT_END>>>\n"
}

const appending = "--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n one\n+two\n"

func noAgents(context.Context) []agent.Manifest { return nil }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func noProblem(context.Context, activities.Opening) error { return nil }
