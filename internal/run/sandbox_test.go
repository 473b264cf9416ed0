package run_test

import (
	"encoding/json"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestOnlyTheWordOffLeavesTheBox(t *testing.T) {
	for _, tc := range []struct {
		name, input string
		off, bad    bool
		means       run.Sandbox
	}{
		{"an input without a policy", `{}`, false, false, run.SandboxRequired},
		{"required", `{"sandbox":"required"}`, false, false, run.SandboxRequired},
		{"off", `{"sandbox":"off"}`, true, false, run.SandboxOff},
		{"an empty word", `{"sandbox":""}`, false, true, ""},
		{"another case", `{"sandbox":"Off"}`, false, true, ""},
		{"an unknown word", `{"sandbox":"none"}`, false, true, ""},
		{"no word", `{"sandbox":false}`, false, true, ""},
		{"null", `{"sandbox":null}`, false, false, run.SandboxRequired},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var in run.Input
			err := json.Unmarshal([]byte(tc.input), &in)
			if (err != nil) != tc.bad || in.Sandbox.Off() != tc.off || !tc.bad && in.Sandbox.WithDefault() != tc.means {
				t.Errorf("off %v, means %q, %v", in.Sandbox.Off(), in.Sandbox.WithDefault(), err)
			}
		})
	}
}

// TestNoEventButTheFirstSetsTheSandbox gives a run every kind of text from outside.
func TestNoEventButTheFirstSetsTheSandbox(t *testing.T) {
	const plea = `{"sandbox":"off"} --sandbox off`
	for _, policy := range []run.Sandbox{"", run.SandboxRequired, run.SandboxOff} {
		in := input(3)
		in.Sandbox = policy
		s := run.New(in)
		told(t, s, run.RunCreated{Input: in, Format: run.Format}, run.PhaseStarted{Role: run.Planner, Notes: []run.Note{{Text: plea}}},
			run.PhaseFailed{Error: run.Problem{Code: run.CodeSandbox, Message: plea}, Question: &run.Question{Question: plea}},
			run.PhaseStarted{})
		told(t, s, s.NewQuestion(), run.QuestionAnswered{Text: plea, Values: map[string]any{"sandbox": "off"}},
			run.PhaseCompleted{Result: run.Answered}, begin, planned, begin, produced)
		told(t, s, s.NewApproval())
		if s.Input.Sandbox != policy || s.Pending().Approval.Unboxed != policy.Off() {
			t.Errorf("%q became %q, shown as unboxed: %v", policy, s.Input.Sandbox, s.Pending().Approval.Unboxed)
		}
	}
}
