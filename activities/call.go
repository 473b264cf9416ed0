package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// reply is a stored answer, or the reason why there is none yet.
type reply struct {
	text    []byte
	raw     run.Ref
	changes []byte // the diff of the agent's checkout
	finish  provider.FinishReason
	usage   run.Usage
	retries []run.Retry
	halt    *Halt
}

// meta is kept beside a raw answer and holds the facts that the text does not say.
type meta struct {
	Provider     string                `json:"provider"`
	Raw          run.Digest            `json:"raw"`
	FinishReason provider.FinishReason `json:"finishReason"`
	Changes      *run.Ref              `json:"changes,omitempty"` // of an agent's checkout
	Usage        run.Usage             `json:"usage"`
	Retries      []run.Retry           `json:"retries,omitempty"`
	DurationMs   int64                 `json:"durationMs"`
}

// callProvider calls the provider and keeps its answer on disk before it returns. If an earlier
// attempt at the same call has stored an answer, callProvider returns it and pays nothing again.
// Two simultaneous attempts take turns. They occur, for example, after a long pause of the first
// attempt's worker.
func (a *Activities) callProvider(ctx context.Context, c Call, build func(provider.Capabilities) (provider.Request, error)) (_ reply, err error) {
	show, stop := report.Heartbeat(ctx, report.Progress{Doing: "writes the record"})
	defer stop()
	var seen usageSeen
	defer func(ctx context.Context) { err = a.tellUsed(ctx, c, seen.load(), err) }(ctx)
	onDisk, err := a.beginEntry(ctx, c.Header)
	if err != nil {
		return reply{}, err
	}
	defer finishEntry(onDisk, &err)
	dir := a.runs.Run(c.RunID)
	lock, err := takeTurns(ctx, dir, c.Artifact("lock"), "the answer", show)
	if err != nil {
		return reply{}, err
	}
	defer lock.Unlock()
	if r, err := findAnswer(dir, c); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = logKept(dir, c, r)
		}
		return r, err
	}
	if err := inTime(ctx, c.Timeout); err != nil {
		return reply{}, err
	}
	show(report.Progress{Doing: "prepares the prompt"})
	p, err := a.open(Opening{Spec: c.Provider, Dir: c.Dir, Sandbox: c.Sandbox, Log: complaints{dir, c}})
	if _, refused := errors.AsType[*NotBoxed](err); refused {
		return reply{}, err
	}
	if err != nil {
		return reply{}, report.Permanent(string(failure.BadRequest), err)
	}
	req, err := build(p.Capabilities())
	if err != nil {
		return reply{}, err
	}
	if req.Work, err = a.lendWork(ctx, dir, c, p, show); err != nil {
		return reply{}, err
	}
	begun, err := a.countStart(dir, c)
	if err != nil {
		return reply{}, err
	}
	if err := onDisk(); err != nil { // nothing is paid before the record says so
		return reply{}, err
	}
	show(report.Progress{Doing: "asks " + c.Provider})
	ctx, stopCall := endure(ctx)
	defer stopCall()
	resp, err := p.Generate(ctx, req, func(pr provider.Progress) {
		seen.store(pr.Used)
		show(report.Progress{Doing: c.Provider + " " + cmp.Or(pr.Doing, "answers"), Bytes: pr.Bytes, Tail: a.redact.String(pr.Tail), Used: pr.Used, Steers: pr.Steers})
	})
	text := a.redact.Bytes([]byte(resp.RawText))
	if r, err := a.haltOf(dir, c, text, usageOf(resp), err); r.halt != nil || err != nil {
		if r.halt != nil && !r.halt.Exhausted { // an agent that waits tells its usage at its end
			r.usage = r.usage.Most(seen.load())
		}
		return r, err
	}
	if err != nil {
		return reply{}, a.failedAttempt(ctx, dir, c, text, usageOf(resp), begun, err)
	}
	failpoint.Hit("call.answered")
	found := p.Capabilities().Edits && begun < maxPaid // an agent's note holds the answer for the next attempt
	return a.keepAnswer(dir, c, text, resp, found)
}

// usageSeen is the usage of a call that its provider has told of while it works. The zero value is none.
type usageSeen struct{ last atomic.Pointer[run.Usage] }

func (u *usageSeen) store(used run.Usage) { u.last.Store(&used) }

func (u *usageSeen) load() run.Usage {
	if used := u.last.Load(); used != nil {
		return *used
	}
	return run.Usage{}
}

