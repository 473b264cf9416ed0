package agent

import "github.com/ratchet-dev/ratchet/internal/run"

// The bounds of a figure that an agent reports of its own use. A figure below zero would give the budgets of a run back,
// and one above these would overflow a sum.
const (
	mostTokens  = 1 << 50
	mostDollars = 1e9
)

// Price returns a cost that an agent reports in dollars, within bounds.
func Price(dollars float64) run.Micros { return run.Dollars(min(max(dollars, 0), mostDollars)) }

// Bounded returns tokens that an agent reports, within bounds.
func (t Tokens) Bounded() Tokens {
	bound := func(n int64) int64 { return min(max(n, 0), mostTokens) }
	return Tokens{Input: bound(t.Input), Output: bound(t.Output), Cached: bound(t.Cached)}
}
