package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// inputHeader returns the header of an activity input without an entry for the record.
func (r *runner) inputHeader() activities.Header {
	in := r.s.Input
	return activities.Header{RunID: in.RunID, Name: in.Name, Repository: in.Repository, Sandbox: in.Sandbox, Branch: in.Naming.Branch}
}

// prepareWorkspace starts to make the branch, while the planner works.
func (r *runner) prepareWorkspace(ctx workflow.Context) workflow.Future {
	return workflow.ExecuteActivity(acting(ctx, "Make the branch"), acts.Prepare, r.inputHeader())
}

// cleanUp removes the worktree and the scratch files. The branch stays.
func (r *runner) cleanUp(ctx workflow.Context) error {
	if r.workspace != nil {
		_ = r.workspace.Get(ctx, nil) // waits for its end; its error does not matter here
	}
	return r.runBare(acting(ctx, "Remove the worktree"), acts.CleanUp)
}

func (r *runner) startPhase(ctx workflow.Context, phase run.Phase) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := run.PhaseStarted{Role: phase.Role()}
	if r.s.NeedsBaseline() {
		var err error
		if p.Baseline, err = r.runBaseline(ctx); err != nil {
			return err
		}
	}
	p.Provider = r.s.Input.Providers.For(p.Role)
	if phase != run.Ask {
		p.Notes = r.s.Notes
	}
	p.Uncounted = r.s.Next.Uncounted
	r.emitEvent(ctx, p)
	return nil
}

// doPhase performs the work of the phase.
func (r *runner) doPhase(ctx workflow.Context, phase run.Phase) error {
	switch phase {
	case run.Plan:
		return r.callPlanner(ctx)
	case run.Execute, run.Fix:
		if part := r.s.PartDue(); part != nil {
			return r.proposePart(ctx, *part)
		}
		return r.callDeveloper(ctx)
	case run.Evaluate:
		return r.evaluateResult(ctx)
	default:
		r.emitEvent(ctx, r.s.NewQuestion())
		return nil
	}
}

func (r *runner) callPlanner(ctx workflow.Context) error {
	if p, q, ok := r.s.BaselineProblem(); ok {
		r.emitEvent(ctx, run.PhaseFailed{Error: p, Question: &q})
		return nil
	}
	c := r.nextCall()
	if c.Provider == run.NoPlanner {
		r.emitEvent(ctx, run.PhaseCompleted{Result: run.Planned, Summary: "skipped: the agent gets the goal directly"})
		return nil
	}
	out, halt, err := callProvider(thinking(ctx, c), r, acts.Plan, c)
	if err != nil || halt != nil {
		return r.endUnanswered(ctx, halt, out.Usage, err)
	}
	r.emitEvent(ctx, run.PhaseCompleted{Result: run.Planned, Summary: out.Summary, Artifact: &out.Plan, Usage: &out.Usage, Retries: out.Retries})
	return nil
}

func (r *runner) callDeveloper(ctx workflow.Context) error {
	if err := r.awaitWorkspace(ctx); err != nil { // pay for no result that cannot be applied or checked
		return r.failPhase(ctx, err)
	}
	if rivals := r.s.Input.CandidateProviders(); len(rivals) > 1 && r.s.Phase() == run.Execute && r.s.Lost == nil {
		return r.runContest(ctx, rivals)
	}
	c := r.nextCall()
	if c.Lost = r.s.Lost; c.Lost != nil && c.Phase == run.Execute { // the lost proposal may belong to one of several attempts
		c.Provider, c.Slot = r.s.ProviderOf(c.Phase, r.s.Chosen), r.s.Slot(c.Phase, r.s.Chosen)
		c.Permits = r.s.PermitsOf(c.Slot)
	}
	out, halt, err := callProvider(thinking(ctx, c), r, acts.Propose, c)
	if err != nil || halt != nil {
		return r.endUnanswered(ctx, halt, out.Usage, err)
	}
	return r.emitAnswer(ctx, out)
}

