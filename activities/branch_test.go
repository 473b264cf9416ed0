package activities_test

import (
	"errors"
	"os"
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

// branchLog is what the run's log of its branch says.
func (s *fixture) branchLog() string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir().Path(), "logs", "branch.log"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(b)
}

// Finding B1. Before a patch is applied the branch is put back to the head that
// the events name; a worker that comes late moves nothing.
func TestApplyPutsTheBranchBack(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	p := s.propose(patching(appending)).Proposal
	in := s.applying(p)
	in.Entry = s.entry(proposed(p)...)
	stray := s.strayed()
	out := must[activities.ApplyResult](s, s.acts.Apply, in)
	if out.Refusal != nil || out.Restored == nil || string(out.Restored.From) != stray || out.Restored.To != s.base {
		t.Fatalf("%+v, restored %+v; want from %s", out, out.Restored, stray)
	}
	if s.tip() != string(out.Commit) || s.git("rev-parse", "ratchet/r1^") != string(s.base) {
		t.Errorf("tip %s", s.tip())
	}
	if log := s.branchLog(); !strings.Contains(log, stray) || strings.Count(log, "\n") != 1 {
		t.Errorf("log %q", log)
	}

	late := in
	in.Entry = s.entry(append(proposed(p), run.PatchApplied{Patch: p.Patch.Digest, Commit: out.Commit})...)
	must[any](s, s.acts.Record, in.Header)
	further := s.git("commit-tree", "-p", string(out.Commit), "-m", "the next patch", string(out.Commit)+"^{tree}")
	s.git("update-ref", "refs/heads/ratchet/r1", further)
	late.Message = "another subject, and so another commit"
	late.Time = late.Time.Add(time.Second)
	if again := must[activities.ApplyResult](s, s.acts.Apply, late); again.Commit != out.Commit || s.tip() != further {
		t.Errorf("a late attempt: %+v, tip %s; want %s adopted and the branch at %s", again, s.tip(), out.Commit, further)
	}
	s.git("update-ref", "refs/heads/ratchet/r1", stray)
	if again := must[activities.ApplyResult](s, s.acts.Apply, late); again.Refusal == nil || again.Refusal.Code != "CONFLICT" || s.tip() != stray {
		t.Errorf("a late attempt: %+v, tip %s; want a conflict and the branch at %s", again, s.tip(), stray)
	}
}

// checking is the check of a run whose developer had nothing to change, and of
// its record.
func (s *fixture) checking(commands ...string) activities.CheckInput {
	place := s.place()
	place.Entry = s.upTo(run.Evaluate)
	return activities.CheckInput{Header: place, Iteration: 1, Commit: s.base, Commands: commands, Timeout: time.Minute}
}

