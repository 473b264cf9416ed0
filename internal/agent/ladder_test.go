package agent_test

import (
	"math"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// The table of docs/contracts/agent.md, 4, row by row.
func TestLimitsOfTheLadder(t *testing.T) {
	for rung, want := range []agent.Limits{
		{Hard: 168000, Effective: 180000, Compact: 167000, Warn: 155000, Escalate: 160000},
		{Hard: 184000, Effective: 184000, Compact: 171000, Warn: 159000, Escalate: 176000},
		{Hard: 192000, Effective: 192000, Compact: 179000, Warn: 167000},
	} {
		if got := agent.LimitsOf(rung, 200_000); got != want {
			t.Errorf("rung %d: got %+v, want %+v", rung, got, want)
		}
		if got := agent.LimitsOf(rung, 0); got != want {
			t.Errorf("rung %d of a window that is not known: %+v", rung, got)
		}
	}
	for rung, want := range []int{32000, 16000, 8000} {
		if got := agent.AnswerTokens(rung); got != want {
			t.Errorf("rung %d allows an answer of %d tokens", rung, got)
		}
	}
}

func TestLimitsFollowTheWindow(t *testing.T) {
	want := agent.Limits{Hard: 968_000, Effective: 980_000, Compact: 967_000, Warn: 955_000, Escalate: 960_000}
	if got := agent.LimitsOf(0, 1_000_000); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if first, last := agent.LimitsOf(-1, 0), agent.LimitsOf(7, 0); first != agent.LimitsOf(0, 0) || last != agent.LimitsOf(2, 0) {
		t.Errorf("beyond the ends: %+v and %+v", first, last)
	}
}

func TestAWarningLeavesRoomBeforeTheStep(t *testing.T) {
	for rung := range 2 {
		if l := agent.LimitsOf(rung, 0); l.Warn+4000 > l.Escalate || l.Escalate+8000 != l.Hard {
			t.Errorf("rung %d: %+v", rung, l)
		}
	}
}

func TestClampRung(t *testing.T) {
	for name, tc := range map[string]struct{ rung, want int }{
		"the first":    {0, 0},
		"the second":   {1, 1},
		"the last":     {2, 2},
		"too large":    {3, 2},
		"the largest":  {math.MaxInt, 2},
		"negative":     {-1, 0},
		"the smallest": {math.MinInt, 0},
	} {
		if got := agent.ClampRung(tc.rung); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestRungOfABound(t *testing.T) {
	for maxOutput, want := range map[int]int{0: 0, 64000: 0, 32000: 0, 31999: 0, 16000: 1, 8001: 1, 8000: 2, 1: 2} {
		if got := agent.RungOf(maxOutput); got != want {
			t.Errorf("%d tokens: rung %d, want %d", maxOutput, got, want)
		}
	}
}
