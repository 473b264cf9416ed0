package acp

import (
	"encoding/json"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// tokens are the tokens of a turn: of all its model calls, or, as opencode has
// it, of the last (docs/contracts/acp.md, 2.4).
type tokens struct {
	Input  int64 `json:"inputTokens"`
	Output int64 `json:"outputTokens"`
	Read   int64 `json:"cachedReadTokens"`
	Write  int64 `json:"cachedWriteTokens"`
	Total  int64 `json:"totalTokens"`
}

// quota is where gemini has them.
type quota struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

// tokens are those of the turn. What was read from a cache is a part of the
// input with some agents and beside it with others: the total tells.
func (a answer) tokens() agent.Tokens {
	u := a.Usage
	if u == nil {
		return agent.Tokens{Input: a.Meta.Quota.Count.Input, Output: a.Meta.Quota.Count.Output}
	}
	input := u.Input
	if u.Total >= u.Input+u.Read+u.Write+u.Output {
		input += u.Read + u.Write
	}
	return agent.Tokens{Input: input, Output: u.Output, Cached: u.Read}
}

// bill tells the cost of a turn from what the session has cost so far, which an
// agent carries over when it loads the session again (docs/contracts/acp.md, 2.4).
type bill struct {
	carried   bool // what it cost before us is still to be learned
	told      bool // since the last turn
	now, paid run.Micros
}

func (b *bill) add(now run.Micros) { b.now, b.told = now, true }

// turn is the cost of the turn that ends here; nil when the agent has not said,
// or has now said for the first time what there was before.
func (b *bill) turn() *run.Micros {
	if !b.told {
		return nil
	}
	cost, known := b.now-b.paid, !b.carried && b.now >= b.paid
	b.carried, b.told, b.paid = false, false, b.now
	if !known {
		return nil
	}
	return &cost
}

// usage takes a usage_update; the caller holds the lock.
func (s *session) usage(raw json.RawMessage) {
	var u struct {
		Used float64 `json:"used"`
		Size float64 `json:"size"`
		Cost *struct {
			Amount   float64 `json:"amount"`
			Currency string  `json:"currency"`
		} `json:"cost"`
	}
	read(raw, &u)
	s.context = agent.Context{Used: int(u.Used), Total: int(u.Size)}
	if u.Cost != nil && u.Cost.Currency == "USD" {
		s.bill.add(run.Dollars(u.Cost.Amount))
	}
	switch {
	case s.turn != nil:
		s.events.Put(agent.Usage{Context: s.context})
	case s.bill.carried:
		s.bill.turn() // what there was before is known before the first turn
	}
}
