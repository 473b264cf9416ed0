package codex

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// tokens count as the client does: input is all of it, what came from a cache
// included, and output all that the model wrote.
type tokens struct {
	Input  int64 `json:"inputTokens"`
	Cached int64 `json:"cachedInputTokens"`
	Output int64 `json:"outputTokens"`
	Total  int64 `json:"totalTokens"`
}

// over is what t has more than u.
func (t tokens) excessOver(u tokens) tokens {
	return tokens{
		Input: max(t.Input-u.Input, 0), Cached: max(t.Cached-u.Cached, 0), Output: max(t.Output-u.Output, 0),
	}
}

// tally is what a thread has used so far: it is not known after a resume, until
// the client tells it.
type threadTotal struct {
	tokens
	known bool
}

// tokenUsage is the report of one request to the model: Last is its own share,
// and so what the window holds.
type tokenUsage struct {
	Total  tokens `json:"total"`
	Last   tokens `json:"last"`
	Window int    `json:"modelContextWindow"`
}

// share is what a turn has used of its thread.
type turnShare struct {
	counted bool
	before  tokens // what the thread had used
	tokens  agent.Tokens
	context agent.Context
}

// count takes a report. The turn's share is the difference of totals: a report
// that comes twice counts once.
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
	s.tellEvent(agent.Usage{Tokens: t.share.tokens, Context: t.share.context})
}

// window is one limit of an account.
type limitWindow struct {
	Used   float64 `json:"usedPercent"`
	Resets *int64  `json:"resetsAt"` // Unix time
}

// limits are the windows that were told of last, by their names.
type limits map[string]limitWindow

// rateLimits is a report of some of them: those that it leaves out stand.
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

// reset is when an account that is used up can be used again: the fullest
// window counts, and of windows that are equally full the last to be reset.
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
