package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// maxText is how much of a turn's text is kept for display and for the record
// of a failure; the answer itself comes with the end of the turn.
const maxText = 256 << 10

// shown is how much of its end is redacted to show the last of it.
const shown = 8 << 10

// begin starts the agent and sends what it is to do: on the session that the
// note names where there is one, with the checkout left alone where the last
// attempt at this very work was cut off.
func (c *call) begin(ctx context.Context) error {
	cutOff := c.note.Key == c.key() && c.note.Open && c.note.Session != ""
	err := c.start(ctx, cutOff)
	switch {
	case errors.Is(err, agent.ErrNoSession):
		return c.renew(ctx)
	case err != nil:
		return err
	case cutOff && c.note.Call == c.req.Call && c.note.Heard:
		return c.send(ctx, goOnPrompt(c.note.awaited(c.req.Work.Permits)))
	}
	return c.send(ctx, taskPrompt(c.req.Prompt))
}

// renew begins a new session for work that the old one cannot go on with.
func (c *call) renew(ctx context.Context) error {
	if c.talk.Session != nil {
		if err := c.talk.Stop(ctx); err != nil {
			return err
		}
	}
	c.note.Session, c.note.Rung, c.note.Asked = "", 0, nil
	if err := c.start(ctx, false); err != nil {
		return err
	}
	return c.send(ctx, taskPrompt(c.req.Prompt))
}

// anew is renew, and the answer.
func (c *call) anew(ctx context.Context) (answer, error) {
	if err := c.renew(ctx); err != nil {
		return answer{}, err
	}
	return c.listen(ctx)
}

func (c *call) start(ctx context.Context, keep bool) error {
	dir, err := c.req.Work.Site.Checkout(ctx, keep)
	if err != nil {
		return err
	}
	s, err := c.Adapter.Start(ctx, agent.Options{
		Dir: dir, Resume: c.note.Session, Sticky: c.Choice, Sandbox: c.sandbox(), Network: c.req.Work.Network,
		MaxOutputTokens: agent.AnswerTokens(c.note.Rung), Log: &c.talk.stderr,
		Env: []string{proc.RunVariable + "=" + string(c.req.RunID)},
	})
	if err != nil {
		return err
	}
	c.talk.Session, c.talk.dir, c.talk.resumed = s, dir, c.note.Session != ""
	if id := s.ID(); id != "" {
		c.note.Session = id
	}
	c.open(ctx)
	c.log("agent started", map[string]string{"session": c.note.Session, "resumed": strconv.FormatBool(c.talk.resumed), "sandbox": string(c.sandbox())})
	return nil
}

func (c *call) log(what string, about map[string]string) { c.req.Work.Site.Log(what, about) }

// send begins a turn. That it was begun is on disk first.
func (c *call) send(ctx context.Context, text string) error {
	t := c.talk
	if c.note.Key != c.key() {
		c.note.Used, c.note.Told, c.note.Asked = run.Usage{}, run.Usage{}, nil
	}
	if c.note.Call != c.req.Call { // what was told is in the budgets
		c.note.Used, c.note.Told = c.note.Used.Sub(c.note.Told), run.Usage{}
	}
	t.before, t.used = c.note.Used, agent.Tokens{}
	c.note.Key, c.note.Call, c.note.Task = c.key(), c.req.Call, c.task()
	c.note.Open, c.note.Heard, c.note.Answer = true, false, nil
	if err := c.keepNote(); err != nil {
		return err
	}
	return c.say(ctx, text)
}

// say gives the agent a message, which begins a turn.
func (c *call) say(ctx context.Context, text string) error {
	t := c.talk
	t.text, t.asks, t.over, t.tools = nil, nil, false, map[string]bool{}
	sent := make(chan error, 1) // an agent that does not read could hold it up
	go func() { sent <- t.Send(ctx, text) }()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen follows the run's own turn to its end, and keeps what it ended in
// before anybody relies on it.
func (c *call) listen(ctx context.Context) (answer, error) {
	a, err := c.follow(ctx)
	if err != nil {
		return answer{}, err
	}
	c.note.Used, c.note.Open, c.note.Answer = a.used, false, a
	return *a, c.keepNote()
}

// follow follows a turn to its end, and decides about tools on the way.
func (c *call) follow(ctx context.Context) (*answer, error) {
	quiet := time.NewTimer(c.Quiet)
	defer quiet.Stop()
	for {
		if err := c.settle(ctx); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-quiet.C:
			if len(c.talk.tools) == 0 {
				return nil, &provider.Error{Code: provider.Timeout, Message: fmt.Sprintf("the agent said nothing for %v", c.Quiet), Retriable: true}
			}
			quiet.Reset(c.Quiet)
		case e, ok := <-c.talk.Events():
			if !ok {
				return nil, &provider.Error{Code: provider.Unknown, Message: "the agent's session ended in the middle of a turn", Retriable: true}
			}
			if n, ok := e.(agent.Notice); !ok || !n.Stall {
				quiet.Reset(c.Quiet)
			}
			a, err := c.hear(ctx, e)
			if a != nil || err != nil {
				return a, err
			}
		}
	}
}

