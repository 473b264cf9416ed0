package chat

import "github.com/ratchet-dev/ratchet/internal/run"

// Tokens holds the numbers that an API counts. Input excludes the tokens that were read from
// its cache or written to it.
type Tokens struct{ Input, CacheRead, CacheWrite, Output int64 }

// addTokens returns the sums of t and u. It ignores negative numbers of u.
func (t Tokens) addTokens(u Tokens) Tokens {
	return Tokens{
		Input: t.Input + max(u.Input, 0), CacheRead: t.CacheRead + max(u.CacheRead, 0),
		CacheWrite: t.CacheWrite + max(u.CacheWrite, 0), Output: t.Output + max(u.Output, 0),
	}
}

// Price is the cost of a million tokens of each kind. The zero Price means that the price is not
// known: then no cost is reported, and a budget of money does not bound a call.
type Price struct{ Input, CacheRead, CacheWrite, Output run.Micros }

// toUsage counts all input alike, cached or not.
func (t Tokens) toUsage(p Price) run.Usage {
	u := run.Usage{InputTokens: t.Input + t.CacheRead + t.CacheWrite, OutputTokens: t.Output}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	const million = 1_000_000
	sum := run.Micros(t.Input)*p.Input + run.Micros(t.CacheRead)*p.CacheRead +
		run.Micros(t.CacheWrite)*p.CacheWrite + run.Micros(t.Output)*p.Output
	u.Cost = (sum + million - 1) / million
	return u
}
