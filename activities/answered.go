package activities

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
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
	halt    *run.Halt
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
func (t *attempt) keepAnswer(text []byte, resp provider.Response, found bool) (reply, error) {
	dir, c := t.dir, t.Call
	raw := rundir.Content{Name: c.Artifact("raw.txt"), Bytes: text}
	r := reply{
		text: text, raw: raw.Ref(), finish: resp.FinishReason, usage: usageOf(resp).Add(failedUsage(dir, c)), retries: failedRetries(dir, c, maxPaid),
		changes: t.redact.Bytes(resp.Changes),
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
			err = notSavedError("the answer", err, r.usage, r.retries)
		}
		return reply{}, err
	}
	failpoint.Hit("call.stored")
	if err := resetStarts(dir, c); err != nil {
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
	u.TotalTokens = cmp.Or(u.TotalTokens, u.InputTokens+u.OutputTokens)
	return u
}
