package activities_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// judging is a call of the evaluator as the workflow makes it: of an attempt at
// contest time (workflows.try), and of the branch (workflows.evaluate).
func (s *fixture) judging(attempt int) activities.JudgeInput {
	s.t.Helper()
	c := s.call(run.Evaluate)
	c.Slot, c.Candidate = "evaluator", attempt
	return activities.JudgeInput{Call: c, Report: s.check("true").Report}
}

// The evaluator's word on the branch is not its word on the first attempt.
func TestBranchIsJudgedAnew(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	s.employ("[[say:DECISION: PASS]]")
	in := s.judging(1)
	try := activities.TryInput{CheckInput: activities.CheckInput{Header: s.place(), Iteration: 1, Commit: s.base, Commands: []string{"true"}, Timeout: time.Minute}, Candidate: 1, Number: 1}
	try.Patch, _ = s.dir().Keep("execute/iter-0001.try-1.patch", []byte("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n one\n+two\n"))
	in.Report = must[activities.Judgement](s, s.acts.Try, try).Report
	if j := must[activities.Judgement](s, s.acts.Judge, in); j.Verdict != run.Pass {
		t.Fatalf("%+v", j)
	}
	fake := s.employ("[[say:DECISION: FIX\n- attempt 3 is wrong]]")
	if j := must[activities.Judgement](s, s.acts.Judge, s.judging(0)); j.Verdict != run.Fixable {
		t.Errorf("the branch is judged %s: the model, which would say FIX, was asked %d times", j.Verdict, len(fake.Model.Requests()))
	}
}

// The report of an attempt is still what its reference says when the evaluator
// has looked at it.
func TestReportOfAnAttemptIsNotAltered(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	s.provider.says("DECISION: PASS")
	try := activities.TryInput{CheckInput: activities.CheckInput{Header: s.place(), Iteration: 1, Commit: s.base, Commands: []string{"true"}, Timeout: time.Minute}, Candidate: 1, Number: 1}
	try.Patch, _ = s.dir().Keep("execute/iter-0001.try-1.patch", []byte("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n one\n+two\n"))
	report := must[activities.Judgement](s, s.acts.Try, try).Report // run.Candidate.Report
	c := s.call(run.Evaluate)
	c.Candidate = 1
	must[activities.Judgement](s, s.acts.Judge, activities.JudgeInput{Call: c, Report: report})
	if _, err := s.dir().Load(report); err != nil {
		t.Error(err)
	}
}

// Attempts do not see what the checks of others left.
func TestChecksOfAttemptsShareNoHome(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	patch, _ := s.dir().Keep("execute/iter-0001.try-1.patch", []byte("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n one\n+two\n"))
	for attempt := 1; attempt <= 2; attempt++ {
		j := must[activities.Judgement](s, s.acts.Try, activities.TryInput{
			CheckInput: activities.CheckInput{
				Header: s.place(), Iteration: 1, Commit: s.base, Timeout: time.Minute,
				Commands: []string{`mkdir "$HOME/lock"`, `mkdir "$TMPDIR/lock"`},
			},
			Candidate: attempt, Number: 1, Patch: patch,
		})
		if j.Verdict != run.Pass {
			t.Errorf("attempt %d fails by what another left: %q", attempt, j.Failed)
		}
	}
}

// What an agent names its calls goes into history, and 48 times into the
// snapshot.
func TestIDsOfAnAgentAreBounded(t *testing.T) {
	s := newFixture(t)
	s.provider.responds(provider.Response{}, provider.Suspend(run.Permission{CallID: strings.Repeat("c", 1<<20), Tool: "run"}, []byte(`{}`)))
	out := must[activities.ProposeResult](s, s.acts.Propose, s.call(run.Execute))
	if n := size(t, out); n > maxResult {
		t.Errorf("%d bytes go into history", n)
	}
}

// Tokens of a call that failed were paid for: without them no budget holds.
func TestUsageOfAFailedCallIsKept(t *testing.T) {
	s := newFixture(t)
	e := &failure.Error{Code: failure.Auth, Message: "401"}
	resp := provider.FailedResponse(e, "half", time.Second)
	resp.Usage = &run.Usage{TotalTokens: 900_000}
	s.provider.responds(resp, e)
	app := callFailure(t, s, s.call(run.Execute))
	if !app.HasDetails() {
		t.Error("the error says nothing of the 900000 tokens, and no event will")
	}
}

// A patch is planned on git's objects, and checked as a checkout has it.
func TestAnAttemptIsCheckedAsACheckoutHasIt(t *testing.T) {
	s := newFixture(t)
	s.write(".gitattributes", "log.txt text working-tree-encoding=UTF-16LE\n")
	s.git("add", ".gitattributes")
	s.git("commit", "-q", "-m", "attributes")
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
	s.prepare()
	try := activities.TryInput{CheckInput: activities.CheckInput{Header: s.place(), Iteration: 1, Commit: s.base,
		Commands: []string{`test "$(wc -c <log.txt)" -eq 16 && test -z "$(git status --porcelain)"`}, Timeout: time.Minute}, Candidate: 1, Number: 1}
	try.Patch, _ = s.dir().Keep("execute/iter-0001.try-1.patch", []byte("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n one\n+two\n"))
	if j := must[activities.Judgement](s, s.acts.Try, try); j.Verdict != run.Pass {
		t.Errorf("got %s of %q, want %s", j.Verdict, j.Reasons, run.Pass)
	}
}
