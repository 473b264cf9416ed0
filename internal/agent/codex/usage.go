package codex

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// tokens counts tokens as the client does. Input is the whole input, including
// the part from a cache; output is everything that the model wrote.
type tokens struct {
	Input  int64 `json:"inputTokens"`
	Cached int64 `json:"cachedInputTokens"`
	Output int64 `json:"outputTokens"`
	Total  int64 `json:"totalTokens"`
}

// excessOver returns t minus u, and zero for members that are greater in u.
func (t tokens) excessOver(u tokens) tokens {
	return tokens{
		Input: max(t.Input-u.Input, 0), Cached: max(t.Cached-u.Cached, 0), Output: max(t.Output-u.Output, 0),
	}
}

// threadTotal is the usage of a thread so far. After a resume it is not known
// until the client reports it.
type threadTotal struct {
	tokens
	known bool
}

// tokenUsage reports one request to the model. Last is the usage of that request,
// and therefore the content of the window.
type tokenUsage struct {
	Total  tokens `json:"total"`
	Last   tokens `json:"last"`
	Window int    `json:"modelContextWindow"`
}

// turnShare is the share of a turn in the usage of its thread.
type turnShare struct {
	counted bool
	before  tokens // usage of the thread before the turn
	tokens  agent.Tokens
	context agent.Context
}

// countUsage takes a report. The turn's share is the difference of totals: a
// report that comes twice counts once.
func (s *session) countUsage(u tokenUsage, turn string) {
	before := s.total
	s.total = threadTotal{u.Total, true}
	t := s.turn
	if t == nil || t.id != turn {
		return
	}
	if !t.share.counted {
		t.share.counted, t.share.before = true, before.tokens
		if !before.known {
			t.share.before = u.Total.excessOver(u.Last)
		}
	}
	used := u.Total.excessOver(t.share.before)
	t.share.tokens = agent.Tokens{Input: used.Input, Cached: used.Cached, Output: used.Output}
	t.share.context = agent.Context{Used: int(u.Last.Total), Total: u.Window}
	s.emitEvent(agent.UsageUpdate{Tokens: t.share.tokens, Context: t.share.context})
}

// limitWindow is one limit of an account.
type limitWindow struct {
	Used   float64 `json:"usedPercent"`
	Resets *int64  `json:"resetsAt"` // Unix time
}

// limits holds the last report of each window, by the window's name.
type limits map[string]limitWindow

// rateLimits reports some of the windows; the others keep their last report.
type rateLimits struct {
	ID        string       `json:"limitId"`
	Primary   *limitWindow `json:"primary"`
	Secondary *limitWindow `json:"secondary"`
}

func (l limits) noteLimits(r rateLimits) {
	for name, w := range map[string]*limitWindow{r.ID + "/primary": r.Primary, r.ID + "/secondary": r.Secondary} {
		if w != nil {
			l[name] = *w
		}
	}
}

// resetTime returns the time at which a used-up account can be used again. The
// fullest window counts; among equally full windows, the last one to be reset.
func (l limits) resetTime(now time.Time) (at time.Time, ok bool) {
	fullest := -1.0
	for _, w := range l {
		if w.Resets == nil || w.Used < fullest {
			continue
		}
		reset := time.Unix(*w.Resets, 0)
		if !reset.After(now) || w.Used == fullest && reset.Before(at) {
			continue
		}
		fullest, at = w.Used, reset
	}
	return at, fullest >= 0
}
