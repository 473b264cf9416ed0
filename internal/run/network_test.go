package run_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestNetworkOfTheChecks(t *testing.T) {
	for name, tt := range map[string]struct {
		entries []string
		sandbox run.Sandbox
		fails   string
	}{
		"none":                {},
		"a target":            {entries: []string{"a.example:443"}},
		"a preset":            {entries: []string{"registry:npm", "127.0.0.1:4873"}},
		"a host alone":        {entries: []string{"a.example"}, fails: "the port is missing"},
		"an unknown preset":   {entries: []string{"registry:maven"}, fails: "the presets are"},
		"too many":            {entries: slicesOf("a.example:443", run.MaxCheckNetwork+1), fails: "at most 32 fit"},
		"a run without a box": {entries: []string{"a.example:443"}, sandbox: run.SandboxOff, fails: "without the sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(3)
			in.CheckNetwork, in.Sandbox = tt.entries, tt.sandbox
			err := in.Validate()
			said := err != nil && strings.Contains(err.Error(), tt.fails)
			clean := input(3).Validate()
			if tt.fails == "" && (err == nil) != (clean == nil) || tt.fails != "" && !said {
				t.Errorf("got %v", err)
			}
		})
	}
	text, err := json.Marshal(input(3))
	if err != nil || strings.Contains(string(text), "checkNetwork") {
		t.Errorf("a run without a network is kept as %s, %v", text, err)
	}
}

func slicesOf(text string, n int) (list []string) {
	for range n {
		list = append(list, text)
	}
	return list
}

func TestTheSnapshotTellsWhatTheLastChecksReached(t *testing.T) {
	const reached = "reached a.example:443, 1 connection, 2.0 kB"
	in := input(3)
	in.CheckNetwork = []string{"a.example:443"}
	s := run.New(in)
	told(t, s, run.RunCreated{Input: in, Format: run.Format}, begin, planned, begin, produced)
	told(t, s, s.NewApproval())
	told(t, s, run.ApprovalGranted{ApprovalID: s.State.PendingApprovalID}, applied, patched, run.PhaseStarted{},
		run.EvaluationFailedFixable{Evaluation: run.Evaluation{Network: reached, Failed: []string{"x"}}})
	if s.Network != reached {
		t.Errorf("got %q", s.Network)
	}
}
