package claude

import (
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// meter reckons what turns cost and how full the window is (docs/contracts/claude-code.md, 10).
type meter struct {
	model  string // the session's own; others serve sub-agents
	window int    // of that model; zero until a result tells
	last   usage  // of the message that came last
	fresh  bool   // it came in this turn
	warned bool   // since it came

	total  float64 // dollars of the process so far, as the client counts
	unpaid float64 // of it, what no turn has been billed for
	priced bool
}

// note takes the usage of a message: it replaces the one before.
func (m *meter) noteUsage(u usage) { m.last, m.fresh, m.warned = u, true, false }

func (m *meter) windowFill() agent.Context {
	return agent.Context{Used: int(m.last.promptTokens()), Total: m.window}
}

// settle takes the figures of a result. The client counts money for the whole
// process, and at times begins anew: the total may drop. Newer versions give
// the share of the turn, and after a resume begin with an old total.
func (m *meter) settleResult(r resultFrame) {
	if w := windowOfModel(r.Models, m.model); w > 0 {
		m.window = w
	}
	total := r.Total
	if total == nil {
		total = r.OldTotal
	}
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

// bill is the price of all since the bill before; nil when none is known.
func (m *meter) billTurn() *run.Micros {
	if !m.priced {
		return nil
	}
	price := run.Dollars(m.unpaid)
	m.unpaid, m.priced = 0, false
	return &price
}

// windowOf is the window of a model among those of a process: its own, or
// that of the only one.
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

// warn puts a Budget event when the context nears the limit, once until the
// next message (docs/contracts/agent.md, 4). What the API counted holds the system
// prompt and the files that were loaded; a prompt that it never answered is
// estimated.
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
	s.queue.Put(agent.Budget{
		Used: used, Warn: l.Warn, Hard: l.Hard, MaxOutput: s.o.MaxOutputTokens, Step: agent.ClampRung(rung + 1),
	})
}
