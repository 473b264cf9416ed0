package agent_test

import (
	"math"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestWhatAnAgentReportsOfItsUseIsBounded(t *testing.T) {
	for dollars, want := range map[float64]run.Micros{0.0033: 3300, 0: 0, -5: 0, 1e300: 1e15, math.MaxFloat64: 1e15} {
		if got := agent.Price(dollars); got != want {
			t.Errorf("%v dollars: %d, want %d", dollars, got, want)
		}
	}
	usual := agent.Tokens{Input: 7, Output: 2, Cached: 3}
	if got := usual.Bounded(); got != usual {
		t.Errorf("%+v", got)
	}
	if got := (agent.Tokens{Input: -7, Output: math.MaxInt64, Cached: math.MinInt64}).Bounded(); got.Input != 0 || got.Cached != 0 || got.Output+got.Output < got.Output {
		t.Errorf("%+v", got)
	}
}
