// Package session is the provider behind which an agent works: it sends the
// prompt into the agent's session, lets the agent change the disposable
// checkout that the caller lends, and answers with its last message and with
// what it changed. It decides nothing that is not in the request: a tool that
// the request's policy leaves to a person suspends the call, and the agent
// waits; after a crash the session is resumed.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Config says which agent works, and how.
type Config struct {
	Adapter agent.Adapter
	Choice  agent.Choice // model and mode
	// Pool keeps the sessions that wait for a decision. All providers of a
	// worker share one.
	Pool   *Pool
	Redact *redact.Redactor // nil: nothing is redacted
	Log    io.Writer        // gets the end of the agent's standard error, in one Write a call; nil discards it
	// Host lets other sessions reach this one; nil: none can.
	Host Host
	// Quiet is how long an agent may say nothing while none of its tools runs;
	// zero is DefaultQuiet.
	Quiet time.Duration
}

// DefaultQuiet is the patience with a silent agent: a model's stream that hangs
// is noticed by nobody else (docs/contracts/claude-code.md, 1).
const DefaultQuiet = 5 * time.Minute

// Limits of one call.
const (
	stopLimit = 10 * time.Second // for an orderly stop
	complaint = 2                // how often an agent is told that its changes cannot be taken
)

type sessions struct{ Config }

// New makes the provider.
func New(c Config) provider.Provider {
	c.Quiet = cmp.Or(c.Quiet, DefaultQuiet)
	return sessions{c}
}

func (p sessions) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Name: string(p.Adapter.Kind()), SupportsPatchFirst: true, SupportsStreaming: true, SupportsToolCalls: true,
		Explores: true, Edits: true,
	}
}

func (p sessions) Generate(ctx context.Context, req provider.Request, progress func(provider.Progress)) (provider.Response, error) {
	start := time.Now()
	if err := ctx.Err(); err != nil {
		return provider.Response{}, err
	}
	if err := req.Check(); err != nil {
		return err.Response("", 0), err
	}
	if req.Work.Site == nil {
		e := &provider.Error{Code: provider.BadRequest, Message: "an agent needs a checkout to work in, and none was lent"}
		return e.Response("", 0), e
	}
	within, stop := context.WithTimeout(ctx, req.Constraints.Timeout())
	defer stop()
	c := &call{sessions: p, req: req, progress: progress}
	resp, err := c.make(within)
	resp.RawText = p.Redact.String(resp.RawText)
	resp.DurationMs = time.Since(start).Milliseconds()
	if err == nil {
		return resp, nil
	}
	if ctx.Err() != nil {
		return provider.Response{RawText: resp.RawText, FinishReason: provider.Failed, DurationMs: resp.DurationMs}, ctx.Err()
	}
	return p.failure(resp, err, req.Constraints.Timeout())
}

// failure is what the contract makes of an error.
func (p sessions) failure(resp provider.Response, err error, limit time.Duration) (provider.Response, error) {
	if halts(err) {
		return resp, err
	}
	e, ok := errors.AsType[*provider.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e = &provider.Error{Code: provider.Timeout, Message: fmt.Sprintf("no answer within %v", limit), Retriable: true}
	case errors.Is(err, agent.ErrUnavailable):
		e = &provider.Error{Code: provider.BadRequest, Message: err.Error()}
	case !ok:
		e = &provider.Error{Code: provider.Unknown, Message: err.Error(), Retriable: true}
	}
	e.Message = provider.Clip(p.Redact.String(e.Message), provider.MaxMessage)
	out := e.Response(resp.RawText, 0)
	out.DurationMs, out.Usage = resp.DurationMs, resp.Usage
	return out, e
}

// halts says whether the call waits for something and has not failed.
func halts(err error) bool {
	_, suspended := errors.AsType[*provider.Suspended](err)
	_, exhausted := errors.AsType[*provider.Exhausted](err)
	_, limited := errors.AsType[*provider.Limited](err)
	return suspended || exhausted || limited
}

// call is one Generate.
type call struct {
	sessions
	req      provider.Request
	progress func(provider.Progress)

	note note
	talk *talk
	// peers says that the run's own turn is over and its answer kept: the turns
	// that follow are those of other sessions' messages.
	peers bool
}

