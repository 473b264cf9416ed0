package run_test

import (
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func candidate(attempt, lines int, passed bool, judged run.Result) run.Candidate {
	return run.Candidate{
		Number: attempt, Provider: "replay:x", Passed: passed, Judged: judged,
		Proposal: &run.Proposal{Patch: run.Ref{Digest: run.DigestOf([]byte{byte(attempt)})}, Base: "b0", Stat: run.Stat{Files: 1, Added: lines}},
	}
}

func TestRank(t *testing.T) {
	none := run.Candidate{Number: 9, Problem: &run.Problem{Code: "NO_PATCH"}}
	for name, tc := range map[string]struct {
		in   []run.Candidate
		want []int
	}{
		"what passes its checks comes first":     {[]run.Candidate{candidate(1, 1, false, ""), candidate(2, 90, true, "")}, []int{2, 1}},
		"then what the evaluator lets pass":      {[]run.Candidate{candidate(1, 1, true, run.Fixable), candidate(2, 90, true, run.Pass)}, []int{2, 1}},
		"then the smaller patch":                 {[]run.Candidate{candidate(1, 9, true, ""), candidate(2, 3, true, "")}, []int{2, 1}},
		"then the earlier attempt":               {[]run.Candidate{candidate(2, 3, true, ""), candidate(1, 3, true, "")}, []int{1, 2}},
		"a failing patch is better than none":    {[]run.Candidate{none, candidate(1, 3, false, "")}, []int{1, 9}},
		"the evaluator does not mend the checks": {[]run.Candidate{candidate(1, 1, false, run.Pass), candidate(2, 9, true, run.Fixable)}, []int{2, 1}},
	} {
		var got []int
		for _, e := range run.RankCandidates(tc.in) {
			got = append(got, e.Number)
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
		in.Candidates, in.Providers.Rivals = tc.tries, tc.rivals
		if got := in.CandidateProviders(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestChoicesAreThoseThatPassed approves another attempt by its own id; one
// that failed has none.
func TestChoicesAreThoseThatPassed(t *testing.T) {
	s := working(t)
	same := candidate(2, 3, true, "")
	same.Number = 4
	ranked := run.RankCandidates([]run.Candidate{candidate(1, 9, true, ""), candidate(2, 3, true, ""), candidate(3, 1, false, ""), same})
	told(t, s, run.PatchProduced{Proposal: *ranked[0].Proposal, Candidate: 2, Rivals: ranked[1:]})
	request := s.NewApproval()
	told(t, s, request)
	if len(request.Choices) != 1 || request.Choices[0].Candidate != 1 || request.Choices[0].ApprovalID == request.ApprovalID {
		t.Fatalf("choices %+v", request.Choices)
	}
	choice := request.Choices[0].ApprovalID
	if err := s.CheckDecision(run.Decision{ApprovalID: choice, Decision: run.Reject}); err == nil {
		t.Error("a choice is rejected by its own id")
	}
	if err := s.CheckDecision(run.Decision{ApprovalID: choice, Decision: run.Approve}); err != nil {
		t.Error(err)
	}
	told(t, s, run.ApprovalGranted{ApprovalID: choice})
	if s.Proposal.Stat.Added != 9 || s.Chosen != 1 {
		t.Errorf("attempt %d is applied", s.Chosen)
	}
	if err := s.CheckDecision(run.Decision{ApprovalID: choice, Decision: run.Approve}); err == nil {
		t.Error("it is approved twice")
	}
}
