package chat

import "github.com/ratchet-dev/ratchet/internal/run"

// Tokens are what an API counts. Input is what neither came from its cache nor
// went into it.
type Tokens struct{ Input, CacheRead, CacheWrite, Output int64 }

func (t Tokens) add(u Tokens) Tokens {
	return Tokens{
		Input: t.Input + max(u.Input, 0), CacheRead: t.CacheRead + max(u.CacheRead, 0),
		CacheWrite: t.CacheWrite + max(u.CacheWrite, 0), Output: t.Output + max(u.Output, 0),
	}
}

// Price is what a million tokens of each kind cost. The zero Price is not
// known: then no cost is reported, and a budget of money does not bound a call.
type Price struct{ Input, CacheRead, CacheWrite, Output run.Micros }

// usage counts all input alike, cached or not.
func (t Tokens) usage(p Price) run.Usage {
	u := run.Usage{InputTokens: t.Input + t.CacheRead + t.CacheWrite, OutputTokens: t.Output}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	const million = 1_000_000
	sum := run.Micros(t.Input)*p.Input + run.Micros(t.CacheRead)*p.CacheRead +
		run.Micros(t.CacheWrite)*p.CacheWrite + run.Micros(t.Output)*p.Output
	u.Cost = (sum + million - 1) / million
	return u
}
