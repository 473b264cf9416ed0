package story_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/golden"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

const (
	base   = run.Commit("1111111111111111111111111111111111111111")
	first  = run.Commit("2222222222222222222222222222222222222222")
	second = run.Commit("3333333333333333333333333333333333333333")
)

func input() run.Input {
	return run.Input{
		RunID: "0198c5e2-7d1f-7c3a-9b51-2f6d0c9e4a77", Goal: "Total() must not lose cents.\nThe tests say what is right.",
		Repository: run.Repository{Path: "/src/shop", Base: base},
		Providers:  run.Providers{Planner: "replay:plans", Developer: "command:./agent.py", Fixer: "command:./agent.py"},
		Checks:     []string{"go test ./...", "go vet ./..."}, Policy: run.Always, NoBaseline: true,
	}
}

// tape records events as a workflow would: in the order that the contract
// allows, a second apart.
type tape struct {
	t      *testing.T
	s      *run.Snapshot
	now    time.Time
	events []run.Event
}

func record(t *testing.T, in run.Input) *tape {
	r := &tape{t: t, s: run.New(in), now: time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)}
	r.add(run.RunCreated{Input: in, Branch: in.RunID.Branch(), Format: run.Format})
	return r
}

func (r *tape) add(payloads ...run.Payload) {
	r.t.Helper()
	for _, p := range payloads {
		r.now = r.now.Add(time.Second)
		e := r.s.Event(r.now, p)
		if err := r.s.Apply(e); err != nil {
			r.t.Fatal(err)
		}
		r.events = append(r.events, e)
	}
}

func proposal(summary string, at run.Commit) run.Proposal {
	return run.Proposal{
		Patch: run.Ref{Name: "execute/iter-0001.patch", Digest: run.DigestOf([]byte(summary))}, Base: at, Summary: summary,
		Stat: run.Stat{Files: 2, Added: 3, Deleted: 1}, Files: []string{"modified total.go +3 -1", "deleted old.go +0 -0"},
		Risks: []string{"deletes old.go"}, Repairs: []string{"total.go hunk 1: counts 3 lines, not 2"},
	}
}

func (r *tape) approval() string { return r.s.State.PendingApprovalID }

// long is a run through a rejection, failing checks, a question and a pass.
func long(t *testing.T) *tape {
	r := record(t, input())
	r.add(run.PhaseStarted{Role: run.Planner, Provider: "replay:plans"},
		run.PhaseCompleted{Result: run.Planned, Summary: "Keep the remainder"},
		run.PhaseStarted{Role: run.Developer, Provider: "command:./agent.py", Notes: []run.Note{{Text: "mind the API"}}},
		run.PatchProduced{Proposal: proposal("Round to cents", base)})
	r.add(r.s.NewApproval())
	r.add(run.ApprovalRejected{ApprovalID: r.approval(), By: "ada", Reason: "keep old.go"},
		run.PhaseCompleted{Result: run.Rejected},
		run.PhaseStarted{Role: run.Fixer, Provider: "command:./agent.py", Uncounted: true},
		run.PatchProduced{Proposal: proposal("Round, keep old.go", base)})
	r.add(r.s.NewApproval())
	r.add(run.ApprovalGranted{ApprovalID: r.approval(), By: "ada"},
		run.PatchApplied{Commit: first, After: run.Stat{Files: 1, Added: 3, Deleted: 1}},
		run.PhaseCompleted{Result: run.Patched},
		run.PhaseStarted{Role: run.Evaluator},
		run.EvaluationFailedFixable{Evaluation: run.Evaluation{Report: run.Ref{Name: "failing"}, Reasons: []string{"go test ./...: exit code 1"}, Failed: []string{"go test ./..."}}},
		run.PhaseCompleted{Result: run.Fixable},
		run.PhaseStarted{Role: run.Fixer, Provider: "command:./agent.py"},
		run.PhaseFailed{Error: run.Problem{Code: "no_type", Message: "no PATCH, ASK or NOOP was found"}},
		run.PhaseStarted{Role: run.Fixer, Provider: "command:./agent.py"},
		run.PhaseCompleted{Result: run.Asked, Question: &run.Question{Question: "Half up or half even?", Reason: "both are used", NeededInput: []string{"the rule"}}},
		run.PhaseStarted{})
	r.add(r.s.NewQuestion())
	return r
}

func reports(ref run.Ref) (check.Report, bool) {
	if ref.Name != "failing" {
		return check.Report{}, false
	}
	return check.Report{Checks: []check.Result{
		{Command: "go test ./...", Status: check.Fail, ExitCode: 1, DurationMs: 1234, Head: "--- FAIL: TestTotal\n\n    total_test.go:9: got 99\nFAIL\n"},
		{Command: "go vet ./...", Status: check.Pass, DurationMs: 800},
	}}, true
}