// lendWork returns the resources and permissions that the call gives to its provider.
func (a *Activities) lendWork(ctx context.Context, dir *rundir.Dir, c Call, p provider.Provider, show func(report.Progress)) (provider.Work, error) {
	site, err := a.site(ctx, c, show)
	if err != nil {
		return provider.Work{}, err
	}
	w := provider.Work{Site: site, Tools: c.Tools, Permits: c.Permits, Left: leftFor(dir, c, p), Network: c.Network, Options: c.Options, Notes: watchNotes}
	if facts, err := dir.Facts(); err == nil { // for others to read; the call does not rely on it
		w.Name, w.Goal = string(facts.Name), report.Summary(display.Line(display.FirstLine(facts.Goal)))
	}
	return w, nil
}

// leftFor returns the budget of an attempt: the rest that earlier attempts have left. An agent's session counts all
// attempts at a call itself.
func leftFor(dir *rundir.Dir, c Call, p provider.Provider) provider.Left {
	if p.Capabilities().Edits {
		return c.Left
	}
	return c.Left.After(failedUsage(dir, c))
}

// findAnswer returns the answer of an earlier attempt, or fs.ErrNotExist if there is
// none. A raw answer without its meta is complete, for it is written last.
func findAnswer(dir *rundir.Dir, c Call) (reply, error) {
	text, ref, err := dir.Find(c.Artifact("raw.txt"))
	if err != nil {
		return reply{}, err
	}
	r := reply{text: text, raw: ref, finish: provider.Stop}
	if b, _, err := dir.Find(c.Artifact("call.json")); err == nil {
		var m meta
		if json.Unmarshal(b, &m) == nil && m.Raw == ref.Digest {
			r.finish, r.usage, r.retries = m.FinishReason, m.Usage, m.Retries
			if m.Changes != nil {
				r.changes, err = dir.Load(*m.Changes)
			}
			if rundir.Lost(err) { // the text alone is not the answer, and a second one would be paid
				err = addSpent(report.Permanent(ArtifactError, errors.New(err.Error())), r.usage, r.retries)
			}
			return r, err
		}
	}
	return r, nil
}

// keepAnswer keeps the answer with what belongs to it. The call counts as paid once the answer has its name, which it
// gets last: findAnswer relies on the meta and the changes being there by then. The disk takes all of them together.
// If it does not, the call is made again only where the next attempt finds the answer elsewhere and pays nothing.
func (a *Activities) keepAnswer(dir *rundir.Dir, c Call, text []byte, resp provider.Response, found bool) (reply, error) {
	raw := rundir.Content{Name: c.Artifact("raw.txt"), Bytes: text}
	r := reply{
		text: text, raw: raw.Ref(), finish: resp.FinishReason, usage: usageOf(resp).Add(failedUsage(dir, c)), retries: failedRetries(dir, c, maxPaid),
		changes: a.redact.Bytes(resp.Changes),
	}
	m := meta{
		Provider: c.Provider, Raw: r.raw.Digest, FinishReason: r.finish, Usage: r.usage, Retries: r.retries,
		DurationMs: resp.DurationMs,
	}
	var before []rundir.Content
	if len(r.changes) > 0 {
		changes := rundir.Content{Name: c.Artifact("changes.patch"), Bytes: r.changes}
		ref := changes.Ref()
		m.Changes, before = &ref, append(before, changes)
	}
	about, err := encodeJSON(m)
	if err != nil {
		return reply{}, err
	}
	before = append(before, rundir.Content{Name: c.Artifact("call.json"), Bytes: about})
	if _, err := dir.KeepInOrder(append(before, raw)...); err != nil {
		if !found {
			err = unkeptError("the answer came, and it", err, r.usage, r.retries)
		}
		return reply{}, err
	}
	failpoint.Hit("call.stored")
	if err := settlePaid(dir, c); err != nil {
		return reply{}, err
	}
	return r, logAnswer(dir, c, r, map[string]any{"durationMs": resp.DurationMs})
}

// logAnswer adds the line about an answer to the log.
func logAnswer(dir *rundir.Dir, c Call, r reply, fields map[string]any) error {
	maps.Copy(fields, map[string]any{
		"iteration": c.Iteration, "call": c.Number, "provider": c.Provider, "bytes": len(r.text),
		"finishReason": r.finish, "usage": r.usage, answerField: r.raw.Name,
	})
	return dir.Log("provider-"+string(c.Phase), rundir.Info, "answered", fields)
}

