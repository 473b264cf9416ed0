package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// contest is several developers at work side by side. It lasts over the
// decisions on permissions that one of them waits for: the others work on.
type contest struct {
	providers []string
	entries   []entry
	running   int
	ctx       workflow.Context // of those at work
	stop      workflow.CancelFunc
}

// entry is how one attempt ended.
type entry struct {
	run.Entrant
	out  activities.ProposeResult
	err  error
	over bool
}

// compete has several developers work side by side, runs the checks on what
// each proposes, and puts the best patch forward. As soon as an agent waits for
// a permission, it is asked for; the step is made again after the decision.
func (r *runner) compete(ctx workflow.Context, providers []string) error {
	if r.contest == nil {
		r.flush(ctx)
		r.contest = &contest{providers: providers, entries: make([]entry, len(providers))}
		for n := range providers {
			r.launch(ctx, n)
		}
	} else if n := r.contest.suspended(); n >= 0 { // it has been decided about
		r.launch(ctx, n)
	}
	c := r.contest
	if err := workflow.Await(ctx, func() bool { return c.running == 0 || c.suspended() >= 0 }); err != nil {
		return err
	}
	if n := c.suspended(); n >= 0 {
		h, _ := asHalted(c.entries[n].err)
		return r.halt(ctx, h)
	}
	r.contest = nil
	return r.award(ctx, c.entries)
}

// launch sets an attempt to work, anew or on.
func (r *runner) launch(ctx workflow.Context, n int) {
	c := r.contest
	if c.stop == nil {
		ctx, c.stop = workflow.WithCancel(ctx)
		c.ctx = ctx
	}
	c.running++
	c.entries[n] = entry{}
	workflow.Go(c.ctx, func(ctx workflow.Context) {
		defer func() { c.running-- }()
		c.entries[n] = r.attempt(ctx, n+1, c.providers)
		c.entries[n].over = true
	})
}

// suspended is an attempt that waits for a permission; -1: none does.
func (c *contest) suspended() int {
	return slices.IndexFunc(c.entries, func(e entry) bool {
		h, ok := asHalted(e.err)
		return e.over && ok && h.Permission != nil
	})
}

// disband ends a contest that nobody waits for any more.
func (r *runner) disband(ctx workflow.Context) {
	if c := r.contest; c != nil {
		c.stop()
		_ = workflow.Await(ctx, func() bool { return c.running == 0 }) // ctx is disconnected
		r.contest = nil
	}
}

// attempt is one developer's work, checked.
func (r *runner) attempt(ctx workflow.Context, n int, providers []string) entry {
	c := r.nextCall()
	c.Attempt, c.Provider, c.Slot = n, providers[n-1], r.s.Slot(r.s.Phase(), n)
	c.Permits = r.s.PermitsOf(c.Slot)
	c.Left = provider.Left{Tokens: share(c.Left.Tokens, len(providers)), Cost: share(c.Left.Cost, len(providers))}
	e := entry{Entrant: run.Entrant{Attempt: n, Provider: c.Provider}}
	e.out, e.err = callProvider(thinking(ctx, c), r, acts.Propose, c)
	switch {
	case e.err != nil:
		e.Problem = troubleOf(e.err)
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

// troubleOf is why an attempt came to nothing.
func troubleOf(err error) *run.Problem {
	p := problemOf(err)
	if h, ok := asHalted(err); ok && h.Exhausted {
		p = run.Problem{Code: run.CodeBudget, Message: "its share of the budget is used up"}
	}
	return &p
}

// share is what one of n gets of a budget; zero is none and stays none.
func share[T int64 | run.Micros](left T, n int) T {
	if left == 0 {
		return 0
	}
	return max(left/T(n), 1)
}

// rest is what is left of a share; zero is no bound and stays none.
func rest[T int64 | run.Micros](left, used T) T {
	if left == 0 {
		return 0
	}
	return max(left-used, 1)
}

// try runs the checks on a proposal, and asks the evaluator about one that
// passes.
func (r *runner) try(ctx workflow.Context, c activities.Call, e *entry) error {
	in := r.s.Input
	limit := in.Timeouts.WithDefaults().Check
	on := checking(ctx, limit, len(in.Checks), fmt.Sprintf("Run %d checks on attempt %d", len(in.Checks), e.Attempt))
	j, err := runActivity(on, r, acts.Try, activities.TryInput{
		CheckInput: activities.CheckInput{
			Iteration: c.Iteration, Commit: e.Proposal.Base, Stat: e.Proposal.Stat,
			Commands: in.Checks, Env: in.CheckEnv, Timeout: limit,
		},
		Attempt: e.Attempt, Number: c.Number, Patch: e.Proposal.Patch, Raw: e.Proposal.Raw,
	})
	if err != nil {
		return err
	}
	e.Passed, e.Failed, e.Report = j.Verdict == run.Pass, j.Failed, &j.Report
	if !e.Passed || in.Providers.Evaluator == "" {
		return nil
	}
	c.Phase, c.Provider, c.Slot, c.Permits = run.Evaluate, in.Providers.Evaluator, r.s.Slot(run.Evaluate, e.Attempt), nil
	c.Left = provider.Left{Tokens: rest(c.Left.Tokens, e.out.Usage.TotalTokens), Cost: rest(c.Left.Cost, e.out.Usage.Cost)}
	j, err = callProvider(thinking(ctx, c), r, acts.Judge, activities.JudgeInput{Call: c, Report: *e.Report, Patch: &e.Proposal.Patch})
	if err != nil {
		r.log.Warn("attempt not judged", "attempt", e.Attempt, "error", err)
		return ctx.Err() // the checks alone rank it
	}
	_, used := j.Halted()
	e.Judged, e.Report, e.out.Usage = j.Verdict, &j.Report, e.out.Usage.Add(used)
	e.out.Retries = run.AddRetries(e.out.Retries, j.Retries)
	return nil
}

// award emits what the attempts came to.
func (r *runner) award(ctx workflow.Context, entries []entry) error {
	var used run.Usage
	var retries []run.Retry
	var entrants []run.Entrant
	for _, e := range entries {
		if temporal.IsCanceledError(e.err) {
			return e.err
		}
		used = used.Add(e.used())
		retries = run.AddRetries(retries, e.out.Retries)
		entrants = append(entrants, e.Entrant)
	}
	ranked := run.Rank(entrants)
	if ranked[0].Proposal == nil {
		return r.noPatch(ctx, entries, used)
	}
	top, rivals := ranked[0], ranked[1:]
	for i := range rivals {
		rivals[i] = rivals[i].Short()
	}
	r.emit(ctx, run.PatchProduced{Proposal: *top.Proposal, Usage: &used, Retries: retries, Attempt: top.Attempt, Rivals: rivals})
	return nil
}

// used is what the attempt used, whatever came of it.
func (e entry) used() run.Usage {
	if h, ok := asHalted(e.err); ok {
		return h.used
	}
	spent, _ := spentOn(e.err)
	return e.out.Usage.Add(spent)
}

// noPatch goes on with what the first attempt said that said something.
func (r *runner) noPatch(ctx workflow.Context, entries []entry, used run.Usage) error {
	for _, e := range entries {
		if e.err == nil {
			e.out.Usage = used
			return r.proposed(ctx, e.out)
		}
	}
	for _, e := range entries {
		if h, ok := asHalted(e.err); ok {
			return r.halt(ctx, &halted{h.Halt, used})
		}
	}
	_, before := spentOn(entries[0].err)
	return r.fail(ctx, entries[0].err, used, before)
}