func tell(style terminal.Style, events []run.Event) string {
	formatter := story.Formatter{Style: style, Report: reports}
	var b strings.Builder
	for _, e := range events {
		for _, line := range formatter.Lines(e) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func TestStoryOfALongRun(t *testing.T) {
	r := long(t)
	r.add(run.QuestionAnswered{QuestionID: "qst-4-1", Text: "half even", By: "ada"},
		run.PhaseCompleted{Result: run.Answered})
	golden.Compare(t, "testdata/long.txt", tell(terminal.Style{}, r.events))
}

func TestStoryOfAShortRun(t *testing.T) {
	in := input()
	in.Policy, in.Goal = run.Never, "Nothing to do"
	r := record(t, in)
	r.add(run.PhaseStarted{Role: run.Planner}, run.PhaseCompleted{Result: run.Planned},
		run.PhaseStarted{Role: run.Developer}, run.PhaseCompleted{Result: run.Noop, Summary: "it is so already"},
		run.PhaseStarted{Role: run.Evaluator}, run.EvaluationPassed{Evaluation: run.Evaluation{Report: run.Ref{Name: "elsewhere"}}},
		run.PhaseCompleted{Result: run.Pass}, run.RunCompleted{Branch: in.RunID.Branch(), Head: base})
	golden.Compare(t, "testdata/short.txt", tell(terminal.Style{}, r.events))
}

func TestStoryOfTheOtherEnds(t *testing.T) {
	failed := record(t, input())
	failed.add(run.PhaseStarted{Role: run.Planner}, run.PhaseFailed{Error: run.Problem{Code: "AUTH", Message: "no key"}},
		run.PhaseStarted{Role: run.Fixer}, run.PatchProduced{Proposal: proposal("x", base)},
	)
	failed.add(failed.s.NewApproval())
	failed.add(run.RunCanceled{Reason: "a cancellation was requested", By: "ada"})
	golden.Compare(t, "testdata/canceled.txt", tell(terminal.Style{}, failed.events))
}

// A run that ends while a call waits, or is canceled, tells at its end what the call has used.
func TestStoryOfWhatACutOffCallHasUsed(t *testing.T) {
	used := &run.Usage{InputTokens: 40_000, TotalTokens: 41_000, Cost: run.Dollars(0.21)}
	for _, end := range []run.Payload{run.RunCanceled{Reason: "enough", Usage: used}, run.RunFailed{Error: run.Problem{Code: "TIMEOUT", Message: "out of time"}, Usage: used}} {
		e := run.Event{Payload: end}
		if got := story.UsageOf(e); got != *used {
			t.Errorf("%T: %+v", end, got)
		}
		if text := strings.Join(new(story.Formatter).Lines(e), "\n"); !strings.Contains(text, used.String()) {
			t.Errorf("%T: no usage in\n%s", end, text)
		}
	}
}

// Where something else had moved the branch is text at the end.
func TestStoryOfABranchThatWasMoved(t *testing.T) {
	const moved = "something other than the run has moved its branch"
	if got := tell(terminal.Style{}, []run.Event{{Payload: run.RunCompleted{Moved: moved}}}); !strings.Contains(got, moved) {
		t.Errorf("got %s, want %q in it", got, moved)
	}
}

// Finding D3. A fix that a person asked for is not one of those that count.
func TestStoryOfAFixThatWasAskedFor(t *testing.T) {
	r := record(t, input())
	fix := run.PhaseStarted{Role: run.Fixer, Uncounted: true}
	r.add(run.PhaseStarted{Role: run.Planner}, run.PhaseCompleted{Result: run.Planned},
		run.PhaseStarted{Role: run.Developer}, run.PatchProduced{Proposal: proposal("x", base)})
	r.add(r.s.NewApproval())
	r.add(run.ApprovalRejected{ApprovalID: r.approval()}, run.PhaseCompleted{Result: run.Rejected},
		fix, run.PhaseFailed{Error: run.Problem{Code: "no_type", Message: "no answer"}}, run.PhaseStarted{Role: run.Fixer})
	text := tell(terminal.Style{}, r.events)
	if !strings.Contains(text, "iteration 2 · requested") || !strings.Contains(text, "iteration 3 · fix 1 of 3") {
		t.Error(text)
	}
}

// Each fix that fails has a line, and none says the same error in full twice.
func TestARepeatedErrorIsNamedAsBefore(t *testing.T) {
	refused := run.Problem{Code: "PATCH_REFUSED", Message: "patch refused: a.go: no such file"}
	formatter := story.Formatter{}
	var got []string
	for i := range 3 {
		fix := run.Event{Phase: run.Fix, Iteration: i + 1}
		for _, p := range []run.Payload{run.PhaseStarted{Role: run.Fixer}, run.PatchApplyFailed{Error: refused}, run.PhaseFailed{Error: refused}} {
			fix.Payload = p
			got = append(got, formatter.Lines(fix)...)
		}
	}
	text := strings.Join(got, "\n")
	if strings.Count(text, refused.Message) != 1 || strings.Count(text, "✗ as before (PATCH_REFUSED)") != 2 {
		t.Errorf("got\n%s", text)
	}
}

func TestTheLinesOfAMessageAreKeptApart(t *testing.T) {
	for text, want := range map[string]string{
		"one line": "one line",
		"":         "",
		"no place matches\nthe line differs, in the diff:\n  -a  b\n\nthe file has:\n>  2  c\n": "no place matches; the line differs, in the diff: -a b; the file has: > 2 c",
	} {
		if got := story.Message(text, 300); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheEndOfTheFixesNamesTheRemedy(t *testing.T) {
	in := input()
	formatter := story.Formatter{Hint: func(format string, args ...any) string { return "starter " + fmt.Sprintf(format, args...) }}
	formatter.Lines(run.Event{Payload: run.RunCreated{Input: in}})
	got := strings.Join(formatter.Lines(run.Event{Payload: run.RunFailed{Error: run.Problem{Code: run.CodeFixLimit, Message: "x"}}}), "\n")
	want := fmt.Sprintf("all %d automatic fixes are used: allow more with `starter retry %s --max-fix N`", in.Fixes(), in.RunID)
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStoryOfARunWithoutTheBox(t *testing.T) {
	in := input()
	for policy, want := range map[run.Sandbox]bool{"": false, run.SandboxRequired: false, run.SandboxOff: true} {
		in.Sandbox = policy
		formatter := &story.Formatter{}
		first := record(t, in).events[0]
		text := strings.Join(formatter.Lines(first), "\n") + strings.Join(story.Gist(terminal.Style{}, first), " ")
		if got := strings.Contains(text, run.Unboxed) && strings.Contains(text, "sandbox off"); got != want {
			t.Errorf("%q: text %v:\n%s", policy, got, text)
		}
	}
}

func TestStoryOfChecksThatReachTheNetwork(t *testing.T) {
	in := input()
	if text := tell(terminal.Style{}, record(t, in).events); strings.Contains(text, "network") {
		t.Errorf("without a network:\n%s", text)
	}
	in.CheckNetwork = []string{"registry:go", "a.example:443"}
	formatter := &story.Formatter{}
	if text := strings.Join(formatter.Lines(record(t, in).events[0]), "\n"); !strings.Contains(text, "of the checks: registry:go, a.example:443") {
		t.Error(text)
	}
	passed := run.Event{Payload: run.EvaluationPassed{Evaluation: run.Evaluation{Network: "reached a.example:443, 2 connections; refused 1"}}}
	if text := strings.Join(formatter.Lines(passed), "\n"); !strings.Contains(text, "network: reached a.example:443, 2 connections; refused 1") {
		t.Error(text)
	}
}

func TestGists(t *testing.T) {
	var rows [][]string
	for _, e := range long(t).events {
		rows = append(rows, story.Gist(terminal.Style{}, e))
	}
	golden.Compare(t, "testdata/gists.txt", terminal.Table(rows))
}

func TestNothingFromOutsideReachesTheTerminalRaw(t *testing.T) {
	const evil = "a\x1b[2Jb\x9bc\u202ed\u2066e\x07\rf\x00"
	in := input()
	in.Goal, in.Checks, in.Repository.Path = evil, []string{evil}, "/"+evil
	in.Providers.Developer = evil
	r := record(t, in)
	p := proposal(evil, base)
	p.Files, p.Risks, p.Repairs = []string{evil}, []string{evil}, []string{evil}
	r.add(run.PhaseStarted{Role: run.Planner, Provider: evil}, run.PhaseCompleted{Result: run.Planned, Summary: evil},
		run.PhaseStarted{Role: run.Developer, Provider: evil}, run.PatchProduced{Proposal: p})
	r.add(r.s.NewApproval())
	r.add(run.ApprovalRejected{ApprovalID: r.approval(), By: evil, Reason: evil}, run.PhaseCompleted{Result: run.Rejected},
		run.PhaseStarted{Role: run.Fixer, Provider: evil}, run.PhaseFailed{Error: run.Problem{Code: evil, Message: evil}, Question: &run.Question{Question: evil, Reason: evil, NeededInput: []string{evil}}},
		run.PhaseStarted{})
	r.add(r.s.NewQuestion())
	r.add(run.QuestionAnswered{QuestionID: "qst-2-1", Text: evil, By: evil}, run.PhaseCompleted{Result: run.Answered},
		run.RunCanceled{Reason: evil, By: evil})
	text := tell(terminal.Style{}, r.events)
	for _, e := range r.events {
		text += strings.Join(story.Gist(terminal.Style{}, e), " ") + "\n"
	}
	text += strings.Join(story.Lines(evil+"\n"+evil, 5), "\n")
	for _, raw := range []string{"\x1b", "\x9b", "\u202e", "\u2066", "\x07", "\r", "\x00"} {
		if strings.Contains(text, raw) {
			t.Errorf("%q is in the story", raw)
		}
	}
}

func TestStoryFromTheMiddleHasNoInventedTimes(t *testing.T) {
	r := long(t)
	for _, e := range r.events[1:] {
		for _, line := range new(story.Formatter).Lines(e) {
			if strings.Contains(line, "h00m") || strings.Contains(line, "-1") && strings.Contains(line, "of 0") {
				t.Errorf("%s alone: %q", e.Type, line)
			}
		}
	}
}

// What the checks say of the base commit stands before the plan, and beside what fails later.
func TestStoryOfTheBaseline(t *testing.T) {
	in := input()
	in.Policy, in.NoBaseline = run.Never, false
	r := record(t, in)
	problem := run.Problem{Code: run.CodeBaseline, Message: "go vet ./... cannot run: a program is missing (exit code 127)"}
	r.add(run.PhaseStarted{Role: run.Planner, Baseline: &run.Baseline{Problem: &problem}})
	_, q, _ := r.s.BaselineProblem()
	r.add(run.PhaseFailed{Error: problem, Question: &q}, run.PhaseStarted{})
	r.add(r.s.NewQuestion())
	r.add(run.QuestionAnswered{QuestionID: "qst-1-1", Text: "again", By: "ada"}, run.PhaseCompleted{Result: run.Answered},
		run.PhaseStarted{Role: run.Planner, Baseline: &run.Baseline{
			Passed: 1, Failed: []run.BaselineCheck{{Command: "go test ./...", ExitCode: 1, Failed: 1, Cases: 3}}, Millis: 2100,
		}},
		run.PhaseCompleted{Result: run.Planned, Summary: "Keep the remainder"}, run.PhaseStarted{Role: run.Developer},
		run.PatchProduced{Proposal: proposal("Round to cents", base)}, run.PatchApplied{Commit: first, After: run.Stat{Files: 1, Added: 3}},
		run.PhaseCompleted{Result: run.Patched}, run.PhaseStarted{Role: run.Evaluator},
		run.EvaluationFailedFixable{Evaluation: run.Evaluation{
			Report: run.Ref{Name: "failing"}, Failed: []string{"go test ./..."}, Before: []string{"go test ./..."},
		}})
	golden.Compare(t, "testdata/baseline.txt", tell(terminal.Style{}, r.events))

	passes := record(t, in)
	passes.add(run.PhaseStarted{Role: run.Planner, Baseline: &run.Baseline{Passed: 2}})
	if got := tell(terminal.Style{}, passes.events); !strings.Contains(got, "✓ all 2 checks pass already") {
		t.Errorf("the story of checks that pass:\n%s", got)
	}
	off := input()
	off.NoBaseline = true
	if got := tell(terminal.Style{}, record(t, off).events); !strings.Contains(got, "off: the checks do not run on the base commit") {
		t.Errorf("the story of a run without:\n%s", got)
	}
}

// The question after an error repeats its code as its reason, which has just been text.
func TestTheCodeOfAnErrorIsToldOnce(t *testing.T) {
	var formatter story.Formatter
	lines := formatter.Lines(run.Event{Payload: run.PhaseFailed{Error: run.Problem{Code: "AUTH", Message: "no key"}}})
	lines = append(lines, formatter.Lines(run.Event{Payload: run.QuestionRaised{Question: run.Question{Question: "How shall it go on?", Reason: "AUTH"}}})...)
	lines = append(lines, formatter.Lines(run.Event{Payload: run.QuestionRaised{Question: run.Question{Question: "Red or blue?", Reason: "the goal names no colour"}}})...)
	if text := strings.Join(lines, "\n"); strings.Count(text, "AUTH") != 1 || !strings.Contains(text, "because: the goal names no colour") {
		t.Errorf("text:\n%s", text)
	}
}