// answerField holds the name of the artifact, by which the line about an answer is found.
const answerField = "answer"

// logKept adds the line about an answer that an earlier attempt has kept, unless the log has it: that attempt may have
// died in between.
func logKept(dir *rundir.Dir, c Call, r reply) error {
	if dir.Logged("provider-"+string(c.Phase), fmt.Sprintf("%q:%q", answerField, r.raw.Name)) {
		return nil
	}
	return logAnswer(dir, c, r, map[string]any{"kept": true})
}

// usageOf returns the usage of a response, with the total filled in.
func usageOf(resp provider.Response) run.Usage {
	if resp.Usage == nil {
		return run.Usage{}
	}
	u := *resp.Usage
	if u.TotalTokens == 0 {
		u.TotalTokens = u.InputTokens + u.OutputTokens
	}
	return u
}

// haltOf returns the halt of a call that ended without an answer and has not failed; none for any other call. It keeps
// the text of a call that was cut off. The usage is that of all attempts so far. Of a call that waits for a usage limit or a
// permission it counts only where the call is not made again: made again, it finds on disk what came before.
func (a *Activities) haltOf(dir *rundir.Dir, c Call, text []byte, used run.Usage, cause error) (reply, error) {
	if s, ok := errors.AsType[*provider.Suspended](cause); ok {
		h, err := a.haltForPermission(dir, c, s)
		if err == nil {
			err = settlePaid(dir, c)
		}
		return reply{halt: h, usage: failedUsage(dir, c)}, err // the agent still waits: after an error the next attempt meets the same request
	}
	h, all := &Halt{}, used.Add(failedUsage(dir, c)) // with the usage of this attempt, which is not kept yet
	l, limited := errors.AsType[*failure.Limited](cause)
	if limited {
		until := earlierOf(l.Until, time.Now().Add(maxLimit)).UTC()
		h.Limited = &run.Limited{Until: until, Provider: c.Provider, Reason: report.Summary(a.redact.String(l.Cause.Message))}
	} else if _, h.Exhausted = errors.AsType[*provider.Exhausted](cause); !h.Exhausted {
		return reply{}, nil
	}
	if err := keepHalt(dir, c, text, used, h); err != nil {
		return reply{}, unkeptError("the call was cut off, and what came before", err, all, failedRetries(dir, c, maxPaid))
	}
	return reply{halt: h, usage: all}, nil
}

// keepHalt keeps the text and the usage of a call that was cut off, and settles the call.
func keepHalt(dir *rundir.Dir, c Call, text []byte, used run.Usage, h *Halt) (err error) {
	if h.Cut, err = keepCut(dir, c, text); err != nil {
		return err
	}
	if err := keepUsage(dir, c, used); err != nil {
		return err
	}
	if l := h.Limited; l != nil {
		if err := dir.Log("provider-"+string(c.Phase), rundir.Info, "limited", map[string]any{
			"iteration": c.Iteration, "call": c.Number, "provider": c.Provider, "until": l.Until, "message": l.Reason,
		}); err != nil {
			return err
		}
	}
	return settlePaid(dir, c)
}

// maxLimit bounds the wait for the end of a usage limit.
const maxLimit = 31 * 24 * time.Hour

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// haltForPermission keeps the whole input of the tool call that the agent asks about,
// so that a person can read it before the decision.
func (a *Activities) haltForPermission(dir *rundir.Dir, c Call, s *provider.Suspended) (*Halt, error) {
	input := a.redact.Bytes(s.Input)
	ref, err := dir.Keep(c.Artifact(fmt.Sprintf("permission-%.12s.json", s.Digest())), input)
	if err != nil {
		return nil, err
	}
	return &Halt{Permission: &run.Permission{
		CallID: report.Summary(s.CallID), Tool: report.Summary(display.Line(s.Tool)), Digest: s.Digest(), Input: ref, Candidate: c.Candidate,
		Title:   report.Summary(display.Line(a.redact.String(s.Title))),
		Reason:  report.Summary(display.Line(a.redact.String(s.Reason))),
		Excerpt: display.Clip(display.Text(input), maxExcerpt),
	}}, nil
}

