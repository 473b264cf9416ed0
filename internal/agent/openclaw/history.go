package openclaw

import (
	"context"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// history is the part of the gateway's record of a session that we read.
type history struct {
	Messages []struct {
		Key   string     `json:"idempotencyKey"`
		Usage *wireUsage `json:"usage"`
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

// wireUsage is the usage of one call of the model. Input does not include the tokens
// that a cache gave or took.
type wireUsage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Cost       struct {
		Total float64 `json:"total"`
	} `json:"cost"`
}

// figures holds the usage, the cost and the context of a run.
type figures struct {
	tokens  agent.Tokens
	cost    *run.Micros
	context agent.Context
}

// fetchFigures asks for the history and adds up the calls of a run. Figures that
// are not known are left out: the turn has ended well without them.
func (s *session) fetchFigures(ctx context.Context, run string) figures {
	var h history
	// The texts of the messages are not needed, and would fill the answer.
	params := object{"sessionKey": s.key, "limit": 1000, "maxChars": 1}
	if s.conn.callGateway(ctx, "chat.history", params, &h) != nil {
		return figures{}
	}
	return h.sumRun(run)
}

// sumRun adds up the calls of a run. They are complete if the message that began
// the run is there; otherwise nothing is known of them. A price of zero means that
// the gateway does not know the price.
func (h history) sumRun(id string) figures {
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
	if cost := agent.Price(price); cost > 0 {
		f.cost = &cost
	}
	return f
}