// make has the agent answer. Whatever happens, its process is gone afterwards,
// unless the call is suspended: then the pool keeps it.
func (c *call) make(ctx context.Context) (resp provider.Response, err error) {
	site := c.req.Work.Site
	if c.talk = c.Pool.take(site.Slot(), c.key(), c.req.Call); c.talk == nil {
		release, err := site.Hold(ctx, func() { c.Pool.release(site.Slot()) })
		if err != nil {
			return provider.Response{}, err
		}
		c.talk = &talk{release: release}
	}
	kept := false
	defer func() {
		if !kept { // a panic of an adapter too
			c.talk.end()
		}
	}()
	resp, err = c.answer(ctx)
	if err == nil {
		c.serveOthers(ctx)
		resp.Usage = c.spent()
	}
	if text := c.talk.stderr.take(); c.Log != nil && len(text) > 0 {
		_, _ = c.Log.Write(c.Redact.Bytes(text))
	}
	if _, suspended := errors.AsType[*provider.Suspended](err); suspended {
		kept = true
		c.talk.park()
		c.Pool.keep(site.Slot(), c.key(), c.req.Call, c.talk)
	}
	return resp, err
}

// answer has the agent work until what it changed can be taken.
func (c *call) answer(ctx context.Context) (provider.Response, error) {
	var err error
	if c.note, err = loadNote(c.req.Work.Site); err != nil {
		return provider.Response{}, err
	}
	a, err := c.first(ctx)
	for told := 0; ; told++ {
		if err != nil {
			return c.partial(err), err
		}
		resp, unfit := c.finish(ctx, a)
		bad, ok := errors.AsType[*provider.Error](unfit)
		if !ok || told == complaint {
			return resp, unfit
		}
		a, err = c.mend(ctx, bad.Message)
	}
}

// first is the answer that an earlier attempt was given, or that of a turn.
func (c *call) first(ctx context.Context) (answer, error) {
	if a := c.note.Answer; a != nil && c.note.is(c.key(), c.req.Call) && c.note.Task == c.task() {
		return *a, nil
	}
	if c.talk.Session == nil {
		if err := c.begin(ctx); err != nil {
			return answer{}, err
		}
	}
	a, err := c.listen(ctx)
	if c.talk.resumed && (errors.Is(err, agent.ErrNoSession) || full(err)) {
		a, err = c.anew(ctx)
	}
	return a, err
}

// mend tells the agent why its changes cannot be taken.
func (c *call) mend(ctx context.Context, why string) (answer, error) {
	if c.talk.Session == nil { // the answer was an earlier attempt's
		if err := c.start(ctx, true); err != nil {
			return answer{}, err
		}
	}
	if err := c.send(ctx, unfitPrompt(why)); err != nil {
		return answer{}, err
	}
	return c.listen(ctx)
}

// full says whether the session's context takes no more.
func full(err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Code == provider.BadRequest && strings.HasPrefix(e.Message, provider.TooLong)
}

// finish returns the response to a turn that was completed. The changes are
// those that the checkout held when it ended: they are kept in the note, and what
// happens in the checkout later is no part of them.
func (c *call) finish(ctx context.Context, a answer) (provider.Response, error) {
	resp := provider.Response{RawText: a.Text, FinishReason: provider.Stop, Usage: c.spent()}
	if c.sandbox() == agent.ReadOnly {
		return resp, nil
	}
	if !a.Taken {
		changes, err := c.req.Work.Site.Changes(ctx)
		if err != nil {
			return resp, err
		}
		a.Changes, a.Taken = c.Redact.Bytes(changes), true
		c.note.Answer = &a
		if err := c.keepNote(); err != nil {
			return resp, err
		}
	}
	resp.Changes = a.Changes
	return resp, nil
}

// spent returns what the call has used beyond what its errors have told.
func (c *call) spent() *run.Usage {
	used := c.note.Used.Sub(c.note.Told)
	return &used
}

// partial is what there is of an answer. Its usage is told with it, once; that
// of a call that only waits is told in the end.
func (c *call) partial(err error) provider.Response {
	resp := provider.Response{RawText: c.talk.said(), FinishReason: provider.Failed}
	if c.talk.Session != nil {
		c.note.Used = c.talk.usage()
	}
	if _, waits := errors.AsType[*provider.Suspended](err); !waits {
		resp.Usage = c.spent()
		c.note.Told = c.note.Used
	}
	c.keepBest()
	return resp
}

// keepBest keeps the note where an error is on its way already.
func (c *call) keepBest() {
	if err := c.keepNote(); err != nil {
		c.log("note not kept", map[string]string{"error": err.Error()})
	}
}

// sandbox is how far the role's agent may reach: the planner and the evaluator
// change nothing.
func (c *call) sandbox() agent.Sandbox {
	if c.req.Role == run.Developer || c.req.Role == run.Fixer {
		return agent.WorkspaceWrite
	}
	return agent.ReadOnly
}

// key names what the calls have in common that one piece of work may need.
func (c *call) key() string {
	return fmt.Sprintf("%s-%d-%d", c.req.Phase, c.req.Iteration, c.req.Attempt)
}

// task identifies what the agent is told.
func (c *call) task() run.Digest { return run.DigestOf([]byte(taskPrompt(c.req.Prompt))) }
