package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// maxErrors is how many retriable errors of a provider one call takes. They
// are counted on disk, so that lost workers do not use them up.
const maxErrors = 5

// reply is a stored answer.
type reply struct {
	text   []byte
	raw    run.Ref
	finish provider.FinishReason
	usage  run.Usage
}

// meta lies beside a raw answer: what the text itself does not say.
type meta struct {
	Provider     string                `json:"provider"`
	Raw          run.Digest            `json:"raw"`
	FinishReason provider.FinishReason `json:"finishReason"`
	Usage        run.Usage             `json:"usage"`
	DurationMs   int64                 `json:"durationMs"`
}

// ask calls the provider, unless an earlier attempt at the same call has
// stored its answer: then that is the reply and nothing is paid again. The
// answer is on disk before ask returns. Two attempts at once, as after a
// heartbeat that came late, take turns.
func (a *Activities) ask(ctx context.Context, c Call, build func() (provider.Request, error)) (reply, error) {
	show, stop := pulse(ctx, Beat{Doing: "prepares the prompt"})
	defer stop()
	if err := a.record(c.Place); err != nil {
		return reply{}, err
	}
	dir := a.runs.Run(c.RunID)
	unlock, err := dir.Lock(ctx, c.Artifact("lock"))
	if err != nil {
		return reply{}, err
	}
	defer unlock()
	if r, err := stored(dir, c); !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	p, err := a.open(c.Provider, c.Dir, complaints{dir, c})
	if err != nil {
		return reply{}, permanent(string(provider.BadRequest), err)
	}
	req, err := build()
	if err != nil {
		return reply{}, err
	}
	show(Beat{Doing: "asks " + c.Provider})
	resp, err := p.Generate(ctx, req, func(pr provider.Progress) {
		show(Beat{Doing: c.Provider + " answers", Bytes: pr.Bytes, Tail: a.redact.String(pr.Tail)})
	})
	text := a.redact.Bytes([]byte(resp.RawText))
	if err != nil {
		return reply{}, a.refused(ctx, dir, c, text, err)
	}
	failpoint.Hit("call.answered")
	return a.store(dir, c, text, resp)
}

// stored finds the answer of an earlier attempt; fs.ErrNotExist when there is
// none. A raw answer that lacks its meta is whole: it is written last.
func stored(dir *rundir.Dir, c Call) (reply, error) {
	text, ref, err := dir.Find(c.Artifact("raw.txt"))
	if err != nil {
		return reply{}, err
	}
	r := reply{text: text, raw: ref, finish: provider.Stop}
	if b, _, err := dir.Find(c.Artifact("call.json")); err == nil {
		var m meta
		if json.Unmarshal(b, &m) == nil && m.Raw == ref.Digest {
			r.finish, r.usage = m.FinishReason, m.Usage
		}
	}
	return r, nil
}

// store keeps what is known of the answer, and then the answer: with it the
// call is paid.
func (a *Activities) store(dir *rundir.Dir, c Call, text []byte, resp provider.Response) (reply, error) {
	r := reply{text: text, finish: resp.FinishReason}
	if resp.Usage != nil {
		r.usage = *resp.Usage
		if r.usage.TotalTokens == 0 {
			r.usage.TotalTokens = r.usage.InputTokens + r.usage.OutputTokens
		}
	}
	m := meta{c.Provider, run.DigestOf(text), r.finish, r.usage, resp.DurationMs}
	if _, err := keepJSON(dir, c.Artifact("call.json"), m); err != nil {
		return reply{}, err
	}
	var err error
	failpoint.Hit("call.meta")
	if r.raw, err = dir.Keep(c.Artifact("raw.txt"), text); err != nil {
		return reply{}, err
	}
	failpoint.Hit("call.stored")
	return r, dir.Log("provider-"+string(c.Phase), rundir.Info, "answered", map[string]any{
		"iteration": c.Iteration, "call": c.Number, "provider": c.Provider, "bytes": len(text),
		"finishReason": r.finish, "durationMs": resp.DurationMs, "usage": r.usage,
	})
}

// refused keeps what came before the error and says whether to try again.
func (a *Activities) refused(ctx context.Context, dir *rundir.Dir, c Call, partial []byte, cause error) error {
	perr, ok := errors.AsType[*provider.Error](cause)
	if !ok {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		perr = &provider.Error{Code: provider.Unknown, Message: cause.Error(), Retriable: true}
	}
	n := 1
	for ; n <= maxErrors; n++ {
		if _, _, err := dir.Find(attempt(c, n)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if _, err := dir.Keep(attempt(c, n), partial); err != nil {
		return err
	}
	message := a.redact.String(perr.Message)
	err := dir.Log("provider-"+string(c.Phase), rundir.Error, "failed", map[string]any{
		"iteration": c.Iteration, "call": c.Number, "attempt": n, "provider": c.Provider, "code": perr.Code,
		"message": message, "retriable": perr.Retriable, "retryAfter": perr.RetryAfter.String(), "bytes": len(partial),
	})
	if err != nil {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(message, string(perr.Code), temporal.ApplicationErrorOptions{
		NonRetryable:   !perr.Retriable || n >= maxErrors,
		NextRetryDelay: perr.RetryAfter,
	})
}

// attempt names what an attempt left that ended in an error.
func attempt(c Call, n int) string { return c.Artifact(fmt.Sprintf("attempt-%d.raw.txt", n)) }

// request is the contract's request around a prompt.
func request(c Call, system, user string, context provider.Artifacts) provider.Request {
	role := c.Phase.Role()
	return provider.Request{
		RunID: c.RunID, Iteration: c.Iteration, Phase: c.Phase, Role: role, Call: c.Number,
		Prompt: provider.Prompt{System: system, User: user}, ContextArtifacts: context,
		Constraints: provider.Constraints{
			TimeoutMs:  c.Timeout.Milliseconds(),
			PatchFirst: role == run.Developer || role == run.Fixer,
		},
	}
}

// complaints puts what a provider's program writes to standard error into
// the run's log. The provider has taken the secrets out.
type complaints struct {
	dir  *rundir.Dir
	call Call
}

func (w complaints) Write(p []byte) (int, error) {
	return len(p), w.dir.Log("provider-"+string(w.call.Phase), rundir.Info, "stderr", map[string]any{
		"iteration": w.call.Iteration, "call": w.call.Number, "text": string(p),
	})
}
