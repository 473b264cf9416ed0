package activities

import (
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// keepHalt stores the text of a halted call and ends the call. The usage covers all attempts so far. If the call waits for
// a usage limit or a permission, the usage counts only if the call is not made again: the next call reads the earlier
// usage from disk.
func (t *attempt) keepHalt(text []byte, resp provider.Response) (reply, error) {
	h, used := *resp.Halt, usageOf(resp)
	if h.Permission != nil {
		p, err := t.keepPermission(*h.Permission, resp.Asked)
		if err == nil {
			err = resetStarts(t.dir, t.Call)
		}
		if err != nil { // the agent still waits: the next attempt meets the same request
			return reply{}, err
		}
		h.Permission = &p
		return reply{halt: &h, usage: failedUsage(t.dir, t.Call).Most(t.seen.load())}, nil // the agent reports its usage at its end
	}
	all := used.Add(failedUsage(t.dir, t.Call)) // with the usage of this attempt, which is not kept yet
	if l := h.Limited; l != nil {
		until := earlierOf(l.Until, time.Now().Add(maxLimit)).UTC()
		h.Limited = &run.Limited{Until: until, Provider: t.Provider, Reason: report.Summary(t.redact.String(l.Reason))}
	}
	var err error
	if h.Cut, err = t.keepCutOff(text, used, h.Limited); err != nil {
		return reply{}, notSavedError("the call was cut off, and its output so far", err, all, failedRetries(t.dir, t.Call, maxPaid))
	}
	if h.Limited != nil {
		all = all.Most(t.seen.load())
	}
	return reply{halt: &h, usage: all}, nil
}

// keepCutOff keeps the text and the usage of a call that was cut off, and ends the call. A usage limit is logged.
func (t *attempt) keepCutOff(text []byte, used run.Usage, l *run.Limited) (*run.Ref, error) {
	cut, err := keepCut(t.dir, t.Call, text)
	if err != nil {
		return nil, err
	}
	if err := keepUsage(t.dir, t.Call, used); err != nil {
		return nil, err
	}
	if l != nil {
		if err := t.dir.Log("provider-"+string(t.Phase), rundir.Info, "limited", map[string]any{
			"iteration": t.Iteration, "call": t.Number, "provider": t.Provider, "until": l.Until, "message": l.Reason,
		}); err != nil {
			return nil, err
		}
	}
	return cut, resetStarts(t.dir, t.Call)
}

// maxLimit bounds the wait for the end of a usage limit.
const maxLimit = 31 * 24 * time.Hour

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// keepPermission returns the permission that the agent asks for, without secrets. It keeps the whole input of the tool call,
// so that a person can read it before the decision.
func (t *attempt) keepPermission(p run.Permission, input []byte) (run.Permission, error) {
	input = t.redact.Bytes(input)
	ref, err := t.dir.Keep(t.Artifact(fmt.Sprintf("permission-%.12s.json", p.Digest)), input)
	return run.Permission{
		CallID: report.Summary(p.CallID), Tool: report.Summary(display.Line(p.Tool)), Digest: p.Digest, Input: ref, Candidate: t.Candidate,
		Title:   report.Summary(display.Line(t.redact.String(p.Title))),
		Reason:  report.Summary(display.Line(t.redact.String(p.Reason))),
		Excerpt: display.Clip(display.Text(input), maxExcerpt), Dir: p.Dir,
	}, err
}
