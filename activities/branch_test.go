package activities_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// entry is the record of a run from its beginning to what the payloads lead to.
func (s *fixture) entry(payloads ...run.Payload) rundir.Entry {
	s.t.Helper()
	snapshot := run.New(s.input())
	e := rundir.Entry{}
	for _, p := range append([]run.Payload{run.RunCreated{Input: snapshot.Input, Format: run.Format}}, payloads...) {
		event := snapshot.Event(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), p)
		if err := snapshot.Apply(event); err != nil {
			s.t.Fatal(err)
		}
		e.Events = append(e.Events, event)
	}
	e.State, e.Standing = snapshot.State, rundir.StandingOf(snapshot)
	return e
}

// The beginning of a run, to its proposal.
func proposed(p *run.Proposal) []run.Payload {
	return []run.Payload{
		run.PhaseStarted{Role: run.Planner}, run.PhaseCompleted{Result: run.Planned},
		run.PhaseStarted{Role: run.Developer}, run.PatchProduced{Proposal: *p},
	}
}

// strayed makes a commit that nobody approved, and puts the branch there.
func (s *fixture) strayed() string {
	s.t.Helper()
	stray := s.git("commit-tree", "-p", string(s.base), "-m", "tidy", string(s.base)+"^{tree}")
	s.git("update-ref", "refs/heads/ratchet/r1", stray)
	return stray
}

// checking is the check of a run whose developer had nothing to change, and of
// its record.
func (s *fixture) checking(commands ...string) activities.CheckInput {
	place := s.place()
	place.Entry = s.upTo(run.Evaluate)
	return activities.CheckInput{Header: place, Iteration: 1, Commit: s.base, Commands: commands, Timeout: time.Minute}
}

// A step that finds its branch moved ends in the error about which a person is asked, and leaves the branch.
func TestABranchThatWasMovedIsAskedAbout(t *testing.T) {
	const id = "-c user.name=x -c user.email=x@localhost"
	commit := "$(git -C REPO " + id + " commit-tree -m x -p ratchet/r1 ratchet/r1^{tree})"
	for name, tt := range map[string]struct {
		before func(s *fixture)
		act    func(s *fixture) error
		says   string // empty: it is not moved
	}{
		"before a patch is applied": {func(s *fixture) { s.strayed() }, func(s *fixture) error { return s.applyPatch() }, "it was moved"},
		"before the checks":         {func(s *fixture) { s.strayed() }, func(s *fixture) error { return s.runCheck("true") }, "it was moved"},
		"by a check":                {nil, func(s *fixture) error { return s.runCheck("git -C REPO update-ref refs/heads/ratchet/r1 " + commit) }, "it was moved"},
		"by a check that fails":     {nil, func(s *fixture) error { return s.runCheck("git -C REPO update-ref -d refs/heads/ratchet/r1; false") }, "it was missing"},
		"by a check, to a name of main": {nil, func(s *fixture) error {
			return s.runCheck("git -C REPO symbolic-ref refs/heads/ratchet/r1 refs/heads/main")
		}, "another name of refs/heads/main"},
		"by a check of the base": {nil, func(s *fixture) error { return s.runBaseCheck("git -C REPO update-ref -d refs/heads/ratchet/r1") }, "it was missing"},
		"a check commits where it runs": {nil, func(s *fixture) error {
			return s.runCheck("echo backdoor >backdoor; git add -A; git " + id + " commit -qm tidy")
		}, ""},
		"a check leaves an alias, a hook": {nil, func(s *fixture) error {
			return s.runCheck("git -C REPO config alias.merge false; printf '#!/bin/sh\\nfalse' >REPO/.git/hooks/post-merge")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			if tt.before != nil {
				tt.before(s)
			}
			err := tt.act(s)
			if tt.says == "" {
				if err != nil || s.tip() != string(s.base) {
					t.Errorf("got %v, the branch at %s", err, s.tip())
				}
				return
			}
			app, ok := errors.AsType[*temporal.ApplicationError](err)
			if !ok || app.Type() != activities.RepositoryError || !app.NonRetryable() || !strings.Contains(app.Message(), tt.says) || !strings.Contains(app.Message(), string(s.base)) {
				t.Errorf("got %v, want %s that says %q", err, activities.RepositoryError, tt.says)
			}
			if at, err := exec.Command("git", "-C", s.repo, "rev-parse", "-q", "--verify", "refs/heads/ratchet/r1").Output(); err == nil && strings.TrimSpace(string(at)) == string(s.base) && !strings.Contains(tt.says, "main") {
				t.Error("the branch was put back")
			}
		})
	}
}

