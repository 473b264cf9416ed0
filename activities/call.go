package activities

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"sync/atomic"

	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// attempt is one attempt at a call of a provider.
type attempt struct {
	*Activities
	Call
	dir   *rundir.Dir
	show  func(report.Progress)
	begun int // starts of the provider for this call that have no answer yet
	seen  usageSeen
}

// callProvider calls the provider and keeps its answer on disk before it returns. If an earlier
// attempt at the same call has stored an answer, callProvider returns it and pays nothing again.
// Two simultaneous attempts take turns. They occur, for example, after a long pause of the first
// attempt's worker.
func (a *Activities) callProvider(ctx context.Context, c Call, build func(provider.Capabilities) (provider.Request, error)) (_ reply, err error) {
	show, stop := report.Heartbeat(ctx, report.Progress{Doing: "writes the record"})
	defer stop()
	t := &attempt{Activities: a, Call: c, dir: a.runs.Run(c.RunID), show: show}
	defer func() { err = a.addUsage(ctx, c, t.seen.load(), err) }()
	onDisk, err := a.beginEntry(ctx, c.Header)
	if err != nil {
		return reply{}, err
	}
	defer finishEntry(onDisk, &err)
	lock, err := takeTurns(ctx, t.dir, c.Artifact("lock"), "the answer", show)
	if err != nil {
		return reply{}, err
	}
	defer lock.Unlock()
	if r, err := t.findKept(); !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := inTime(ctx, c.Timeout); err != nil {
		return reply{}, err
	}
	show(report.Progress{Doing: "prepares the prompt"})
	p, err := t.openProvider()
	if err != nil {
		return reply{}, err
	}
	req, err := build(p.Capabilities())
	if err != nil {
		return reply{}, err
	}
	if req.Work, err = t.lendWork(ctx, p); err != nil {
		return reply{}, err
	}
	if t.begun, err = a.countStart(t.dir, c); err != nil {
		return reply{}, err
	}
	if err := onDisk(); err != nil { // nothing is paid before the record says so
		return reply{}, err
	}
	if err := confirm(ctx, report.Progress{Doing: "asks " + c.Provider}); err != nil {
		return reply{}, err
	}
	return t.makeCall(ctx, p, req)
}

// confirm fails unless the engine still waits for the attempt, as far as it answers. A host that slept was perhaps given the
// attempt in its sleep, and begins it after another host has.
func confirm(ctx context.Context, doing report.Progress) error {
	activity.RecordHeartbeat(ctx, doing) // ends ctx if the attempt is given up
	return context.Cause(ctx)
}

// findKept returns the answer that an earlier attempt has kept, or fs.ErrNotExist if there is none.
func (t *attempt) findKept() (reply, error) {
	r, err := findAnswer(t.dir, t.Call)
	if err == nil {
		err = logKept(t.dir, t.Call, r)
	}
	return r, err
}

func (t *attempt) openProvider() (provider.Provider, error) {
	p, err := t.open(Opening{Spec: t.Provider, Dir: t.Call.Dir, Sandbox: t.Sandbox, Log: complaints{t.dir, t.Call}})
	if _, refused := errors.AsType[*NotBoxed](err); err == nil || refused {
		return p, err
	}
	return nil, report.Permanent(string(failure.BadRequest), err)
}

// makeCall makes the call, and keeps what comes of it.
func (t *attempt) makeCall(ctx context.Context, p provider.Provider, req provider.Request) (reply, error) {
	t.show(report.Progress{Doing: "asks " + t.Provider})
	ctx, stop := endure(ctx)
	defer stop()
	resp, err := p.Generate(ctx, req, func(pr provider.Progress) {
		used := pr.Used
		t.seen.last.Store(&used)
		t.show(report.Progress{Doing: t.Provider + " " + cmp.Or(pr.Doing, "answers"), Bytes: pr.Bytes, Tail: t.redact.String(pr.Tail), Used: pr.Used, Steers: pr.Steers})
	})
	text := t.redact.Bytes([]byte(resp.RawText))
	switch {
	case err != nil:
		return reply{}, t.keepError(ctx, text, usageOf(resp), err)
	case resp.Halt != nil:
		return t.keepHalt(text, resp)
	}
	failpoint.Hit("call.answered")
	return t.keepAnswer(text, resp, p.Capabilities().Edits && t.begun < maxPaid) // an agent's note holds the answer for the next attempt
}

// usageSeen is the usage of a call that its provider reports while it works. The zero value is none.
type usageSeen struct{ last atomic.Pointer[run.Usage] }

func (u *usageSeen) load() run.Usage {
	if used := u.last.Load(); used != nil {
		return *used
	}
	return run.Usage{}
}

// lendWork returns the resources and permissions that the call gives to its provider.
func (t *attempt) lendWork(ctx context.Context, p provider.Provider) (provider.Work, error) {
	c := t.Call
	site, err := t.site(ctx, c, t.show)
	if err != nil {
		return provider.Work{}, err
	}
	w := provider.Work{Site: site, Tools: c.Tools, Permits: c.Permits, Left: leftFor(t.dir, c, p), Network: c.Network, Options: c.Options, Notes: watchNotes}
	if facts, err := t.dir.Facts(); err == nil { // for others to read; the call does not rely on it
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