// Finding B1. A check that moves the branch gets no verdict, whatever it ends in;
// one that only commits in its own work tree moves nothing.
func TestChecksThatMoveTheBranch(t *testing.T) {
	const id = "-c user.name=x -c user.email=x@localhost"
	for _, tc := range []struct {
		name    string
		script  string // REPO is the user's repository
		verdict run.Result
		was     string
	}{
		{"it commits where it runs", "echo backdoor >backdoor; git add -A; git " + id + " commit -qm tidy", run.Pass, ""},
		{"it moves a branch of that name where it runs", "git update-ref refs/heads/ratchet/r1 $(git " + id + " commit-tree -m x HEAD^{tree})", run.Pass, ""},
		{"it commits on the user's branch", "git -C REPO update-ref refs/heads/ratchet/r1 $(git -C REPO " + id + " commit-tree -m x -p ratchet/r1 ratchet/r1^{tree})", run.Blocked, "it was moved"},
		{"it does, and fails", "git -C REPO update-ref -d refs/heads/ratchet/r1; false", run.Blocked, "it was gone"},
		{"it makes the user's branch a name of main", "git -C REPO symbolic-ref refs/heads/ratchet/r1 refs/heads/main", run.Blocked, "another name of refs/heads/main"},
		{"it has git show another commit in its place", "git -C REPO replace ratchet/r1 $(git -C REPO " + id + " commit-tree -m x ratchet/r1^{tree})", run.Pass, ""}, // the base: not the run's
		{"it leaves tags, hooks and configuration", "git -C REPO tag ratchet/r1; git -C REPO config alias.merge '!false'; printf '#!/bin/sh\\nfalse' >REPO/.git/hooks/post-merge", run.Pass, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			j := must[activities.Judgement](s, s.acts.Check, s.checking(strings.ReplaceAll(tc.script, "REPO", s.repo)))
			e := s.evaluation(j)
			if j.Verdict != tc.verdict || (e.Verdict == "ASK") != (tc.verdict == run.Blocked) {
				t.Fatalf("%+v\n%+v", j, e)
			}
			if got := s.git("for-each-ref", "--format=%(objectname) %(symref)", "refs/heads/ratchet/r1"); got != string(s.base) {
				t.Errorf("branch at %q, want %s", got, s.base)
			}
			if tc.was == "" {
				if j.Restored != nil || s.branchLog() != "" {
					t.Errorf("restored %+v, log %q", j.Restored, s.branchLog())
				}
				return
			}
			if j.Restored == nil || e.Restored == nil || !strings.Contains(j.Restored.Was, tc.was) || !j.Again || !strings.Contains(s.branchLog(), tc.was) {
				t.Errorf("restored %+v, again %t, log %q", j.Restored, j.Again, s.branchLog())
			}
			if q := j.Question; q == nil || !strings.Contains(q.Question, tc.was) || !strings.Contains(q.Question, string(j.Restored.From)) {
				t.Errorf("question %+v", q)
			}
		})
	}
}

// What had moved the branch before the checks is told, and no fault of theirs.
func TestABranchThatWasMovedBeforeTheChecks(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	stray := s.strayed()
	j := must[activities.Judgement](s, s.acts.Check, s.checking("true"))
	if j.Verdict != run.Pass || j.Restored == nil || string(j.Restored.From) != stray || s.tip() != string(s.base) {
		t.Errorf("%+v, restored %+v, tip %s", j, j.Restored, s.tip())
	}
}

// A worker that slept through its checks finds the run further on, and leaves the
// branch where it is.
func TestLateChecksMoveNothing(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	in := s.checking("true")
	must[any](s, s.acts.Record, in.Header)
	p := s.place()
	p.Entry = s.entry(run.PhaseStarted{Role: run.Planner}, run.PhaseCompleted{Result: run.Planned}, run.PhaseStarted{Role: run.Developer},
		run.PhaseCompleted{Result: run.Noop}, run.PhaseStarted{Role: run.Evaluator}, run.EvaluationFailedFixable{},
		run.PhaseCompleted{Result: run.Fixable}, run.PhaseStarted{Role: run.Fixer})
	must[any](s, s.acts.Record, p)
	next := s.strayed() // the run's own next commit, as it were
	if j, err := do[activities.Judgement](s, s.acts.Check, in); err == nil || s.tip() != next {
		t.Errorf("%+v, %v, tip %s; want an error and the branch at %s", j, err, s.tip(), next)
	}
}

