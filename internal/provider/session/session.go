// Package session is the provider behind which an agent works. It sends the
// prompt into the agent's session, lets the agent change the disposable
// checkout that the caller lends, and answers with the agent's last message and
// its changes. It decides nothing that is not in the request: a tool that the
// request's policy leaves to a person suspends the call, and the agent waits.
// After a crash it resumes the session.
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
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Config names the agent and its settings.
type Config struct {
	Adapter agent.Adapter
	Choice  agent.Choice // model and mode
	// Pool keeps the sessions that wait for a decision. All providers of a worker
	// share one pool.
	Pool   *Pool
	Redact *redact.Redactor // nil: nothing is redacted
	Log    io.Writer        // gets the end of the agent's standard error, in one Write per call; nil discards it
	// Host lets other sessions reach this session; nil: none can.
	Host Host
	// Places are the directories that no option of a run shows to the agent.
	Places Places
	// Quiet is how long an agent may report nothing while none of its tools runs;
	// zero means DefaultQuiet.
	Quiet time.Duration
}

// DefaultQuiet is the longest silence of an agent that a call waits through.
// Nothing else notices a model's stream that hangs
// (internal/agent/claude/CLIENT.md, 1).
const DefaultQuiet = 5 * time.Minute

// The limits of one call.
const (
	stopLimit     = 10 * time.Second // time for an orderly stop
	maxComplaints = 2                // how often an agent learns that its changes cannot be taken
)

type sessionProvider struct{ Config }

// New returns a provider for the agent of c.
func New(c Config) provider.Provider {
	c.Quiet = cmp.Or(c.Quiet, DefaultQuiet)
	return sessionProvider{c}
}

func (p sessionProvider) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Name: string(p.Adapter.Kind()), SupportsPatchFirst: true, SupportsStreaming: true, SupportsToolCalls: true,
		Explores: true, Edits: true,
	}
}

func (p sessionProvider) Generate(ctx context.Context, req provider.Request, progress func(provider.Progress)) (provider.Response, error) {
	start := time.Now()
	if err := ctx.Err(); err != nil {
		return provider.Response{}, err
	}
	if err := req.Check(); err != nil {
		return provider.FailedResponse(err, "", 0), err
	}
	if req.Work.Site == nil {
		e := &failure.Error{Code: failure.BadRequest, Message: "an agent needs a checkout to work in, but got none"}
		return provider.FailedResponse(e, "", 0), e
	}
	within, stop := context.WithTimeout(ctx, req.Constraints.Timeout())
	defer stop()
	c := &activeCall{sessionProvider: p, req: req, progress: progress}
	resp, err := c.runAgent(within)
	resp.RawText = p.Redact.String(resp.RawText)
	resp.DurationMs = time.Since(start).Milliseconds()
	if err == nil {
		return resp, nil
	}
	if ctx.Err() != nil {
		return provider.Response{RawText: resp.RawText, FinishReason: provider.Failed, Usage: resp.Usage, DurationMs: resp.DurationMs}, ctx.Err()
	}
	if h, ok := provider.HaltOf(err); ok {
		return resp.WithHalt(h), nil
	}
	return p.classifyError(resp, err, req.Constraints.Timeout())
}

// classifyError turns an error of a call into the response and the error that
// the provider's contract asks for.
func (p sessionProvider) classifyError(resp provider.Response, err error, limit time.Duration) (provider.Response, error) {
	e, ok := errors.AsType[*failure.Error](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e = &failure.Error{Code: failure.Timeout, Message: fmt.Sprintf("no answer within %v", limit), Retriable: true}
	case errors.Is(err, agent.ErrUnavailable):
		e = &failure.Error{Code: failure.BadRequest, Message: err.Error()}
	case !ok:
		e = &failure.Error{Code: failure.Unknown, Message: err.Error(), Retriable: true}
	}
	e.Message = display.Clip(p.Redact.String(e.Message), failure.MaxMessage)
	out := provider.FailedResponse(e, resp.RawText, 0)
	out.DurationMs, out.Usage = resp.DurationMs, resp.Usage
	return out, e
}

// waitsForPerson reports whether err ends a call whose agent waits for a permission.
func waitsForPerson(err error) bool {
	h, ok := errors.AsType[*provider.Halted](err)
	return ok && h.Halt.Permission != nil
}

// activeCall is one call of Generate.
type activeCall struct {
	sessionProvider
	req      provider.Request
	progress func(provider.Progress)

	note slotNote
	// left is the usage that the note on disk has and no one has reported.
	left run.Usage
	talk *talk
	// servingPeers says that the run's own turn is over and its answer kept. The
	// turns that follow serve the messages of other sessions.
	servingPeers bool
}

// runAgent lets the agent answer the request. The agent's process is gone
// afterwards in every case except one: if the call is suspended, the pool keeps
// it.
func (c *activeCall) runAgent(ctx context.Context) (resp provider.Response, err error) {
	site := c.req.Work.Site
	if c.talk = c.Pool.takeTalk(site.Slot(), c.workKey(), c.req.Call); c.talk == nil {
		release, err := site.Hold(ctx, func() { c.Pool.releaseSlot(site.Slot()) })
		if err != nil {
			return provider.Response{}, err
		}
		c.talk = &talk{release: release, unreached: make(chan string, maxUnreached)}
	}
	kept := false
	defer func() {
		if !kept { // also after a panic in an adapter
			c.talk.endAgent()
		}
	}()
	resp, err = c.produceAnswer(ctx)
	if err == nil {
		c.answerPeers(ctx)
		resp.Usage = c.unreportedUsage()
	}
	if text := c.talk.stderr.TakeLines(); c.Log != nil && len(text) > 0 {
		_, _ = c.Log.Write(c.Redact.Bytes(text))
	}
	if waitsForPerson(err) {
		kept = true
		c.talk.pauseMessages()
		c.Pool.keepTalk(site.Slot(), c.workKey(), c.req.Call, c.talk)
	}
	return resp, err
}

