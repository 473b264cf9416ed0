package openclaw

import (
	"context"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// history is what the gateway keeps of a session, as far as it counts.
type history struct {
	Messages []struct {
		Key   string `json:"idempotencyKey"`
		Usage *usage `json:"usage"`
		Meta  struct {
			Run string `json:"runId"`
		} `json:"__openclaw"`
	} `json:"messages"`
	Info struct {
		Used  int  `json:"totalTokens"`
		Fresh bool `json:"totalTokensFresh"`
		Total int  `json:"contextTokens"`
	} `json:"sessionInfo"`
}

// usage is that of one call of the model. Input is without what a cache gave
// or took.
type usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Cost       struct {
		Total float64 `json:"total"`
	} `json:"cost"`
}

// figures are those of a run.
type figures struct {
	tokens  agent.Tokens
	cost    *run.Micros
	context agent.Context
}

// figures asks for the history and adds up what belongs to a run. What cannot
// be known is left out: the turn has ended well without it.
func (s *session) figures(ctx context.Context, run string) figures {
	var h history
	// A message of its own text is not wanted, and would fill the answer.
	params := object{"sessionKey": s.key, "limit": 1000, "maxChars": 1}
	if s.conn.call(ctx, "chat.history", params, &h) != nil {
		return figures{}
	}
	return h.of(run)
}

// of adds up the calls of a run. They are all there if the message that began
// it is; else nothing is known of them. A price of nothing is one that the
// gateway does not know.
func (h history) of(id string) figures {
	var f figures
	if h.Info.Fresh {
		f.context.Used = h.Info.Used
	}
	f.context.Total = h.Info.Total
	whole, price := false, 0.0
	for _, m := range h.Messages {
		whole = whole || m.Key == id+":user"
		if m.Meta.Run != id || m.Usage == nil {
			continue
		}
		f.tokens.Input += m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheWrite
		f.tokens.Output += m.Usage.Output
		f.tokens.Cached += m.Usage.CacheRead
		price += m.Usage.Cost.Total
	}
	if !whole {
		return figures{context: f.context}
	}
	if cost := run.Dollars(price); cost > 0 {
		f.cost = &cost
	}
	return f
}
