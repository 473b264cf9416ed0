package workflows

import (
	"cmp"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func (r *runner) place() activities.Place {
	return activities.Place{RunID: r.s.Input.RunID, Repository: r.s.Input.Repository}
}

// prepare makes branch and worktree while the planner thinks.
func (r *runner) prepare(ctx workflow.Context) workflow.Future {
	return workflow.ExecuteActivity(acting(ctx, "Make branch and worktree"), acts.Prepare, r.place())
}

// cleanUp removes the worktree and the scratch files; the branch stays.
func (r *runner) cleanUp(ctx workflow.Context) error {
	_ = r.workspace.Get(ctx, nil) // it has ended, one way or the other
	return r.do(acting(ctx, "Remove the worktree"), acts.CleanUp, func(p activities.Place) any { return p }, nil)
}

func (r *runner) start(ctx workflow.Context, phase run.Phase) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := run.PhaseStarted{Role: phase.Role()}
	p.Provider = r.s.Input.Providers.For(p.Role)
	if phase != run.Ask {
		p.Notes = r.s.Notes
	}
	r.emit(ctx, p)
	return nil
}

// work does what the phase is for.
func (r *runner) work(ctx workflow.Context, phase run.Phase) error {
	switch phase {
	case run.Plan:
		return r.plan(ctx)
	case run.Execute, run.Fix:
		return r.propose(ctx)
	case run.Evaluate:
		return r.evaluate(ctx)
	default:
		r.emit(ctx, r.s.Raise())
		return nil
	}
}

func (r *runner) plan(ctx workflow.Context) error {
	var out activities.PlanResult
	err := r.call(ctx, acts.Plan, func(c activities.Call) any { return c }, &out)
	if err != nil {
		return r.failPhase(ctx, err)
	}
	r.emit(ctx, run.PhaseCompleted{Result: run.Planned, Summary: out.Summary, Artifact: &out.Plan, Usage: &out.Usage})
	return nil
}

func (r *runner) propose(ctx workflow.Context) error {
	var out activities.ProposeResult
	err := r.call(ctx, acts.Propose, func(c activities.Call) any { return c }, &out)
	if err != nil {
		return r.failPhase(ctx, err)
	}
	switch {
	case out.Violation != nil:
		r.emit(ctx, run.PhaseFailed{Error: *out.Violation, Artifact: &out.Raw, Usage: &out.Usage})
	case out.Question != nil:
		r.emit(ctx, run.PhaseCompleted{Result: run.Asked, Question: out.Question, Artifact: &out.Raw, Usage: &out.Usage})
	case out.Proposal == nil:
		r.emit(ctx, run.PhaseCompleted{Result: run.Noop, Summary: out.Summary, Artifact: &out.Raw, Usage: &out.Usage})
	default:
		r.emit(ctx, run.PatchProduced{Proposal: *out.Proposal, Usage: &out.Usage})
		if out.Refusal != nil {
			r.emit(ctx, run.PatchApplyFailed{Patch: out.Proposal.Patch.Digest, Error: *out.Refusal})
		}
	}
	return nil
}

// call calls the provider of the phase under way.
func (r *runner) call(ctx workflow.Context, activity any, input func(activities.Call) any, out any) error {
	s, phase := r.s, r.s.Phase()
	if s.OverBudget() {
		return errOverBudget
	}
	limit := s.Input.Timeouts.WithDefaults().Provider
	c := activities.Call{
		Phase: phase, Iteration: s.State.Iteration, Number: s.Calls[phase],
		Provider: s.Input.Providers.For(phase.Role()), Dir: s.Input.Providers.Dir,
		Timeout: limit, Head: s.Head, Patches: s.Input.Patches,
	}
	ctx = thinking(ctx, limit, fmt.Sprintf("%s %d: %s", phase, c.Iteration, c.Provider))
	return r.do(ctx, activity, func(p activities.Place) any {
		c.Place = p
		return input(c)
	}, out)
}

