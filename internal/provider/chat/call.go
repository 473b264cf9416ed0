package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// MaxRounds is how often the model may look around in one call. After that it
// must answer.
const MaxRounds = 24

const (
	maxCalls   = 16        // of tools, in one message
	maxExplore = 512 << 10 // bytes that a model reads in one call
	minExplore = 8 << 10   // less is not worth the tools
)

// call is one call under way.
type call struct {
	chat
	req  provider.Request
	out  *output
	conv Conversation

	artifacts artifacts
	shrunk    bool
	explorer  *explore.Explorer // nil: there is nothing to explore
	used      Tokens
	told      bool // used is known
}

func (p chat) begin(req provider.Request, progress func(provider.Progress)) *call {
	c := &call{chat: p, req: req, artifacts: artifactsOf(req)}
	c.out = &output{redact: p.Redact, progress: progress}
	c.conv = Conversation{
		Model: p.Model.Name, System: req.Prompt.System, User: req.Prompt.User,
		Key:         string(run.DigestOf(fmt.Appendf(nil, "%s %s", req.RunID, req.Role))),
		Temperature: req.Constraints.Temperature,
	}
	return c
}

// hold holds the conversation until the model has answered.
func (c *call) hold(ctx context.Context) (provider.FinishReason, error) {
	ctx, stop := context.WithTimeout(ctx, c.req.Constraints.Timeout())
	defer stop()
	c.output()
	if err := c.fit(); err != nil {
		return "", err
	}
	c.lend()
	for {
		if c.overdrawn() {
			return "", &provider.Exhausted{Usage: c.used.usage(c.Price)}
		}
		c.output()
		m, err := c.next(ctx)
		if err != nil {
			return "", err
		}
		if len(m.Calls) == 0 || c.conv.MustAnswer || c.conv.Tools == nil {
			return m.Finish, nil
		}
		c.explore(ctx, m)
	}
}

// lend lets the model explore the site in what is left of its window, counted
// with two bytes a token: an answer of the API that it was too much could not be
// mended any more.
func (c *call) lend() {
	if c.req.Work.Site == nil || c.noTools.Load() {
		return
	}
	taken := tokens(len(c.conv.System) + len(c.conv.Context) + len(c.conv.User) + frameBytes)
	room := min(2*(c.Model.Window-c.conv.MaxOutput-taken), maxExplore)
	if room < minExplore {
		return
	}
	c.explorer, c.conv.Tools = explore.New(c.req.Work.Site, int64(room)), explore.Tools()
}

// overdrawn says whether a budget is used up.
func (c *call) overdrawn() bool {
	left, used := c.req.Work.Left, c.used.usage(c.Price)
	return left.Tokens != 0 && used.TotalTokens >= left.Tokens || left.Cost != 0 && used.Cost >= left.Cost
}

// next gets the next message, and once more where that is free and may help.
func (c *call) next(ctx context.Context) (Message, error) {
	m, err := c.send(ctx)
	refusal, refused := errors.AsType[*StatusError](err)
	switch {
	case !refused:
		return m, err
	case refusal.tooLong() && c.shrink():
		return c.next(ctx)
	case refusal.namesTools() && c.conv.Tools != nil && len(c.conv.Exchanges) == 0:
		c.conv.Tools = nil
		if m, err = c.next(ctx); err == nil {
			c.noTools.Store(true)
		}
	}
	return m, err
}

// send asks for one message and counts what it took.
func (c *call) send(ctx context.Context) (Message, error) {
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	line := &Line{out: c.out, idle: c.Idle, cut: cut}
	c.out.begin(cut)
	m, err := c.Wire.Send(ctx, c.conv, line)
	line.close()
	c.out.end()
	if m.Tokens != nil {
		c.used, c.told = c.used.add(*m.Tokens), true
	}
	return m, line.explain(ctx, err)
}

// explore answers the calls of a message.
func (c *call) explore(ctx context.Context, m Message) {
	results := make([]explore.Result, len(m.Calls))
	for i, ask := range m.Calls {
		results[i] = explore.Result{ID: ask.ID, Failed: true, Text: fmt.Sprintf("too many calls at once: %d are answered", maxCalls)}
		if i < maxCalls {
			c.out.does(ask)
			results[i] = c.explorer.Do(ctx, ask)
		}
		results[i].Text = c.Redact.String(results[i].Text)
	}
	c.conv.Exchanges = append(c.conv.Exchanges, Exchange{m, results})
	c.conv.MustAnswer = len(c.conv.Exchanges) == MaxRounds || c.explorer.Spent()
}

// usage is what is known of the usage; nil when that is nothing.
func (c *call) usage() *run.Usage {
	if !c.told {
		return nil
	}
	u := c.used.usage(c.Price)
	return &u
}
