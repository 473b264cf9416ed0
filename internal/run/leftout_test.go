package run_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// A check that cannot run on the base commit is left out once a person says so, unless nothing else would judge.
func TestChecksThatAreLeftOut(t *testing.T) {
	for name, tt := range map[string]struct {
		unrun     []int
		settled   bool
		evaluator string
		want      []string
		says      string
	}{
		"not settled":                 {unrun: []int{1}, want: []string{"a", "b", "c"}, says: "leave these checks out"},
		"one of three":                {unrun: []int{1}, settled: true, want: []string{"a", "c"}},
		"all, with an evaluator":      {unrun: []int{0, 1, 2}, settled: true, evaluator: "e", want: nil},
		"all, and no evaluator":       {unrun: []int{0, 1, 2}, settled: true, want: []string{"a", "b", "c"}},
		"all, no evaluator, asked":    {unrun: []int{0, 1, 2}, want: []string{"a", "b", "c"}, says: "asks again after the patch"},
		"no check has a result known": {settled: true, want: []string{"a", "b", "c"}},
	} {
		s := run.Snapshot{Unbased: tt.settled, Baseline: &run.Baseline{Unrun: tt.unrun, Problem: &run.Problem{Code: run.CodeBaseline, Message: "m"}}}
		s.Input.Checks, s.Input.Providers.Evaluator = []string{"a", "b", "c"}, tt.evaluator
		if got := s.Checks(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		_, q, ok := s.BaselineProblem()
		if ok == tt.settled || !strings.Contains(strings.Join(q.NeededInput, "\n"), tt.says) {
			t.Errorf("%s: asked %q, want it to say %q", name, q.NeededInput, tt.says)
		}
	}
}