var errOverBudget = errors.New("the token budget is used up")

// failPhase ends a phase whose provider gave nothing: a person says how to go
// on, and the same phase starts again. A cancellation passes through.
func (r *runner) failPhase(ctx workflow.Context, err error) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	p := problemOf(err)
	q := run.Question{
		Question:    fmt.Sprintf("The %s's provider %s failed: %s. How shall the run go on?", r.s.Phase().Role(), r.s.Input.Providers.For(r.s.Phase().Role()), p.Message),
		Reason:      p.Code,
		NeededInput: []string{"any answer calls the provider again, with the answer in its prompt", "cancel the run to end it"},
	}
	if errors.Is(err, errOverBudget) {
		p.Code = run.CodeBudget
		q.Question = fmt.Sprintf("The budget of %d tokens is used up: %d were used. Raise it, or stop?", r.s.Input.MaxTokens, r.s.Usage.TotalTokens)
		q.Reason = run.CodeBudget
		q.NeededInput = []string{"the new total budget in tokens, a number", "cancel the run to end it"}
	}
	r.emit(ctx, run.PhaseFailed{Error: p, Question: &q})
	return nil
}

// problemOf is the error of an activity as the record keeps it.
func problemOf(err error) run.Problem {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return run.Problem{Code: cmp.Or(app.Type(), "UNKNOWN"), Message: app.Message()}
	}
	if _, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		return run.Problem{Code: "TIMEOUT", Message: err.Error()}
	}
	return run.Problem{Code: "UNKNOWN", Message: err.Error()}
}

// evaluate runs the checks and, when they pass, asks the evaluator.
func (r *runner) evaluate(ctx workflow.Context) error {
	j, err := r.check(ctx)
	if err != nil {
		return err
	}
	if j.Verdict == run.Pass && r.s.Input.Providers.Evaluator != "" {
		checked := j
		err := r.call(ctx, acts.Judge, func(c activities.Call) any {
			return activities.JudgeInput{Call: c, Report: checked.Report}
		}, &j)
		if err != nil {
			return r.failPhase(ctx, err)
		}
	}
	ev := run.Evaluation{Report: j.Report, Reasons: j.Reasons, Failed: j.Failed, Usage: j.Usage}
	switch {
	case j.Verdict == run.Pass:
		r.emit(ctx, run.EvaluationPassed{Evaluation: ev})
	case j.Verdict == run.Fixable:
		r.emit(ctx, run.EvaluationFailedFixable{Evaluation: ev})
	default:
		q := run.Question{Question: "The result could not be judged. How shall the run go on?"}
		if j.Question != nil {
			q = *j.Question
		}
		r.emit(ctx, run.EvaluationFailedBlocked{Evaluation: ev, Question: q})
	}
	return nil
}

func (r *runner) check(ctx workflow.Context) (j activities.Judgement, err error) {
	if err := r.workspace.Get(ctx, nil); err != nil {
		return j, err
	}
	in := r.s.Input
	limit := in.Timeouts.WithDefaults().Check
	ctx = checking(ctx, limit, len(in.Checks), fmt.Sprintf("Run %d checks of iteration %d", len(in.Checks), r.s.State.Iteration))
	err = r.do(ctx, acts.Check, func(p activities.Place) any {
		return activities.CheckInput{
			Place: p, Iteration: r.s.State.Iteration, Commit: r.s.Head, Stat: r.s.Stat,
			Commands: in.Checks, Env: in.CheckEnv, Timeout: limit,
		}
	}, &j)
	return j, err
}

func (r *runner) closePhase(ctx workflow.Context) {
	if r.s.Outcome == "" {
		r.emit(ctx, run.PhaseFailed{Error: r.s.Problem})
		return
	}
	r.emit(ctx, run.PhaseCompleted{Result: r.s.Outcome})
}
