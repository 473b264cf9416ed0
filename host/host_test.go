package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

func TestAHostWithoutARegistryServesNoDispatches(t *testing.T) {
	var warned []error
	h, err := host.Open(t.Context(), host.Config{RunsDir: t.TempDir(), Sandbox: run.SandboxOff, Warn: func(err error) { warned = append(warned, err) }})
	check(t, err)
	if h.Dispatch != nil || len(warned) != 2 || !strings.Contains(warned[1].Error(), "messages to sessions are not served: the registry of sessions is missing") {
		t.Errorf("got dispatches %v and warnings %v, want none and a second warning about the registry", h.Dispatch, warned)
	}
}

func TestAHostNamesTheSecretsThatItDoesNotRedact(t *testing.T) {
	var warned strings.Builder
	_, err := host.Open(t.Context(), host.Config{
		RunsDir: t.TempDir(), Environ: []string{"SHORT_TOKEN=abc", "LONG_TOKEN=tok-0a1b2c", "WORD_TOKEN=password", "HOME=" + t.TempDir()}, Warn: func(err error) { fmt.Fprintln(&warned, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := warned.String(); !strings.Contains(text, "the values of SHORT_TOKEN have fewer than 8 characters") || !strings.Contains(text, "the values of WORD_TOKEN are ordinary words") || strings.Contains(text, "LONG_TOKEN") || strings.Contains(text, "abc") {
		t.Errorf("warned of %q", text)
	}
}

func TestAHostOpensTheProvidersOfASpec(t *testing.T) {
	const secret = "s3cret-of-the-worker"
	answers := t.TempDir()
	check(t, os.WriteFile(filepath.Join(answers, "plan-1.md"), []byte("# Plan\n\n- "+secret+"\n"), 0o600))
	h, err := host.Open(t.Context(), host.Config{RunsDir: t.TempDir(), Environ: []string{"A_KEY=other", "MODEL_KEY=" + secret}})
	check(t, err)
	input := run.Input{
		RunID: "r1", Goal: "append a line", Policy: run.Never, Checks: []string{"true"}, NoBaseline: true,
		Repository: newRepository(t),
		Providers:  run.Providers{Planner: "replay:" + answers, Developer: "replay:" + answers, Fixer: "replay:" + answers},
	}
	c := activities.Call{
		Header: activities.Header{RunID: input.RunID, Repository: input.Repository, Entry: planStarted(t, input)},
		Phase:  run.Plan, Iteration: 1, Number: 1, Provider: input.Providers.Planner, Timeout: time.Minute, Head: input.Repository.Base,
	}
	if out, err := tryPerform[activities.PlanResult](t, h.Activities, h.Activities.Plan, c); err != nil || out.Summary != "[redacted:MODEL_KEY]" {
		t.Errorf("%+v, %v", out, err)
	}
	c.Number, c.Provider = 2, "nonsense:x"
	if _, err := tryPerform[activities.PlanResult](t, h.Activities, h.Activities.Plan, c); err == nil {
		t.Error("an unknown kind of provider is taken")
	}
}

// newRepository makes a repository with an empty commit.
func newRepository(t *testing.T) run.Repository {
	t.Helper()
	r := run.Repository{Path: t.TempDir()}
	git := func(args ...string) string { return gittest.Run(t, r.Path, args...) }
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "first")
	r.Base = run.Commit(git("rev-parse", "HEAD"))
	return r
}

// planStarted returns the record of a run up to the start of its plan.
func planStarted(t *testing.T, in run.Input) rundir.Entry {
	t.Helper()
	s := run.New(in)
	var e rundir.Entry
	for _, p := range []run.Payload{run.RunCreated{Input: in, Format: run.Format}, run.PhaseStarted{Role: run.Planner}} {
		event := s.Event(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), p)
		check(t, s.Apply(event))
		e.Events = append(e.Events, event)
	}
	e.State, e.Standing = s.State, rundir.StandingOf(s)
	return e
}
