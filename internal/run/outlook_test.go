package run_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// begun is a run with the input that has come to where the payloads lead.
func begun(t *testing.T, in run.Input, payloads ...run.Payload) *run.Snapshot {
	t.Helper()
	s := run.New(in)
	told(t, s, run.RunCreated{Input: s.Input, Branch: "ratchet/r1", Format: run.Format})
	told(t, s, payloads...)
	return s
}

// Finding D3: what a no or an answer leads to is said beside the question.
func TestOutlook(t *testing.T) {
	const parts = "approve some of it: the chosen files or hunks are applied as a patch of their own; with a reason, the rest goes back to the agent\n" +
		"edit: your patch takes its place, and is asked about like any other\n"
	raised := run.QuestionRaised{QuestionID: "qst-1-1"}
	toGate := []run.Payload{begin, planned, begin, produced}
	toEvaluate := append(toGate[:4:4], applied, patched, begin)
	question := func(before []run.Payload, more ...run.Payload) []run.Payload {
		return append(append(before[:len(before):len(before)], more...), begin, raised)
	}
	blockedClosed := run.PhaseCompleted{Result: run.Blocked}
	cannotRun := blocked
	cannotRun.Again = true
	fixerAsks := []run.Payload{begin, planned, begin, garbled, begin, askedFor}
	overrun := run.PhaseFailed{Error: run.Problem{Code: run.CodeBudget}, Question: &run.Question{Question: "raise?"}}
	for _, tc := range []struct {
		name   string
		maxFix int
		given  []run.Payload
		want   string
	}{
		{"a patch", 3, toGate,
			"approve: the patch is applied, and the checks run\n" +
				parts +
				"reject: the agent tries again with your reason; this uses up no fix (0 of 3 fixes used)\n" +
				"reject --final: the run ends as canceled"},
		{"a patch where no fix is allowed", 0, toGate,
			"approve: the patch is applied, and the checks run\n" +
				parts +
				"reject: the agent tries again with your reason; this uses up no fix (0 of 0 fixes used)\n" +
				"reject --final: the run ends as canceled"},
		{"a patch that is lost", 0, question(toGate, run.PatchApplyFailed{Error: run.Problem{Code: run.CodeArtifact}},
			run.PhaseFailed{Error: run.Problem{Code: run.CodeArtifact}, Question: &run.Question{Question: "gone"}}),
			"retry: the same patch is proposed again if its file is back; otherwise the agent tries again\n" +
				"answer: the same patch is proposed again if its file is back; otherwise the agent tries again with the answer"},
		{"the developer's question", 0, question(toGate[:3], askedFor), "answer: the agent tries again with the answer"},
		{"the only fixer's question", 1, question(fixerAsks), "answer: the agent tries again with the answer; this uses up no fix (1 of 1 fixes used)"},
		{"a provider that fails", 0, question([]run.Payload{begin}, down), "retry: the planner tries again\nanswer: the planner tries again with the answer"},
		{"the evaluator's question", 0, question(toEvaluate, blocked, blockedClosed), "answer: the agent tries again with the answer; this uses up no fix (0 of 0 fixes used)"},
		{"checks that cannot run", 0, question(toEvaluate, cannotRun, blockedClosed),
			"retry: the checks run again\nanswer: the checks run again\nanswer fix: ...: the agent tries again with the answer; this uses up no fix (0 of 0 fixes used)"},
		{"a budget that is used up", 0, question(toGate[:3], overrun),
			"answer: the budget is raised, and the agent tries again\nanswer stop: the run ends as canceled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := begun(t, input(tc.maxFix), tc.given...)
			var next run.Outlook
			if s.Next.Do == run.Gate {
				told(t, s, s.NewApproval())
				next = s.Pending().Approval.Next
			} else {
				next = s.Pending().Question.Next
			}
			var lines []string
			for _, w := range next.Ways() {
				lines = append(lines, w.Do+": "+w.Leads)
			}
			if got := strings.Join(lines, "\n"); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestOutlookOfATool(t *testing.T) {
	s := begun(t, input(0), begin, planned, begin)
	told(t, s, s.NewPermission(run.Permission{CallID: "c", Tool: "Bash", Digest: "d"}))
	next := s.Pending().Approval.Next
	if !strings.Contains(next.Approve, "uses the tool") || !strings.Contains(next.Reject, "reads your reason") || next.Final != "the run ends as canceled" {
		t.Errorf("%+v", next)
	}
}
