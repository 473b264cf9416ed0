package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// contest holds several developers that work side by side. While one of them waits
// for the decision on a permission, the contest continues and the others work.
type contest struct {
	providers  []string
	candidates []candidate
	running    int
	asked      int              // index of the candidate whose permission was asked for last
	ctx        workflow.Context // context of the candidates at work
	stop       workflow.CancelFunc
}

// candidate is the result of one developer's work.
type candidate struct {
	run.Candidate
	out  activities.ProposeResult
	halt *run.Halt // of the developer's call
	err  error
	over bool
}

// runContest has several developers work side by side, runs the checks on each
// proposal, and proposes the best patch. As soon as an agent waits for a permission,
// runContest asks for it and returns. The step is repeated after the decision.
func (r *runner) runContest(ctx workflow.Context, providers []string) error {
	if r.contest == nil {
		r.flushRecord(ctx)
		r.contest = &contest{providers: providers, candidates: make([]candidate, len(providers))}
		for n := range providers {
			r.startCandidate(ctx, n)
		}
	} else {
		r.startCandidate(ctx, r.contest.asked)
	}
	c := r.contest
	if err := workflow.Await(ctx, func() bool { return c.running == 0 || c.suspendedCandidate() >= 0 }); err != nil {
		return err
	}
	if n := c.suspendedCandidate(); n >= 0 {
		c.asked = n
		e := c.candidates[n]
		return r.emitHalt(ctx, *e.halt, e.out.Usage)
	}
	r.contest = nil
	return r.proposeBest(ctx, c.candidates)
}

// startCandidate starts the work of candidate n, or continues it after a decision.
func (r *runner) startCandidate(ctx workflow.Context, n int) {
	c := r.contest
	if c.stop == nil {
		ctx, c.stop = workflow.WithCancel(ctx)
		c.ctx = ctx
	}
	c.running++
	c.candidates[n] = candidate{}
	workflow.Go(c.ctx, func(ctx workflow.Context) {
		defer func() { c.running-- }()
		c.candidates[n] = r.runCandidate(ctx, n+1, c.providers)
		c.candidates[n].over = true
	})
}

// suspendedCandidate returns the index of a candidate that waits for a permission;
// -1: none does.
func (c *contest) suspendedCandidate() int {
	return slices.IndexFunc(c.candidates, func(e candidate) bool {
		return e.over && e.halt != nil && e.halt.Permission != nil
	})
}

// stopContest cancels the contest in progress, if there is one, and waits for its end.
func (r *runner) stopContest(ctx workflow.Context) {
	if c := r.contest; c != nil {
		c.stop()
		_ = workflow.Await(ctx, func() bool { return c.running == 0 }) // ctx is disconnected
		r.contest = nil
	}
}

// runCandidate calls the developer of candidate n and checks its proposal.
func (r *runner) runCandidate(ctx workflow.Context, n int, providers []string) candidate {
	c := r.nextCall()
	c.Candidate, c.Provider, c.Slot = n, providers[n-1], r.s.Slot(r.s.Phase(), n)
	c.Permits = r.s.PermitsOf(c.Slot)
	c.Left = provider.Left{Tokens: shareOf(c.Left.Tokens, len(providers)), Cost: shareOf(c.Left.Cost, len(providers))}
	e := candidate{Candidate: run.Candidate{Number: n, Provider: c.Provider}}
	e.out, e.halt, e.err = callProvider(thinking(ctx, c), r, acts.Propose, c)
	switch {
	case e.err != nil:
		e.Problem = failureOf(e.err)
	case e.halt != nil:
		e.Problem = haltProblem(*e.halt)
	case e.out.Refusal != nil:
		e.Problem = e.out.Refusal
	case e.out.Violation != nil:
		e.Problem = e.out.Violation
	case e.out.Proposal == nil:
		e.Problem = &run.Problem{Code: "NO_PATCH", Message: "it proposes no patch"}
	default:
		e.Proposal = e.out.Proposal
		if e.err = r.checkCandidate(ctx, c, &e); e.err != nil && report.ProblemOf(e.err).Code == run.CodeSandbox {
			e.Problem = failureOf(e.err)
		}
	}
	return e
}

// failureOf returns the problem to record for a candidate whose call ended in err.
func failureOf(err error) *run.Problem {
	p := report.ProblemOf(err)
	return &p
}

// haltProblem returns the problem to record for a candidate whose call was halted.
func haltProblem(h run.Halt) *run.Problem {
	if h.Exhausted {
		return &run.Problem{Code: run.CodeBudget, Message: "its share of the budget is used up"}
	}
	return &run.Problem{Code: string(failure.Unknown), Message: "the call waits for a decision"}
}