// emitAnswer emits the events for the answer of a developer or a fixer.
func (r *runner) emitAnswer(ctx workflow.Context, out activities.ProposeResult) error {
	switch {
	case out.Violation != nil:
		r.emitEvent(ctx, run.PhaseFailed{Error: *out.Violation, Artifact: &out.Raw, Usage: &out.Usage, Retries: out.Retries})
	case out.Question != nil:
		r.emitEvent(ctx, run.PhaseCompleted{Result: run.Asked, Question: out.Question, Artifact: &out.Raw, Usage: &out.Usage, Retries: out.Retries})
	case out.Proposal == nil:
		r.emitEvent(ctx, run.PhaseCompleted{Result: run.Noop, Summary: out.Summary, Artifact: &out.Raw, Usage: &out.Usage, Retries: out.Retries})
	default:
		r.emitEvent(ctx, run.PatchProduced{Proposal: *out.Proposal, Usage: &out.Usage, Retries: out.Retries})
		if out.Refusal != nil {
			r.emitEvent(ctx, run.PatchApplyFailed{Patch: out.Proposal.Patch.Digest, Error: *out.Refusal})
		}
	}
	return nil
}

// calling is satisfied by a pointer to the input of an activity that calls a provider.
type calling[In any] interface {
	headed[In]
	Artifact(suffix string) string
}

// callProvider runs an activity that calls a provider. At a usage limit it waits until the limit ends
// and calls again. The halt is why the call cannot answer for another reason; nil: it has answered, or has failed.
func callProvider[In any, Out activities.Answer, P calling[In]](
	ctx workflow.Context, r *runner, activity func(context.Context, In) (Out, error), in In,
) (out Out, halt *run.Halt, err error) {
	for {
		if _, _, ok := r.s.BudgetLeft(); !ok {
			var none Out
			return none, &run.Halt{Exhausted: true}, nil
		}
		out, err = runActivity[In, Out, P](ctx, r, activity, in)
		r.unreported.keepUsage(P(&in).Artifact("usage"), out, err)
		halt, _ = out.Halted()
		if err != nil || halt == nil || halt.Limited == nil {
			return out, halt, err
		}
		if err := r.waitOut(ctx, *halt.Limited); err != nil {
			return out, nil, err
		}
	}
}

// nextCall returns the provider call of the phase in progress.
func (r *runner) nextCall() activities.Call {
	s, phase := r.s, r.s.Phase()
	tokens, cost, _ := s.BudgetLeft()
	limit := s.Input.Timeouts.WithDefaults().Provider
	c := activities.Call{
		Phase: phase, Iteration: s.State.Iteration, Number: s.Calls[phase],
		Provider: s.Input.Providers.For(phase.Role()), Dir: s.Input.Providers.Dir,
		Timeout: limit, Head: s.Head, Patches: s.Input.Patches,
		Slot: s.Slot(phase, 0), Tools: s.Input.Tools, Network: s.Input.Network, Options: s.Input.OptionsOf(phase.Role()),
		Left: provider.Left{Tokens: tokens, Cost: cost},
	}
	c.Permits = s.PermitsOf(c.Slot)
	if phase == run.Execute || phase == run.Fix {
		c.Checks = s.Checks()
	}
	return c
}

// emitHalt asks a person for the decision that a call waits for. After a decision on a tool the same
// call is made again. After a decision on a larger budget the phase starts again.
func (r *runner) emitHalt(ctx workflow.Context, h run.Halt, used run.Usage) error {
	if h.Permission != nil {
		r.emitEvent(ctx, r.s.NewPermission(*h.Permission))
		return nil
	}
	p, q := r.s.BudgetOverrun(used)
	r.emitEvent(ctx, run.PhaseFailed{Error: p, Question: &q, Artifact: h.Cut, Usage: &used})
	return nil
}

// latestLimit returns the usage limit that ends last among the limits that calls wait for. It returns
// nil if no call waits.
func (r *runner) latestLimit() *run.Limited {
	var last *run.Limited
	for _, l := range r.limits {
		if last == nil || l.Until.After(last.Until) {
			last = l
		}
	}
	return last
}

// waitOut waits until a usage limit ends. It returns errMoves if the run is to move meanwhile.
func (r *runner) waitOut(ctx workflow.Context, l run.Limited) error {
	r.limits = append(r.limits, &l)
	defer func() {
		r.limits = slices.DeleteFunc(r.limits, func(other *run.Limited) bool { return other == &l })
	}()
	r.updateUI(ctx)
	moves, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout:      max(l.Until.Sub(workflow.Now(ctx)), time.Second),
		TimerOptions: workflow.TimerOptions{Summary: fmt.Sprintf("Usage limit of %s, until %s", l.Provider, page.FormatTime(l.Until))},
	}, r.moves)
	if moves {
		return errMoves
	}
	return err
}

// endUnanswered ends a phase whose provider gave no answer, because its call was halted or has failed.
func (r *runner) endUnanswered(ctx workflow.Context, h *run.Halt, used run.Usage, err error) error {
	if err == nil {
		return r.emitHalt(ctx, *h, used)
	}
	return r.failPhase(ctx, err)
}