func (s *fixture) runCheck(script string) error {
	_, err := do[activities.Judgement](s, s.acts.Check, s.checking(strings.ReplaceAll(script, "REPO", s.repo)))
	return err
}

func (s *fixture) runBaseCheck(script string) error {
	in := s.checking(strings.ReplaceAll(script, "REPO", s.repo))
	in.Baseline = true
	_, err := do[activities.Judgement](s, s.acts.Check, in)
	return err
}

func (s *fixture) applyPatch() error {
	p := s.propose(patching(appending)).Proposal
	in := s.applying(p)
	in.Entry = s.entry(proposed(p)...)
	_, err := do[activities.ApplyResult](s, s.acts.Apply, in)
	return err
}

// At the end it is told where the branch stands: what is printed to merge is a commit.
func TestCheckBranch(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	in := activities.BranchInput{Header: s.place(), Head: s.base}
	in.Entry = s.entry(run.PhaseStarted{Role: run.Planner}, run.PhaseCompleted{Result: run.Planned}, run.PhaseStarted{Role: run.Developer},
		run.PhaseCompleted{Result: run.Noop}, run.PhaseStarted{Role: run.Evaluator}, run.EvaluationPassed{}, run.PhaseCompleted{Result: run.Pass})
	if out := must[activities.BranchResult](s, s.acts.CheckBranch, in); out.Moved != "" {
		t.Errorf("got %q for a branch in place", out.Moved)
	}
	stray := s.strayed()
	if out := must[activities.BranchResult](s, s.acts.CheckBranch, in); !strings.Contains(out.Moved, stray) || s.tip() != stray {
		t.Errorf("got %q, the branch at %s, want that it is at %s and stays there", out.Moved, s.tip(), stray)
	}
}

// Finding B14. What the repository lacks is no error to try again.
func TestAnActivityThatMissesAnObjectIsNotTriedAgain(t *testing.T) {
	for name, act := range map[string]func(s *fixture) error{
		"Plan": func(s *fixture) error {
			s.provider.says("a plan")
			_, err := do[activities.PlanResult](s, s.acts.Plan, s.call(run.Plan))
			return err
		},
		"Propose": func(s *fixture) error {
			s.provider.says(patching(appending))
			_, err := do[activities.ProposeResult](s, s.acts.Propose, s.call(run.Execute))
			return err
		},
		"Check": func(s *fixture) error {
			_, err := do[activities.Judgement](s, s.acts.Check, s.checking("true"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			id := s.git("rev-parse", "HEAD:log.txt")
			if err := os.Remove(filepath.Join(s.repo, ".git", "objects", id[:2], id[2:])); err != nil {
				t.Fatal(err)
			}
			app, ok := errors.AsType[*temporal.ApplicationError](act(s))
			if !ok || app.Type() != activities.RepositoryError || !app.NonRetryable() {
				t.Errorf("%v, want %s", app, activities.RepositoryError)
			}
			if n := s.provider.calls(); n != 0 {
				t.Errorf("the provider was called %d times", n)
			}
			must[any](s, s.acts.CleanUp, s.place())
		})
	}
}

// A run whose repository is gone ends all the same.
func TestCleanUpWithoutTheRepository(t *testing.T) {
	s := newFixture(t)
	if err := errors.Join(os.MkdirAll(s.runs.Workspace("r1"), 0o700), os.RemoveAll(s.repo)); err != nil {
		t.Fatal(err)
	}
	must[any](s, s.acts.CleanUp, s.place())
	if _, err := os.Lstat(s.runs.Workspace("r1")); !os.IsNotExist(err) {
		t.Errorf("the worktree is left: %v", err)
	}
}
