package run_test

import (
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func entrant(attempt, lines int, passed bool, judged run.Result) run.Entrant {
	return run.Entrant{
		Attempt: attempt, Provider: "replay:x", Passed: passed, Judged: judged,
		Proposal: &run.Proposal{Patch: run.Ref{Digest: run.DigestOf([]byte{byte(attempt)})}, Base: "b0", Stat: run.Stat{Files: 1, Added: lines}},
	}
}

func TestRank(t *testing.T) {
	none := run.Entrant{Attempt: 9, Problem: &run.Problem{Code: "NO_PATCH"}}
	for name, tc := range map[string]struct {
		in   []run.Entrant
		want []int
	}{
		"what passes its checks comes first":     {[]run.Entrant{entrant(1, 1, false, ""), entrant(2, 90, true, "")}, []int{2, 1}},
		"then what the evaluator lets pass":      {[]run.Entrant{entrant(1, 1, true, run.Fixable), entrant(2, 90, true, run.Pass)}, []int{2, 1}},
		"then the smaller patch":                 {[]run.Entrant{entrant(1, 9, true, ""), entrant(2, 3, true, "")}, []int{2, 1}},
		"then the earlier attempt":               {[]run.Entrant{entrant(2, 3, true, ""), entrant(1, 3, true, "")}, []int{1, 2}},
		"a failing patch is better than none":    {[]run.Entrant{none, entrant(1, 3, false, "")}, []int{1, 9}},
		"the evaluator does not mend the checks": {[]run.Entrant{entrant(1, 1, false, run.Pass), entrant(2, 9, true, run.Fixable)}, []int{2, 1}},
	} {
		var got []int
		for _, e := range run.Rank(tc.in) {
			got = append(got, e.Attempt)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestAttemptsTakeTurns(t *testing.T) {
	for name, tc := range map[string]struct {
		tries  int
		rivals []string
		want   []string
	}{
		"one by default":              {0, nil, []string{"replay:x"}},
		"one provider, several times": {3, nil, []string{"replay:x", "replay:x", "replay:x"}},
		"one for each developer":      {0, []string{"replay:y"}, []string{"replay:x", "replay:y"}},
		"two developers in turns":     {3, []string{"replay:y"}, []string{"replay:x", "replay:y", "replay:x"}},
		"never fewer than developers": {1, []string{"replay:y", "replay:z"}, []string{"replay:x", "replay:y", "replay:z"}},
	} {
		in := input(3)
		in.Tries, in.Providers.Rivals = tc.tries, tc.rivals
		if got := in.Attempts(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestChoicesAreThoseThatPassed approves another attempt by its own id; one
// that failed has none.
func TestChoicesAreThoseThatPassed(t *testing.T) {
	s := working(t)
	same := entrant(2, 3, true, "")
	same.Attempt = 4
	ranked := run.Rank([]run.Entrant{entrant(1, 9, true, ""), entrant(2, 3, true, ""), entrant(3, 1, false, ""), same})
	told(t, s, run.PatchProduced{Proposal: *ranked[0].Proposal, Attempt: 2, Rivals: ranked[1:]})
	request := s.Request()
	told(t, s, request)
	if len(request.Choices) != 1 || request.Choices[0].Attempt != 1 || request.Choices[0].ApprovalID == request.ApprovalID {
		t.Fatalf("choices %+v", request.Choices)
	}
	choice := request.Choices[0].ApprovalID
	if err := s.Settles(run.Decision{ApprovalID: choice, Decision: run.Reject}); err == nil {
		t.Error("a choice is rejected by its own id")
	}
	if err := s.Settles(run.Decision{ApprovalID: choice, Decision: run.Approve}); err != nil {
		t.Error(err)
	}
	told(t, s, run.ApprovalGranted{ApprovalID: choice})
	if s.Proposal.Stat.Added != 9 || s.Chosen != 1 {
		t.Errorf("attempt %d is applied", s.Chosen)
	}
	if err := s.Settles(run.Decision{ApprovalID: choice, Decision: run.Approve}); err == nil {
		t.Error("it is approved twice")
	}
}
