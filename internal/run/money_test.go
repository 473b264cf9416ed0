package run_test

import (
	"math"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestDollars(t *testing.T) {
	for d, want := range map[float64]string{
		0: "$0.00", 0.011: "$0.0110", 2: "$2.00", 1.25: "$1.25", 0.0000005: "$0.0000", math.Inf(1): "$0.00",
	} {
		if got := run.Dollars(d).String(); got != want {
			t.Errorf("%v is shown as %s, want %s", d, got, want)
		}
	}
	if run.Dollars(math.NaN()) != 0 || run.Dollars(0.1+0.2) != 300_000 {
		t.Error("an amount is not rounded to the millionth")
	}
}