// Finding B1. A run is completed only with its branch at its head.
func TestCheckBranch(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	in := activities.BranchInput{Header: s.place(), Head: s.base}
	in.Entry = s.entry(run.PhaseStarted{Role: run.Planner}, run.PhaseCompleted{Result: run.Planned}, run.PhaseStarted{Role: run.Developer},
		run.PhaseCompleted{Result: run.Noop}, run.PhaseStarted{Role: run.Evaluator}, run.EvaluationPassed{}, run.PhaseCompleted{Result: run.Pass})
	if out := must[activities.BranchResult](s, s.acts.CheckBranch, in); out.Restored != nil {
		t.Errorf("restored %+v", out.Restored)
	}
	stray := s.strayed()
	out := must[activities.BranchResult](s, s.acts.CheckBranch, in)
	if out.Restored == nil || string(out.Restored.From) != stray || s.tip() != string(s.base) || !strings.Contains(s.branchLog(), stray) {
		t.Errorf("restored %+v, tip %s, log %q", out.Restored, s.tip(), s.branchLog())
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

// A check that forges the record as well, so that the run seems to have gone on,
// changes nothing: what is not sealed does not count.
func TestAForgedRecordDoesNotKeepTheBranchWhereItIs(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	in := s.checking("true")
	last := in.Entry.Events[len(in.Entry.Events)-1]
	forged := `{"id":"` + run.EventID(last.Seq()+1) + `","runId":"r1","ts":"2026-01-02T03:04:06Z","type":"EVALUATION_PASSED","phase":"evaluate","iteration":1,"payload":{"report":{}}}`
	in.Commands = []string{"git -C '" + s.repo + "' update-ref -d refs/heads/ratchet/r1; echo '" + forged + "' >>'" + filepath.Join(s.dir().Path(), "events.ndjson") + "'"}
	j := must[activities.Judgement](s, s.acts.Check, in)
	if j.Verdict != run.Blocked || j.Restored == nil || s.tip() != string(s.base) {
		t.Errorf("%+v, restored %+v", j, j.Restored)
	}
}

// A branch that was moved in a work tree of the user's stays there. After the checks a person is told at once. The steps
// that must have the branch in place are tried again until the work tree has another one.
func TestAMovedBranchThatIsCheckedOut(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	s.git("worktree", "add", "-q", filepath.Join(t.TempDir(), "mine"), "ratchet/r1")
	stray := s.strayed()
	in := s.checking("true")
	if j, err := do[activities.Judgement](s, s.acts.Check, in); err == nil || !strings.Contains(err.Error(), "switch that work tree") || s.tip() != stray {
		t.Errorf("before the checks: %+v, %v, tip %s", j, err, s.tip())
	}
	s.git("update-ref", "refs/heads/ratchet/r1", string(s.base))
	in.Commands = []string{"git -C '" + s.repo + "' update-ref refs/heads/ratchet/r1 " + stray}
	j := must[activities.Judgement](s, s.acts.Check, in)
	if j.Verdict != run.Blocked || j.Restored != nil || !j.Again || !strings.Contains(j.Question.Question, "checked out") || s.tip() != stray {
		t.Errorf("after the checks: %+v, question %+v, tip %s", j, j.Question, s.tip())
	}
	end := activities.BranchInput{Header: s.place(), Head: s.base}
	end.Entry = s.entry(run.PhaseStarted{Role: run.Planner}, run.PhaseCompleted{Result: run.Planned}, run.PhaseStarted{Role: run.Developer},
		run.PhaseCompleted{Result: run.Noop}, run.PhaseStarted{Role: run.Evaluator}, run.EvaluationPassed{}, run.PhaseCompleted{Result: run.Pass})
	_, err := do[activities.BranchResult](s, s.acts.CheckBranch, end)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); err == nil || ok && app.NonRetryable() || s.tip() != stray {
		t.Errorf("at the end: %v, tip %s", err, s.tip())
	}
}

// Without a record that says where the run stands nothing is put back, and a
// person is told that.
func TestWithoutARecordTheBranchStaysAndIsAskedAbout(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	in := s.checking("git -C '" + s.repo + "' update-ref -d refs/heads/ratchet/r1; rm -r '" + s.dir().Path() + "'")
	j := must[activities.Judgement](s, s.acts.Check, in)
	if j.Verdict != run.Blocked || j.Restored != nil || !j.Again || !strings.Contains(j.Question.Question, "was not put back") {
		t.Errorf("%+v, restored %+v, question %+v", j, j.Restored, j.Question)
	}
}
