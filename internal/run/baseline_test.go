package run_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

var failing = run.Baseline{
	Report: run.Ref{Name: "evaluate/iter-0000.json"}, Passed: 1,
	Failed: []run.BaselineCheck{{Command: "go test ./...", ExitCode: 1, Failed: 1, Cases: 3}},
}

func TestBaselineSummary(t *testing.T) {
	many := run.Baseline{}
	for range 12 {
		many.AddFailed(run.BaselineCheck{Command: "x", ExitCode: 2})
	}
	if len(many.Failed) != 10 || many.More != 2 {
		t.Errorf("%d are kept, %d counted", len(many.Failed), many.More)
	}
	many.Failed = many.Failed[:1]
	for _, tc := range []struct {
		baseline run.Baseline
		want     string
	}{
		{failing, "go test ./... fails as expected: 1 of 3 cases; 1 of 2 pass"},
		{run.Baseline{Failed: []run.BaselineCheck{{Command: "make", ExitCode: 2}}}, "make fails as expected: exit code 2"},
		{run.Baseline{Failed: []run.BaselineCheck{{Command: "go test", ExitCode: 1, Failed: 1}}}, "go test fails as expected: 1 case"},
		{run.Baseline{Failed: []run.BaselineCheck{{Command: "go test", ExitCode: 1, Failed: 2}}}, "go test fails as expected: 2 cases"},
		{many, "x fails as expected: exit code 2; 2 more fail"},
		{run.Baseline{Passed: 1}, "the check passes already"},
		{run.Baseline{Passed: 2}, "all 2 checks pass already"},
		{unbased, "not known: no cargo"},
	} {
		if got := tc.baseline.Summary(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// The baseline belongs to the start of the planner's phase, where the input wants one, and
// nowhere else.
func TestWhereABaselineFits(t *testing.T) {
	with := run.PhaseStarted{Role: run.Planner, Baseline: &failing}
	for name, tc := range map[string]struct {
		change func(*run.Input)
		wanted bool
	}{
		"there are checks":     {func(*run.Input) {}, true},
		"it is switched off":   {func(in *run.Input) { in.NoBaseline = true }, false},
		"there are no checks":  {func(in *run.Input) { in.Checks = nil }, false},
		"an evaluator as well": {func(in *run.Input) { in.Providers.Evaluator = "replay:x" }, true},
	} {
		in := based(3)
		tc.change(&in)
		s := run.New(in)
		told(t, s, run.RunCreated{Input: in, Format: run.Format})
		fits, misfits := run.Payload(begin), run.Payload(with)
		if tc.wanted {
			fits, misfits = misfits, fits
		}
		if err := s.Apply(s.Event(start, misfits)); !errors.Is(err, run.ErrTransition) || s.NeedsBaseline() != tc.wanted {
			t.Errorf("%s: %v, needed: %v", name, err, s.NeedsBaseline())
		}
		told(t, s, fits, planned)
		if err := s.Apply(s.Event(start, with)); !errors.Is(err, run.ErrTransition) {
			t.Errorf("%s: a baseline of the developer's phase: %v", name, err)
		}
		if (s.BaselineReport() != nil) != tc.wanted {
			t.Errorf("%s: report %v", name, s.BaselineReport())
		}
	}
}

// No plan is taken while the baseline has a problem that no person has settled.
func TestNoPlanOnAnUnknownBaseline(t *testing.T) {
	s := begun(t, based(0), run.PhaseStarted{Baseline: &unbased})
	if err := s.Apply(s.Event(start, planned)); !errors.Is(err, run.ErrTransition) {
		t.Fatalf("a plan is taken: %v", err)
	}
	p, q, _ := s.BaselineProblem()
	told(t, s, run.PhaseFailed{Error: p, Question: &q}, run.PhaseStarted{})
	told(t, s, s.NewQuestion())
	want := "answer again: the checks run again on the base commit; no model is called before\n" +
		"answer without: the planner starts\nanswer stop: the run ends as canceled"
	var ways []string
	for _, w := range s.Pending().Question.Next.Ways() {
		ways = append(ways, w.Do+": "+w.Leads)
	}
	if got := strings.Join(ways, "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for text, ok := range map[string]bool{"again": true, "Without": true, " stop": true, "cancel": true, "yes": false, "fix: x": false, "again please": false} {
		if err := s.CheckReply(run.Reply{QuestionID: s.State.PendingQuestionID, Text: text}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	told(t, s, run.QuestionAnswered{Text: "without", Without: true}, closed, begin, planned)
	if s.NeedsBaseline() || len(s.Guidance) != 0 {
		t.Errorf("then needed: %v, guidance %+v", s.NeedsBaseline(), s.Guidance)
	}
}

// What an answer says of another question settles no baseline.
func TestOnlyItsQuestionSettlesABaseline(t *testing.T) {
	s := begun(t, based(0), run.PhaseStarted{Baseline: &failing}, down, begin)
	told(t, s, s.NewQuestion())
	if err := s.CheckReply(run.Reply{QuestionID: s.State.PendingQuestionID, Text: "logged in"}); err != nil {
		t.Error(err)
	}
	if c, err := s.ParseBaseline(run.Reply{Text: "stop"}); err != nil || c != (run.BaselineChoice{}) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestTheGateTellsTheBaseline(t *testing.T) {
	failed := run.EvaluationFailedFixable{Evaluation: run.Evaluation{Failed: []string{"go vet", "go test"}, Before: []string{"go vet"}}}
	s := begun(t, based(3), run.PhaseStarted{Baseline: &failing}, planned, begin, produced)
	told(t, s, s.NewApproval())
	if a := s.Pending().Approval; a.Baseline != failing.Summary() || a.Before != nil {
		t.Errorf("the first gate tells %q, %q", a.Baseline, a.Before)
	}
	told(t, s, run.ApprovalGranted{ApprovalID: s.State.PendingApprovalID}, applied, patched, begin, failed, run.PhaseCompleted{Result: run.Fixable}, begin, produced)
	told(t, s, s.NewApproval())
	if a := s.Pending().Approval; a.Baseline == "" || len(a.Before) != 1 || a.Before[0] != "go vet" {
		t.Errorf("the second gate tells %q, %q", a.Baseline, a.Before)
	}
}

// The largest baseline is a small part of one payload.
func TestABaselineIsSmall(t *testing.T) {
	b := run.Baseline{Problem: &run.Problem{Code: run.CodeBaseline, Message: strings.Repeat("x", run.MaxTextBytes/8)}}
	for range 4096 {
		b.AddFailed(run.BaselineCheck{Command: strings.Repeat("x", 300), ExitCode: 255, Failed: 1 << 24, Cases: 1 << 24})
	}
	if text, err := json.Marshal(b); err != nil || len(text) > 6<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// A phase that called nobody has made no call: recorded answers are found under the same names.
func TestAnUnknownBaselineIsNoCall(t *testing.T) {
	s := begun(t, based(0), run.PhaseStarted{Baseline: &unbased})
	if n := s.Calls[run.Plan]; n != 0 {
		t.Errorf("%d calls", n)
	}
	p, q, _ := s.BaselineProblem()
	told(t, s, run.PhaseFailed{Error: p, Question: &q}, run.PhaseStarted{})
	told(t, s, s.NewQuestion(), run.QuestionAnswered{Text: "again"}, closed, run.PhaseStarted{Baseline: &failing})
	if n := s.Calls[run.Plan]; n != 1 {
		t.Errorf("then %d calls", n)
	}
}