// failedAttempt keeps the text that came before the error, and returns the error that
// says whether to try again. The error carries the usage of all attempts.
func (a *Activities) failedAttempt(ctx context.Context, dir *rundir.Dir, c Call, partial []byte, spent run.Usage, begun int, cause error) error {
	perr, ok := errors.AsType[*failure.Error](cause)
	if !ok {
		if ctx.Err() != nil { // a worker that stops, or a cancellation: no attempt has failed
			if err := keepUsage(dir, c, spent); err != nil {
				return unkeptError("the call was stopped, and what it had used", err, failedUsage(dir, c).Add(spent), failedRetries(dir, c, maxPaid))
			}
			return ctx.Err()
		}
		perr = &failure.Error{Code: failure.Unknown, Message: cause.Error(), Retriable: true}
	}
	n := 1
	for ; n <= maxPaid; n++ {
		if _, _, err := dir.Find(attemptText(c, n)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	message, used := a.redact.String(perr.Message), failedUsage(dir, c).Add(spent)
	err := keepFailure(dir, c, n, run.Problem{Code: string(perr.Code), Message: message}, partial, spent)
	if err == nil {
		err = dir.Log("provider-"+string(c.Phase), rundir.Error, "failed", map[string]any{
			"iteration": c.Iteration, "call": c.Number, "attempt": n, "provider": c.Provider, "code": perr.Code,
			"message": message, "retriable": perr.Retriable, "retryAfter": perr.RetryAfter.String(), "bytes": len(partial),
		})
	}
	if err != nil {
		return unkeptError("the call failed ("+message+"), and what came of it", err, used, failedRetries(dir, c, n-1))
	}
	return temporal.NewApplicationErrorWithOptions(message, string(perr.Code), temporal.ApplicationErrorOptions{
		NonRetryable:   !perr.Retriable || max(n, begun) >= maxPaid,
		NextRetryDelay: cmp.Or(perr.RetryAfter, time.Second<<(n-1)),
		Details:        []any{used, failedRetries(dir, c, n-1)},
	})
}

// keepFailure keeps what came of attempt n, the text last: an attempt counts once its text has its name.
func keepFailure(dir *rundir.Dir, c Call, n int, p run.Problem, partial []byte, spent run.Usage) error {
	if spent != (run.Usage{}) {
		if _, err := keepJSON(dir, attemptUsage(c, n), spent); err != nil {
			return err
		}
	}
	if _, err := keepJSON(dir, attemptError(c, n), p); err != nil {
		return err
	}
	_, err := dir.Keep(attemptText(c, n), partial)
	return err
}

func attemptUsage(c Call, n int) string { return c.Artifact(fmt.Sprintf("attempt-%d.usage.json", n)) }

// failedUsage returns the usage of the attempts at the call that brought no answer.
func failedUsage(dir *rundir.Dir, c Call) run.Usage {
	sum := usageIn(dir, cutUsage(c))
	for n := 1; n <= maxPaid; n++ {
		sum = sum.Add(usageIn(dir, attemptUsage(c, n)))
	}
	return sum
}

// usageIn returns the usage that an artifact holds; none if there is no such artifact.
func usageIn(dir *rundir.Dir, name string) (used run.Usage) {
	if b, _, err := dir.Find(name); err != nil || json.Unmarshal(b, &used) != nil {
		return run.Usage{}
	}
	return used
}

// attemptText names the text that attempt n wrote before it ended in an error.
func attemptText(c Call, n int) string { return c.Artifact(fmt.Sprintf("attempt-%d.raw.txt", n)) }

// providerRequest returns the request of the provider contract for a prompt.
func providerRequest(c Call, system, user string, context provider.Artifacts) provider.Request {
	role := c.Phase.Role()
	return provider.Request{
		RunID: c.RunID, Iteration: c.Iteration, Phase: c.Phase, Role: role, Call: c.Number, Candidate: c.Candidate,
		Prompt: provider.Prompt{System: system, User: user}, ContextArtifacts: context,
		Constraints: provider.Constraints{
			TimeoutMs:  c.Timeout.Milliseconds(),
			PatchFirst: role == run.Developer || role == run.Fixer,

			MaxOutputTokens: c.Options.MaxOutputTokens, Temperature: c.Options.Temperature,
		},
	}
}

// complaints writes the standard error of a provider's program to the run's log. The
// provider has removed the secrets from it.
type complaints struct {
	dir  *rundir.Dir
	call Call
}

func (w complaints) Write(p []byte) (int, error) {
	return len(p), w.dir.Log("provider-"+string(w.call.Phase), rundir.Info, "stderr", map[string]any{
		"iteration": w.call.Iteration, "call": w.call.Number, "text": string(p),
	})
}