// produceAnswer lets the agent work until its changes can be taken.
func (c *activeCall) produceAnswer(ctx context.Context) (provider.Response, error) {
	var err error
	if c.note, err = loadNote(c.req.Work.Site); err != nil {
		return provider.Response{}, err
	}
	c.left = *c.unreportedUsage()
	a, err := c.firstAnswer(ctx)
	for told := 0; ; told++ {
		if err != nil {
			return c.partialResponse(ctx, err), err
		}
		resp, unfit := c.buildResponse(ctx, a)
		bad, ok := errors.AsType[*failure.Error](unfit)
		if !ok || told == maxComplaints {
			if unfit != nil {
				resp.Usage = c.reportUsage(ctx)
			}
			return resp, unfit
		}
		a, err = c.requestRepair(ctx, bad.Message)
	}
}

// firstAnswer returns the answer of an earlier attempt if the note holds it, and
// the answer of a turn otherwise.
func (c *activeCall) firstAnswer(ctx context.Context) (answer, error) {
	var used run.Usage // by earlier attempts
	if c.note.isFor(c.workKey(), c.req.Call) {
		if used = c.note.Used; c.note.Answer != nil && c.note.Task == c.taskDigest() {
			return *c.note.Answer, nil
		}
	}
	if c.talk.Session == nil {
		if c.req.Work.Left.IsUsedUp(used) {
			return answer{}, provider.Exhaust()
		}
		if err := c.beginWork(ctx); err != nil {
			return answer{}, err
		}
	}
	a, err := c.awaitAnswer(ctx)
	if c.talk.resumed && (errors.Is(err, agent.ErrNoSession) || isContextFull(err)) {
		a, err = c.answerAnew(ctx)
	}
	return a, err
}

// requestRepair explains to the agent why its changes cannot be taken, and returns its
// next answer.
func (c *activeCall) requestRepair(ctx context.Context, why string) (answer, error) {
	if c.talk.Session == nil { // the answer came from an earlier attempt
		if err := c.startAgent(ctx, true); err != nil {
			return answer{}, err
		}
	}
	if err := c.sendPrompt(ctx, repairPrompt(why)); err != nil {
		return answer{}, err
	}
	return c.awaitAnswer(ctx)
}

// isContextFull reports whether err says that the session's context is full.
func isContextFull(err error) bool {
	e, ok := errors.AsType[*failure.Error](err)
	return ok && e.Code == failure.BadRequest && strings.HasPrefix(e.Message, failure.TooLong)
}

// buildResponse returns the response to a completed turn. Its changes are the
// content of the checkout at the end of the turn. They are kept in the note;
// later changes to the checkout are not part of them.
func (c *activeCall) buildResponse(ctx context.Context, a answer) (provider.Response, error) {
	resp := provider.Response{RawText: a.Text, FinishReason: provider.Stop, Usage: c.unreportedUsage()}
	if c.roleSandbox() == agent.ReadOnly {
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

// unreportedUsage returns the usage of the call that no error has reported yet.
func (c *activeCall) unreportedUsage() *run.Usage {
	used := c.note.Used.Sub(c.note.Reported)
	return &used
}

// partialResponse returns the unfinished answer. It reports the usage once; a
// call that only waits reports it at its end.
func (c *activeCall) partialResponse(ctx context.Context, err error) provider.Response {
	resp := provider.Response{RawText: strings.ToValidUTF8(string(c.talk.text), ""), FinishReason: provider.Failed}
	if c.talk.Session != nil {
		c.note.Used = c.talk.callUsage()
	}
	if waitsForPerson(err) {
		c.keepNoteOrLog()
		return resp
	}
	resp.Usage = c.reportUsage(ctx)
	return resp
}

// reportUsage returns the usage that an error reports, and keeps the note. A canceled call reports nothing, because its
// caller need not read the answer: the next attempt reports its usage. If the note cannot be kept, the next attempt
// reports the part that it finds in the last note. A call that has sent nothing has used nothing; the note is of an
// earlier call.
func (c *activeCall) reportUsage(ctx context.Context) *run.Usage {
	if errors.Is(ctx.Err(), context.Canceled) || !c.note.isFor(c.workKey(), c.req.Call) {
		c.keepNoteOrLog()
		return nil
	}
	used, left := *c.unreportedUsage(), c.left
	c.note.Reported = c.note.Used
	if !c.keepNoteOrLog() {
		used = used.Sub(left)
	}
	return &used
}

// keepNoteOrLog keeps the note on a path that already returns an error.
func (c *activeCall) keepNoteOrLog() (kept bool) {
	err := c.keepNote()
	if err != nil {
		c.log("note not kept", map[string]string{"error": err.Error()})
	}
	return err == nil
}

// roleSandbox returns how far the role's agent may reach: the planner and the
// evaluator change nothing.
func (c *activeCall) roleSandbox() agent.Sandbox {
	if c.req.Role == run.Developer || c.req.Role == run.Fixer {
		return agent.WorkspaceWrite
	}
	return agent.ReadOnly
}

func (c *activeCall) workKey() string { return workKey(c.req) }

// workKey names the piece of work. All calls that this work needs share it.
func workKey(req provider.Request) string {
	return fmt.Sprintf("%s-%d-%d", req.Phase, req.Iteration, req.Candidate)
}

// taskDigest identifies the prompt that the agent is given.
func (c *activeCall) taskDigest() run.Digest { return run.DigestOf([]byte(taskPrompt(c.req.Prompt))) }
