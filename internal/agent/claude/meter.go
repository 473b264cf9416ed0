package claude

import (
	"cmp"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// meter computes the cost of turns and the fill of the window
// (CLIENT.md, 10).
type meter struct {
	model  string    // of the session itself; sub-agents may use others
	window int       // of that model; zero until a result reports it
	last   wireUsage // of the last message
	fresh  bool      // the last message came in this turn
	warned bool      // a warning was sent since the last message

	total  float64 // dollars of the process so far, by the client's account
	unpaid float64 // the part of total that no turn has been billed for
	priced bool
}

func (m *meter) windowFill() agent.Context {
	return agent.Context{Used: int(m.last.promptTokens()), Total: m.window}
}

// addResult takes the figures of a result. The client counts money for the
// whole process, and sometimes starts again, so the total may drop. Newer
// versions report the share of the turn, and start with an old total after a
// resume.
func (m *meter) addResult(r resultFrame) {
	if w := windowOfModel(r.Models, m.model); w > 0 {
		m.window = w
	}
	total := cmp.Or(r.Total, r.OldTotal)
	switch {
	case r.Since != nil:
		for _, u := range r.Since {
			m.unpaid += u.Cost
		}
	case total == nil:
		return
	case *total < m.total:
		m.unpaid += *total
	default:
		m.unpaid += *total - m.total
	}
	m.priced = true
	if total != nil {
		m.total = *total
	}
}

// billTurn returns the price of everything since the last bill; nil if no price
// is known.
func (m *meter) billTurn() *run.Micros {
	if !m.priced {
		return nil
	}
	price := agent.Price(m.unpaid)
	m.unpaid, m.priced = 0, false
	return &price
}

// windowOfModel returns the window of a model among the models of a process. It
// falls back to the only model.
func windowOfModel(models map[string]modelUsage, model string) int {
	if u, ok := models[model]; ok {
		return u.Window
	}
	if len(models) == 1 {
		for _, u := range models {
			return u.Window
		}
	}
	return 0
}

// warnBudget puts a Budget event when the context nears the limit, at most once
// until the next message (docs/contracts/agent.md, 4). The API's count includes
// the system prompt and the files that were loaded. A prompt that the API never
// answered is estimated.
func (s *session) warnBudget(t *turn) {
	used := int(s.meter.last.promptTokens() + s.meter.last.Output)
	if !s.meter.fresh {
		used += (t.prompt + 3) / 4
	}
	s.meter.fresh = false
	rung := agent.RungOf(s.o.MaxOutputTokens)
	l := agent.LimitsOf(rung, s.meter.window)
	if s.meter.warned || used < l.Warn {
		return
	}
	s.meter.warned = true
	s.Queue.Put(agent.Budget{
		Used: used, Warn: l.Warn, Hard: l.Hard, MaxOutput: s.o.MaxOutputTokens, Step: agent.ClampRung(rung + 1),
	})
}