// heard notes, once a turn, that the agent has the message.
func (c *call) heard(e agent.Event) error {
	switch e.(type) {
	case agent.Text, agent.ToolUse, agent.ToolResult, agent.Permission, agent.Usage:
	default:
		return nil
	}
	if c.note.Heard {
		return nil
	}
	c.note.Heard = true
	return c.keepNote()
}

// hear takes one event in. The answer is there when the turn was completed.
func (c *call) hear(ctx context.Context, e agent.Event) (*answer, error) {
	t := c.talk
	if err := c.heard(e); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case agent.Started:
		if c.note.Session != e.SessionID {
			c.note.Session = e.SessionID
			return nil, c.keepNote()
		}
	case agent.Text:
		t.text = append(t.text, e.Text...)
		if over := len(t.text) - maxText; over > 0 {
			t.text = slices.Delete(t.text, 0, over)
		}
		t.bytes += int64(len(e.Text))
		c.show("writes")
	case agent.ToolUse:
		t.tools[e.CallID] = true
		c.log("tool called", map[string]string{"tool": e.Tool, "input": string(e.Input)})
		c.show("uses " + e.Tool)
	case agent.ToolResult:
		delete(t.tools, e.CallID)
		if e.Error {
			c.log("tool failed", map[string]string{"output": e.Output})
		}
		c.show("read what a tool said")
	case agent.Permission:
		t.asks = append(t.asks, e)
	case agent.Withdrawn:
		t.asks = slices.DeleteFunc(t.asks, func(p agent.Permission) bool { return p.CallID == e.CallID })
	case agent.Budget:
		c.note.Rung = agent.ClampRung(max(c.note.Rung, e.Step))
		return nil, c.keepNote()
	case agent.Usage:
		t.used = e.Tokens
		c.note.Used = t.usage()
		if err := c.keepNote(); err != nil {
			return nil, err
		}
		return nil, c.limit(ctx)
	case agent.Turn:
		c.log("turn ended", map[string]string{"status": string(e.Status), "context": fmt.Sprintf("%d of %d tokens", e.Context.Used, e.Context.Total)})
		return c.ended(e)
	case agent.Exit:
		if t.over {
			return nil, &provider.Exhausted{Usage: t.usage()}
		}
		return nil, exited(e)
	}
	return nil, nil
}

// limit interrupts a turn that has used up what the budgets leave. One that is
// completed all the same counts.
func (c *call) limit(ctx context.Context) error {
	left, used := c.req.Work.Left, c.talk.usage()
	over := left.Tokens > 0 && used.TotalTokens >= left.Tokens || left.Cost > 0 && used.Cost >= left.Cost
	if !over || c.talk.over {
		return nil
	}
	c.talk.over = true
	return c.talk.Interrupt(ctx)
}

func (c *call) ended(e agent.Turn) (*answer, error) {
	t := c.talk
	t.used = e.Tokens
	used := t.usage()
	if e.Cost != nil {
		used.Cost += *e.Cost
	}
	t.before, t.used = used, agent.Tokens{}
	switch {
	case e.Status == agent.Completed:
		return &answer{Text: c.Redact.String(e.Text), used: used}, nil
	case t.over: // however the interrupt is reported
		return nil, &provider.Exhausted{Usage: used}
	case e.Status == agent.Interrupted:
		return nil, &provider.Error{Code: provider.Unknown, Message: "the agent's turn was interrupted", Retriable: true}
	}
	if e.Err == nil {
		return nil, &provider.Error{Code: provider.Unknown, Message: "the agent's turn failed and it does not say why", Retriable: true}
	}
	return nil, e.Err
}

func exited(e agent.Exit) error {
	how := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		how = e.Signal
	}
	message := fmt.Sprintf("the agent ended in the middle of a turn (%s)", how)
	if e.Stderr != "" {
		message += ": " + e.Stderr
	}
	return &provider.Error{Code: provider.Unknown, Message: message, Retriable: true}
}

// show reports progress.
func (c *call) show(doing string) {
	if c.progress != nil {
		end := c.talk.text[max(0, len(c.talk.text)-shown):]
		c.progress(provider.Progress{Bytes: c.talk.bytes, Tail: provider.Tail(c.Redact.Bytes(end)), Doing: doing})
	}
}

// usage is that of the call so far.
func (t *talk) usage() run.Usage {
	in, out := t.used.Input, t.used.Output
	return t.before.Add(run.Usage{InputTokens: in, OutputTokens: out, TotalTokens: in + out})
}

func (t *talk) said() string { return strings.ToValidUTF8(string(t.text), "") }
