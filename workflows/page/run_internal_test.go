package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// told is a snapshot folded from payloads, the way a run makes them.
func told(t *testing.T, payloads ...run.Payload) *run.Snapshot {
	t.Helper()
	s := run.New(run.Input{})
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, p := range payloads {
		if err := s.Apply(s.Event(now, p)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func created(in run.Input) run.RunCreated {
	in.RunID, in.Policy, in.NoBaseline = "r1", run.Always, true
	in.Repository = run.Repository{Path: "/repo", Base: "0123456789abcdef"}
	in.Providers = run.Providers{Planner: "replay:x", Developer: "replay:x", Fixer: "replay:x"}
	return run.RunCreated{Input: in, Format: run.Format}
}

// based creates a run whose checks run on the base commit first.
func based(in run.Input) run.RunCreated {
	p := created(in)
	p.NoBaseline = false
	return p
}

// checked starts the planner's phase with a check that fails on the base commit.
func checked() run.PhaseStarted {
	return run.PhaseStarted{Role: run.Planner, Baseline: &run.Baseline{
		Failed: []run.BaselineCheck{{Command: "go test ./...", ExitCode: 1, Failed: 1, Cases: 3}},
	}}
}

func planned() run.PhaseCompleted {
	return run.PhaseCompleted{Result: run.Planned, Artifact: &run.Ref{Name: "plan/iter-0001.md"}}
}

func proposal(excerpt string) run.PatchProduced {
	return run.PatchProduced{Proposal: run.Proposal{
		Patch: run.Ref{Digest: "p", Bytes: 9000}, Base: "0123456789abcdef", Summary: "put a comma",
		Stat: run.Stat{Files: 2, Added: 3, Deleted: 1}, Files: []string{"modified greet.go +1 -1"}, Excerpt: excerpt,
	}}
}

func TestDetails(t *testing.T) {
	goal := run.Input{Goal: "be polite", Checks: []string{"go test ./..."}}
	limited := goal
	limited.Timeouts.Approval = time.Hour
	unboxed := goal
	unboxed.Sandbox = run.SandboxOff
	asked := run.ApprovalRequested{ApprovalID: "apr-1-0123456789ab", Gate: 1, Patch: "p", Base: "0123456789abcdef", Reasons: []string{"touches CI"}}
	upToGate := func(in run.Input, excerpt string) []run.Payload {
		return []run.Payload{created(in), run.PhaseStarted{Role: run.Planner}, planned(), run.PhaseStarted{Role: run.Developer}, proposal(excerpt), asked}
	}
	applied := run.PatchApplied{Patch: "p", Commit: "c1", After: run.Stat{Files: 1, Added: 1}}
	for name, tc := range map[string]struct {
		payloads []run.Payload
		want     []string
	}{
		"a run that plans": {
			[]run.Payload{created(goal), run.PhaseStarted{Role: run.Planner}},
			[]string{"## Planning", "The planner `replay:x` is working", "> be polite", "Repository  /repo", "signal `note`"},
		},
		"an approval of a run without the box is asked for": {
			upToGate(unboxed, "+a"),
			[]string{"**Sandbox off:** the checks of this run have no sandbox", "Sandbox     off, the checks of this run have no sandbox"},
		},
		"a run without the box works": {
			[]run.Payload{created(unboxed), run.PhaseStarted{Role: run.Planner}},
			[]string{"Sandbox     off, the checks of this run have no sandbox"},
		},
		"an approval is asked for": {
			upToGate(goal, "+a"),
			[]string{"## Waits for your approval", "**put a comma**", "2 files, +3 -1", "and 1 more file", "**Risk** touches CI", "```diff\n+a\n```",
				"**reject**: the agent tries again with your reason", "**reject &#45;&#45;final**: the run ends as canceled",
				`"approve apr-1-0123456789ab"`, `"reject apr-1-0123456789ab why"`, `"end apr-1-0123456789ab why"`, "starter approve r1 \\\n  --approval apr-1-0123456789ab", "without a time limit"},
		},
		"an approval with a deadline": {upToGate(limited, "+a"), []string{"ends as canceled 2026-05-01 at 13:00:00 UTC"}},
		"a diff that is longer than shown": {
			upToGate(goal, "+a…"), []string{"only the beginning of a diff of 9000 bytes", "starter diff r1"},
		},
		"a question": {
			[]run.Payload{created(goal), run.PhaseStarted{Role: run.Planner}, planned(), run.PhaseStarted{Role: run.Developer},
				run.PhaseCompleted{Result: run.Asked, Question: &run.Question{Question: "Which\none?", Reason: "two fit", NeededInput: []string{"a name"}}},
				run.PhaseStarted{}, run.QuestionRaised{QuestionID: "qst-1-1", Question: run.Question{Question: "Which\none?"}, Asker: run.Execute}},
			[]string{"## Waits for your answer", "> Which\n> one?", "Why: two fit", "**Needed** a name", `"qst-1-1 your answer"`, "**answer**: the agent tries again with the answer", "starter answer r1 TEXT"},
		},
		"the checks run": {
			append(upToGate(goal, "+a"), run.ApprovalGranted{ApprovalID: asked.ApprovalID}, applied, run.PhaseCompleted{Result: run.Patched}, run.PhaseStarted{Role: run.Evaluator}),
			[]string{"## Running the checks", "- `go test ./...`", "1 patch, 1 file, +1 -0"},
		},
		"a fix is written": {
			append(upToGate(goal, "+a")[:4], run.PhaseFailed{Error: run.Problem{Code: "no_type", Message: "no answer in it"}}, run.PhaseStarted{Role: run.Fixer}),
			[]string{"## Fixing, 1 of 3", "the last refusal", "no answer in it"},
		},
		"a fix is written that was asked for": {
			append(slices.Concat([]run.Payload{based(goal), checked()}, upToGate(goal, "+a")[2:]),
				run.ApprovalRejected{ApprovalID: asked.ApprovalID, Reason: "use tabs"}, run.PhaseCompleted{Result: run.Rejected}, run.PhaseStarted{Role: run.Fixer}),
			[]string{"## Fixing, as requested", "0 of 3 fixes used", "the last rejection", "use tabs"},
		},
		"the checks run on the base commit": {
			[]run.Payload{based(goal)}, []string{"## Running the checks on the base commit", "- `go test ./...`"},
		},
		"the planner works on what they say": {
			[]run.Payload{based(goal), checked()}, []string{"## Planning", "Baseline    go test ./... fails as expected: 1 of 3 cases"},
		},
		"a check fails as it did before": {
			append(slices.Concat([]run.Payload{based(goal), checked()}, upToGate(goal, "+a")[2:]), run.ApprovalGranted{ApprovalID: asked.ApprovalID}, applied,
				run.PhaseCompleted{Result: run.Patched}, run.PhaseStarted{Role: run.Evaluator},
				run.EvaluationFailedFixable{Evaluation: run.Evaluation{Failed: []string{"go test ./..."}, Before: []string{"go test ./..."}}},
				run.PhaseCompleted{Result: run.Fixable}, run.PhaseStarted{Role: run.Fixer}, proposal("+b"), asked),
			[]string{"## Waits for your approval", "**Also failed before** go test &#46;&#47;", "fails as expected"},
		},
		"the checks cannot run on the base commit": {
			[]run.Payload{based(goal), run.PhaseStarted{Role: run.Planner, Baseline: &run.Baseline{Problem: &run.Problem{Code: run.CodeBaseline, Message: "no cargo"}}},
				run.PhaseFailed{Error: run.Problem{Code: run.CodeBaseline, Message: "no cargo"}, Question: &run.Question{Question: "no cargo. How?"}},
				run.PhaseStarted{}, run.QuestionRaised{QuestionID: "qst-1-1", Question: run.Question{Question: "no cargo. How?"}, Asker: run.Plan}},
			[]string{"## Waits for your answer", "**answer again**: the checks run again on the base commit", "**answer without**: the planner starts", "**answer stop**: the run ends", "Baseline    not known: no cargo"},
		},
		"a final rejection": {
			append(upToGate(goal, "+a"), run.ApprovalRejected{ApprovalID: asked.ApprovalID, Reason: "not wanted", Final: true}, run.PhaseCompleted{Result: run.Rejected}, run.RunCanceled{Reason: "not wanted"}),
			[]string{"## Canceled", "last patch was rejected", "not wanted", "No patch was applied"},
		},
		"a completed run": {
			append(upToGate(goal, "+a"), run.ApprovalGranted{ApprovalID: asked.ApprovalID}, applied, run.PhaseCompleted{Result: run.Patched},
				run.PhaseStarted{Role: run.Evaluator}, run.EvaluationPassed{}, run.PhaseCompleted{Result: run.Pass}, run.RunCompleted{Moved: "something other than the run has moved its branch"}),
			[]string{"## Completed", "holds 1 commit", "..c1", "git merge c1", "something other than the run"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			page := OfRun(told(t, tc.payloads...), nil, nil)
			for _, want := range tc.want {
				if !strings.Contains(page, want) {
					t.Errorf("no %q in\n%s", want, page)
				}
			}
		})
	}
}

// TestDetailsAreBounded fills every field to its limit: the UI passes a page on in a URL.
func TestDetailsAreBounded(t *testing.T) {
	long := strings.Repeat("*", run.MaxGoalBytes)
	checks := make([]string, 100)
	for i := range checks {
		checks[i] = fmt.Sprint(i, long[:30])
	}
	s := told(t, created(run.Input{Goal: long, Checks: checks}), run.PhaseStarted{Role: run.Planner}, planned(), run.PhaseStarted{Role: run.Developer},
		run.PhaseCompleted{Result: run.Asked, Question: &run.Question{Question: long[:2<<10], Reason: long[:2<<10], NeededInput: []string{long[:300], long[:300]}}},
		run.PhaseStarted{}, run.QuestionRaised{QuestionID: "qst-1-1", Question: run.Question{Question: long[:2<<10]}, Asker: run.Execute})
	if n := len(OfRun(s, nil, nil)); n > 40<<10 {
		t.Errorf("the page has %d bytes", n)
	}
}

func TestMarkdownOfHostileText(t *testing.T) {
	const hostile = "# h\n```\n* x <b>`{runId}` \x1b[2J\u202e\n===\n[a](b) | c"
	var m markdown
	m.prose(hostile, 1000)
	for l := range strings.Lines(m.String()) {
		if strings.ContainsAny(strings.TrimPrefix(l, "> "), "<>*`[]()=|{}") {
			t.Errorf("markup in %q", l)
		}
	}
	m.block(hostile, 1000)
	m.list("", []string{hostile})
	m.printf("%s", inlineCode(hostile))
	for _, never := range []string{"{runId}", "\x1b", "\u202e", "\n- #"} {
		if strings.Contains(m.String(), never) {
			t.Errorf("%q stands in\n%s", never, m.String())
		}
	}
	if !strings.Contains(m.String(), "````\n# h\n```\n") {
		t.Errorf("the fence is no longer than what it holds:\n%s", m.String())
	}
}
