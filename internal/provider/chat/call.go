package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// MaxRounds is the number of messages with tool calls in one call. After them the model
// must answer.
const MaxRounds = 24

const (
	maxCalls   = 16        // of tools, in one message
	maxExplore = 512 << 10 // bytes that a model reads in one call
	minExplore = 8 << 10   // with less room the model gets no tools
)

// activeCall is one call in progress.
type activeCall struct {
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

// beginCall prepares the conversation of a request.
func (p chat) beginCall(req provider.Request, progress func(provider.Progress)) *activeCall {
	c := &activeCall{chat: p, req: req, artifacts: artifactsOf(req)}
	c.out = &output{redact: p.Redact, progress: progress}
	c.conv = Conversation{
		Model: p.Model.Name, System: req.Prompt.System, User: req.Prompt.User,
		Key:         string(run.DigestOf(fmt.Appendf(nil, "%s %s", req.RunID, req.Role))),
		Temperature: req.Constraints.Temperature,
	}
	return c
}

// holdConversation continues the conversation until the model has answered.
func (c *activeCall) holdConversation(ctx context.Context) (provider.FinishReason, error) {
	ctx, stop := context.WithTimeout(ctx, c.req.Constraints.Timeout())
	defer stop()
	c.setMaxOutput()
	if err := c.fitContext(); err != nil {
		return "", err
	}
	c.lendFiles()
	for {
		if c.req.Work.Left.IsUsedUp(c.used.toUsage(c.Price)) {
			return "", provider.Exhaust()
		}
		c.setMaxOutput()
		m, err := c.nextMessage(ctx)
		if err != nil {
			return "", err
		}
		if len(m.Calls) == 0 || c.conv.MustAnswer || c.conv.Tools == nil {
			return m.Finish, nil
		}
		c.answerCalls(ctx, m)
	}
}

// lendFiles lets the model explore the site within the rest of its window, counted with two bytes a token.
// An answer of the API that the prompt was too long could no longer be repaired at that point.
func (c *activeCall) lendFiles() {
	if c.req.Work.Site == nil || c.noTools.Load() {
		return
	}
	taken := estimateTokens(len(c.conv.System) + len(c.conv.Context) + len(c.conv.User) + frameBytes)
	room := min(2*(c.Model.Window-c.conv.MaxOutput-taken), maxExplore)
	if room < minExplore {
		return
	}
	c.explorer, c.conv.Tools = explore.New(c.req.Work.Site, int64(room)), explore.Tools()
}

// nextMessage gets the next message. It sends the conversation once more where that is free and may help.
func (c *activeCall) nextMessage(ctx context.Context) (Message, error) {
	m, err := c.sendOnce(ctx)
	refusal, refused := errors.AsType[*StatusError](err)
	switch {
	case !refused:
		return m, err
	case refusal.isTooLong() && c.shrinkContext():
		return c.nextMessage(ctx)
	case refusal.namesTools() && c.conv.Tools != nil && len(c.conv.Exchanges) == 0:
		c.conv.Tools = nil
		if m, err = c.nextMessage(ctx); err == nil {
			c.noTools.Store(true)
		}
	}
	return m, err
}

// sendOnce asks for one message and counts its tokens.
func (c *activeCall) sendOnce(ctx context.Context) (Message, error) {
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	line := &Line{out: c.out, idle: c.Idle, cut: cut}
	c.out.beginMessage(cut)
	m, err := c.Wire.Send(ctx, c.conv, line)
	line.stopTimer()
	c.out.endMessage()
	if m.Tokens != nil {
		c.used, c.told = c.used.addTokens(*m.Tokens), true
	}
	return m, line.explainError(ctx, err)
}

// answerCalls answers the tool calls of a message.
func (c *activeCall) answerCalls(ctx context.Context, m Message) {
	results := make([]explore.Result, len(m.Calls))
	for i, ask := range m.Calls {
		results[i] = explore.Result{ID: ask.ID, Failed: true, Text: fmt.Sprintf("too many calls at once: at most %d are answered", maxCalls)}
		if i < maxCalls {
			c.out.reportTool(ask)
			results[i] = c.explorer.Do(ctx, ask)
		}
		results[i].Text = c.Redact.String(results[i].Text)
	}
	c.conv.Exchanges = append(c.conv.Exchanges, Exchange{m, results})
	c.conv.MustAnswer = len(c.conv.Exchanges) == MaxRounds || c.explorer.Spent()
}

// knownUsage returns the usage as far as it is known, or nil.
func (c *activeCall) knownUsage() *run.Usage {
	if !c.told {
		return nil
	}
	u := c.used.toUsage(c.Price)
	return &u
}