// failPhase ends a phase that an error ended. It asks a person how to continue, and the same
// phase starts again. It returns errMoves, and the error of a cancellation.
func (r *runner) failPhase(ctx workflow.Context, err error) error {
	if temporal.IsCanceledError(err) || errors.Is(err, errMoves) {
		return err
	}
	used, before := spentOn(err)
	return r.emitFailure(ctx, err, used, before)
}

// emitFailure asks a person how to continue after an error.
func (r *runner) emitFailure(ctx workflow.Context, err error, used run.Usage, before []run.Retry) error {
	p := report.ProblemOf(err)
	q := run.Question{
		Question:    fmt.Sprintf("The %s's provider %s failed: %s. How should the run continue?", r.s.Phase().Role(), r.s.Input.Providers.For(r.s.Phase().Role()), p.Message),
		Reason:      p.Code,
		NeededInput: []string{"any text calls the provider again, with your text in its prompt", "cancel the run to end it"},
	}
	if p.Code == run.CodeRepository {
		q = run.RepositoryQuestion(p)
	}
	if p.Code == run.CodeSandbox {
		q = run.SandboxQuestion(r.s.Phase(), p)
	}
	if p.Code == run.CodeArtifact {
		q.Question = fmt.Sprintf("A file is missing from the run's directory: %s. How should the run continue?", p.Message)
		q.NeededInput[0] = "restore it from a copy, then answer with any text: the step is repeated"
	}
	failed := run.PhaseFailed{Error: p, Question: &q, Retries: before}
	if used != (run.Usage{}) {
		failed.Usage = &used
	}
	r.emitEvent(ctx, failed)
	return nil
}

// spentOn returns the usage of the call that ended in err, and the errors that came before. Both are
// zero if they are not known.
func spentOn(err error) (used run.Usage, before []run.Retry) {
	if end, ok := errors.AsType[*temporal.CanceledError](err); ok && end.HasDetails() {
		_ = end.Details(&used)
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.HasDetails() {
		_ = app.Details(&used, &before) // others than a call's leave both zero
	}
	return used, before
}

// evaluateResult runs the checks and, when they pass, asks the evaluator.
func (r *runner) evaluateResult(ctx workflow.Context) error {
	j, err := r.runChecks(ctx)
	if err != nil {
		return r.failPhase(ctx, err)
	}
	network := j.Network
	if j.Verdict == run.Pass && r.s.Input.Providers.Evaluator != "" {
		c := r.nextCall()
		var halt *run.Halt
		j, halt, err = callProvider(thinking(ctx, c), r, acts.Judge, activities.JudgeInput{Call: c, Report: j.Report})
		if err != nil || halt != nil {
			_, used := j.Halted()
			return r.endUnanswered(ctx, halt, used, err)
		}
	}
	ev := run.Evaluation{Report: j.Report, Reasons: j.Reasons, Failed: j.Failed, Before: j.Before, Usage: j.Usage, Retries: j.Retries, Network: network}
	switch {
	case j.Verdict == run.Pass:
		r.emitEvent(ctx, run.EvaluationPassed{Evaluation: ev})
	case j.Verdict == run.Fixable:
		r.emitEvent(ctx, run.EvaluationFailedFixable{Evaluation: ev})
	default:
		q := run.Question{Question: "The result could not be judged. How should the run continue?"}
		if j.Question != nil {
			q = *j.Question
		}
		r.emitEvent(ctx, run.EvaluationFailedBlocked{Evaluation: ev, Question: q, Again: j.Again})
	}
	return nil
}

// runChecks runs the checks on the branch in its current state.
func (r *runner) runChecks(ctx workflow.Context) (activities.Judgement, error) {
	if err := r.awaitWorkspace(ctx); err != nil {
		return activities.Judgement{}, err
	}
	in := r.checkInput()
	in.Evaluation, in.Commit = r.s.Calls[run.Evaluate], r.s.Head
	ctx = checkContext(ctx, in.Timeout, len(in.Commands), fmt.Sprintf("Run %d checks of iteration %d", len(in.Commands), r.s.State.Iteration))
	return runActivity(ctx, r, acts.Check, in)
}

func (r *runner) closePhase(ctx workflow.Context) {
	if r.s.Outcome == "" {
		r.emitEvent(ctx, run.PhaseFailed{Error: r.s.Problem, Question: r.s.LostQuestion()})
		return
	}
	r.emitEvent(ctx, run.PhaseCompleted{Result: r.s.Outcome})
}
