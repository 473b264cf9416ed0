package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// startsWithBaseline reports whether the checks run on the base commit before anything else. They make
// the branch then.
func (r *runner) startsWithBaseline() bool {
	return r.s.Next.Do == run.Begin && r.s.WantsBaseline() || r.s.NeedsBaseline()
}

// runBaseline runs the checks on the base commit, before any provider is called. An error of the activity
// is the problem of the baseline, about which a person is asked. It returns the error of a cancellation.
func (r *runner) runBaseline(ctx workflow.Context) (*run.Baseline, error) {
	s, n := r.s, len(r.s.Checks())
	in := r.checkInput()
	in.Iteration, in.Evaluation, in.Commit, in.Baseline = 0, s.Asked+1, s.Input.Repository.Base, true
	on := checkContext(ctx, in.Timeout, n, fmt.Sprintf("Run %d checks on the base commit", n))
	j, err := runActivity(on, r, acts.Check, in)
	switch {
	case temporal.IsCanceledError(err):
		return nil, err
	case err != nil:
		return &run.Baseline{Problem: baselineProblem(report.ProblemOf(err))}, nil
	}
	made, set := workflow.NewFuture(ctx)
	set.SetValue(nil)
	r.workspace = made
	return j.Baseline, nil
}

// baselineProblem returns the problem of checks that could not be run. A problem of the repository or of
// the box keeps its own question.
func baselineProblem(p run.Problem) *run.Problem {
	if p.Code != run.CodeRepository && p.Code != run.CodeSandbox {
		p = run.Problem{Code: run.CodeBaseline, Message: fmt.Sprintf("the checks could not be run (%s): %s", p.Code, p.Message)}
	}
	return &p
}

// checkInput returns the input that all runs of the checks share.
func (r *runner) checkInput() activities.CheckInput {
	in := r.s.Input
	return activities.CheckInput{
		Iteration: r.s.State.Iteration, Stat: r.s.Stat, Commands: r.s.Checks(), Env: in.CheckEnv, Network: in.CheckNetwork,
		Timeout: in.Timeouts.WithDefaults().Check, CacheReadOnly: in.CacheReadOnly, Before: r.s.BaselineReport(),
	}
}
