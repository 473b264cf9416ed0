package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// entry is how one attempt ended.
type entry struct {
	run.Entrant
	out activities.ProposeResult
	err error
}

// compete has several developers work side by side, runs the checks on what
// each proposes, and puts the best patch forward. When an agent waits for a
// permission the whole step is made again after the decision: attempts that
// have ended find their answers stored.
func (r *runner) compete(ctx workflow.Context, providers []string) error {
	r.flush(ctx)
	entries := make([]entry, len(providers))
	wg := workflow.NewWaitGroup(ctx)
	for i := range providers {
		wg.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer wg.Done()
			entries[i] = r.attempt(ctx, i+1, providers)
		})
	}
	wg.Wait(ctx)
	return r.award(ctx, entries)
}

// attempt is one developer's work, checked.
func (r *runner) attempt(ctx workflow.Context, n int, providers []string) entry {
	c := r.nextCall()
	c.Attempt, c.Provider, c.Slot = n, providers[n-1], r.s.Slot(r.s.Phase(), n)
	c.Permits = r.s.PermitsOf(c.Slot)
	c.Left = provider.Left{Tokens: c.Left.Tokens / int64(len(providers)), Cost: c.Left.Cost / run.Micros(len(providers))}
	e := entry{Entrant: run.Entrant{Attempt: n, Provider: c.Provider}}
	e.out, e.err = call[activities.ProposeResult](ctx, r, c, acts.Propose, func(c activities.Call) any { return c })
	switch {
	case e.err != nil:
		p := problemOf(e.err)
		e.Problem = &p
	case e.out.Refusal != nil:
		e.Problem = e.out.Refusal
	case e.out.Violation != nil:
		e.Problem = e.out.Violation
	case e.out.Proposal == nil:
		e.Problem = &run.Problem{Code: "NO_PATCH", Message: "it proposes no patch"}
	default:
		e.Proposal = e.out.Proposal
		e.err = r.try(ctx, c, &e)
	}
	return e
}

// try runs the checks on a proposal, and asks the evaluator about one that
// passes.
func (r *runner) try(ctx workflow.Context, c activities.Call, e *entry) error {
	in := r.s.Input
	limit := in.Timeouts.WithDefaults().Check
	on := checking(ctx, limit, len(in.Checks), fmt.Sprintf("Run %d checks on attempt %d", len(in.Checks), e.Attempt))
	var j activities.Judgement
	err := r.do(on, acts.Try, func(p activities.Place) any {
		return activities.TryInput{
			CheckInput: activities.CheckInput{
				Place: p, Iteration: c.Iteration, Commit: e.Proposal.Base, Stat: e.Proposal.Stat,
				Commands: in.Checks, Env: in.CheckEnv, Timeout: limit,
			},
			Attempt: e.Attempt, Number: c.Number, Patch: e.Proposal.Patch,
		}
	}, &j)
	if err != nil {
		return err
	}
	e.Passed, e.Failed, e.Report = j.Verdict == run.Pass, j.Failed, &j.Report
	if !e.Passed || in.Providers.Evaluator == "" {
		return nil
	}
	c.Phase, c.Provider, c.Slot, c.Permits = run.Evaluate, in.Providers.Evaluator, r.s.Slot(run.Evaluate, e.Attempt), nil
	j, err = call[activities.Judgement](ctx, r, c, acts.Judge, func(c activities.Call) any {
		return activities.JudgeInput{Call: c, Report: *e.Report, Patch: &e.Proposal.Patch}
	})
	if err != nil {
		r.log.Warn("attempt not judged", "attempt", e.Attempt, "error", err)
		return ctx.Err() // the checks alone rank it
	}
	_, used := j.Halted()
	e.Judged, e.out.Usage = j.Verdict, e.out.Usage.Add(used)
	return nil
}

// award emits what the attempts came to.
func (r *runner) award(ctx workflow.Context, entries []entry) error {
	var used run.Usage
	var entrants []run.Entrant
	for _, e := range entries {
		if temporal.IsCanceledError(e.err) {
			return e.err
		}
		if h, ok := asHalted(e.err); ok && h.Permission != nil {
			return r.halt(ctx, h)
		}
		used = used.Add(e.out.Usage)
		entrants = append(entrants, e.Entrant)
	}
	ranked := run.Rank(entrants)
	if ranked[0].Proposal == nil {
		return r.noPatch(ctx, entries, used)
	}
	top, rivals := ranked[0], ranked[1:]
	for i := range rivals {
		if p := rivals[i].Proposal; p != nil {
			short := *p
			short.Excerpt = "" // the first one's says enough for the record
			rivals[i].Proposal = &short
		}
	}
	r.emit(ctx, run.PatchProduced{Proposal: *top.Proposal, Usage: &used, Attempt: top.Attempt, Rivals: rivals})
	return nil
}

// noPatch goes on with what the first attempt said that said something.
func (r *runner) noPatch(ctx workflow.Context, entries []entry, used run.Usage) error {
	for _, e := range entries {
		if e.err == nil {
			e.out.Usage = used
			return r.proposed(ctx, e.out)
		}
	}
	return r.failPhase(ctx, entries[0].err)
}
