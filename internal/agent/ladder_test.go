package agent_test

import (
	"math"
	"slices"
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
	if !slices.Equal(agent.Ladder, []int{32000, 16000, 8000}) {
		t.Errorf("the ladder is %v", agent.Ladder)
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
	for rung := range agent.Ladder[:2] {
		if l := agent.LimitsOf(rung, 0); l.Warn+4000 > l.Escalate || l.Escalate+8000 != l.Hard {
			t.Errorf("rung %d: %+v", rung, l)
		}
	}
}

func TestRungClamps(t *testing.T) {
	for name, tc := range map[string]struct {
		step float64
		want int
	}{
		"the first":       {0, 0},
		"the second":      {1, 1},
		"the last":        {2, 2},
		"too large":       {3, 2},
		"no end":          {math.Inf(1), 2},
		"negative":        {-1, 0},
		"negative no end": {math.Inf(-1), 0},
		"no number":       {math.NaN(), 0},
		"a fraction":      {1.99, 1},
	} {
		if got := agent.Rung(tc.step); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