// shareOf returns the part of a budget that one of n candidates gets. Zero means no
// budget and stays zero.
func shareOf[T int64 | run.Micros](left T, n int) T {
	if left == 0 {
		return 0
	}
	return max(left/T(n), 1)
}

// restOf returns the rest of a share. Zero means no bound and stays zero.
func restOf[T int64 | run.Micros](left, used T) T {
	if left == 0 {
		return 0
	}
	return max(left-used, 1)
}

// checkCandidate runs the checks on the candidate's proposal. If they pass, it asks
// the evaluator about it.
func (r *runner) checkCandidate(ctx workflow.Context, c activities.Call, e *candidate) error {
	checks := r.checkInput()
	checks.Iteration, checks.Commit, checks.Stat = c.Iteration, e.Proposal.Base, e.Proposal.Stat
	on := checkContext(ctx, checks.Timeout, len(checks.Commands), fmt.Sprintf("Run %d checks on attempt %d", len(checks.Commands), e.Number))
	j, err := runActivity(on, r, acts.Try, activities.TryInput{
		CheckInput: checks, Candidate: e.Number, Number: c.Number, Patch: e.Proposal.Patch, Raw: e.Proposal.Raw,
	})
	if err != nil {
		return err
	}
	e.Passed, e.Failed, e.Report = j.Verdict == run.Pass, j.Failed, &j.Report
	if !e.Passed || r.s.Input.Providers.Evaluator == "" {
		return nil
	}
	c.Phase, c.Provider, c.Slot, c.Permits = run.Evaluate, r.s.Input.Providers.Evaluator, r.s.Slot(run.Evaluate, e.Number), nil
	c.Left = provider.Left{Tokens: restOf(c.Left.Tokens, e.out.Usage.TotalTokens), Cost: restOf(c.Left.Cost, e.out.Usage.Cost)}
	j, halt, err := callProvider(thinking(ctx, c), r, acts.Judge, activities.JudgeInput{Call: c, Report: *e.Report, Patch: &e.Proposal.Patch})
	_, used := j.Halted()
	if err != nil || halt != nil {
		r.log.Warn("attempt not judged", "attempt", e.Number, "error", err)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		spent, before := spentOn(err)
		e.out.Usage, e.out.Retries = e.out.Usage.Add(used.Add(spent)), run.AddRetries(e.out.Retries, before)
		return nil // the checks alone rank it
	}
	e.Judged, e.Report, e.out.Usage = j.Verdict, &j.Report, e.out.Usage.Add(used)
	e.out.Retries = run.AddRetries(e.out.Retries, j.Retries)
	return nil
}

// proposeBest ranks the candidates and emits the best patch with its rivals.
func (r *runner) proposeBest(ctx workflow.Context, candidates []candidate) error {
	var used run.Usage
	var retries []run.Retry
	var results []run.Candidate
	for _, e := range candidates {
		if temporal.IsCanceledError(e.err) {
			return e.err
		}
		used = used.Add(e.usage())
		retries = run.AddRetries(retries, e.out.Retries)
		results = append(results, e.Candidate)
	}
	ranked := run.RankCandidates(results)
	if ranked[0].Proposal == nil {
		return r.proposeNone(ctx, candidates, used)
	}
	top, rivals := ranked[0], ranked[1:]
	for i := range rivals {
		rivals[i] = rivals[i].Shortened()
	}
	r.emitEvent(ctx, run.PatchProduced{Proposal: *top.Proposal, Usage: &used, Retries: retries, Candidate: top.Number, Rivals: rivals})
	return nil
}

// usage returns the usage of the candidate's calls, however they ended.
func (e candidate) usage() run.Usage {
	spent, _ := spentOn(e.err)
	return e.out.Usage.Add(spent)
}

// proposeNone handles a contest without a patch. It emits the first answer that a
// candidate gave. Without any answer it handles the first halt, and without a halt
// the first error.
func (r *runner) proposeNone(ctx workflow.Context, candidates []candidate, used run.Usage) error {
	for _, e := range candidates {
		if e.err == nil && e.halt == nil {
			e.out.Usage = used
			return r.emitAnswer(ctx, e.out)
		}
	}
	for _, e := range candidates {
		if e.halt != nil {
			return r.emitHalt(ctx, *e.halt, used)
		}
	}
	_, before := spentOn(candidates[0].err)
	return r.emitFailure(ctx, candidates[0].err, used, before)
}
