package acp

import (
	"encoding/json"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// tokens counts the tokens of a turn: of all its model calls or, with opencode, of
// the last one (CLIENT.md, 2.4).
type tokens struct {
	Input  int64 `json:"inputTokens"`
	Output int64 `json:"outputTokens"`
	Read   int64 `json:"cachedReadTokens"`
	Write  int64 `json:"cachedWriteTokens"`
	Total  int64 `json:"totalTokens"`
}

// quota holds gemini's count of tokens.
type quota struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
}

// turnTokens returns the tokens of the turn. Some agents count the tokens from a
// cache as part of the input, others beside it: the total tells which.
func (a answer) turnTokens() agent.Tokens {
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

// bill computes the cost of a turn from the cost of the session so far, which an
// agent carries over when it loads the session again (CLIENT.md, 2.4).
type bill struct {
	carried   bool // the cost before our process is not known yet
	told      bool // reported since the last turn
	now, paid run.Micros
}

// billTurn returns the cost of the turn that ends here. It returns nil if the
// agent has not reported a cost, or has reported the earlier cost for the first
// time.
func (b *bill) billTurn() *run.Micros {
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

// takeUsage handles a usage_update; the caller holds the lock.
func (s *session) takeUsage(raw json.RawMessage) {
	var u struct {
		Used float64 `json:"used"`
		Size float64 `json:"size"`
		Cost *struct {
			Amount   float64 `json:"amount"`
			Currency string  `json:"currency"`
		} `json:"cost"`
	}
	decodeLenient(raw, &u)
	s.context = agent.Context{Used: int(u.Used), Total: int(u.Size)}
	if u.Cost != nil && u.Cost.Currency == "USD" {
		s.bill.now, s.bill.told = agent.Price(u.Cost.Amount), true
	}
	switch {
	case s.turn != nil:
		s.events.Put(agent.UsageUpdate{Context: s.context})
	case s.bill.carried:
		s.bill.billTurn() // so the earlier cost is known before the first turn
	}
}
