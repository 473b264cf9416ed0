// Package workflows holds the deterministic part of Ratchet, which waits and calls activities.
// Package run decides the order of the steps. Package activities performs all side effects.
package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows/coroutine"
	"github.com/ratchet-dev/ratchet/workflows/format"
	"github.com/ratchet-dev/ratchet/workflows/message"
	"github.com/ratchet-dev/ratchet/workflows/notify"
)

// RunInput starts a run. Exactly one of Input and Snapshot is set.
type RunInput struct {
	Format format.Stamp `json:"format"`
	// Input starts a new run.
	Input *run.Input `json:"input,omitempty"`
	// Snapshot continues a run: after continue-as-new, or from a run directory.
	Snapshot *run.Snapshot `json:"snapshot,omitempty"`
	// Refused are the latest signals that the executions before this one have not taken. No event reports them.
	Refused []run.RefusedSignal `json:"refused,omitempty"`
	// Unreported is what no event of the executions before this one reports.
	Unreported Unreported `json:"unreported,omitzero"`
}

// RunResult describes how a run ended. The error of a failed run carries it in its details. The
// cancellation of a canceled run carries it in its details too.
type RunResult struct {
	RunID   run.ID       `json:"runId"`
	Name    run.Name     `json:"name,omitempty"`
	Status  run.Status   `json:"status"`
	Branch  string       `json:"branch"`
	Base    run.Commit   `json:"base"`
	Head    run.Commit   `json:"head"`
	Commits int          `json:"commits"`
	Stat    run.Stat     `json:"stat"`
	Usage   run.Usage    `json:"usage"`
	Error   *run.Problem `json:"error,omitempty"`
}

// RunFailedError is the type of the error that ends the workflow of a failed run. Its details are a
// RunResult. A run whose input is refused ends with report.InvalidInputError.
const RunFailedError = "RunFailed"

// Limits of the history of one execution. Beyond them the run continues as new. Temporal itself
// suggests that later.
const (
	maxHistoryEvents = 3000
	maxHistoryBytes  = 4 << 20
)

// Run takes a goal and a repository through plan, execute, evaluate and fix. It asks a person where
// it must. It leaves a branch with one commit for each applied patch.
func Run(ctx workflow.Context, in RunInput) (RunResult, error) {
	in.Format.Check()
	r, err := newRunner(ctx, in)
	if err != nil {
		return RunResult{}, temporal.NewNonRetryableApplicationError(err.Error(), report.InvalidInputError, err)
	}
	for r.s.Next.Do != run.Rest {
		if r.mayContinue(ctx) && r.readyToContinue(ctx) {
			if ctx.Err() != nil { // the next execution would not know of the cancellation
				r.cancelRun(ctx)
				continue
			}
			return RunResult{}, workflow.NewContinueAsNewError(r.toQueue(ctx), Run, RunInput{Snapshot: r.s, Refused: r.refused, Unreported: r.unreported})
		}
		if err := r.doStep(ctx); temporal.IsCanceledError(err) {
			r.cancelRun(ctx)
		} else if err != nil && !errors.Is(err, errMoves) {
			return RunResult{}, err
		}
	}
	return r.closeRun(ctx)
}

// runner carries one run through its steps.
type runner struct {
	s        *run.Snapshot
	events   []run.Event  // of this execution
	origin   run.Digest   // chain of the events before this execution
	chains   []run.Digest // chain of the record up to each of events
	recorded int          // number of the last event on disk
	regiven  int          // how often the record was given all events again

	decision   *run.Decision // accepted, but not yet in an event
	answer     *run.Reply    // likewise
	moveTo     string        // task queue that the run continues on; empty: its own
	inbox      *message.Inbox
	refused    []run.RefusedSignal
	notices    notify.Outbox
	unreported Unreported

	root      workflow.Context // context of the run; ends when the run is canceled
	mismatch  *mismatch        // open mismatch about the record; nil: none
	limits    []*run.Limited   // usage limits that calls wait for
	contest   *contest         // contest in progress; nil: none
	workspace workflow.Future  // ready when the branch exists; nil: it was not made, or could not be
	shown     attributes
	log       log.Logger
}

func newRunner(ctx workflow.Context, in RunInput) (*runner, error) {
	s := in.Snapshot
	if s == nil {
		if in.Input == nil {
			return nil, errors.New("neither an input nor a snapshot is given")
		}
		s = run.New(*in.Input)
	}
	if err := s.Input.Validate(); err != nil {
		return nil, err
	}
	r := &runner{s: s, origin: s.Chain, recorded: s.Seq, refused: in.Refused, unreported: in.Unreported, root: ctx}
	r.log = log.With(workflow.GetLogger(ctx), "runId", s.Input.RunID)
	if err := r.registerHandlers(ctx); err != nil {
		return nil, err
	}
	if !r.startsWithBaseline() {
		r.workspace = r.prepareWorkspace(ctx)
	}
	return r, nil
}

// doStep performs the next step. The events that it emits determine the step after it.
func (r *runner) doStep(ctx workflow.Context) error {
	switch next := r.s.Next; next.Do {
	case run.Begin:
		r.emitEvent(ctx, run.RunCreated{Input: r.s.Input, Branch: r.s.Input.BranchName(), Format: run.Format})
		return nil
	case run.Start:
		return r.startPhase(ctx, next.Phase)
	case run.Work:
		return r.doPhase(ctx, next.Phase)
	case run.Gate:
		return r.gateProposal(ctx)
	case run.Decide:
		return r.awaitDecision(ctx)
	case run.Apply:
		return r.applyPatch(ctx)
	case run.Close:
		r.closePhase(ctx)
		return nil
	case run.Await:
		return r.awaitAnswer(ctx)
	case run.Finish:
		return r.finishRun(ctx)
	default:
		return fmt.Errorf("no step %q", next.Do)
	}
}

// cancelRun ends the run at any step. No activity is in progress then, because the steps wait for the
// activities that they cancel.
func (r *runner) cancelRun(ctx workflow.Context) {
	r.endRun(ctx, run.RunCanceled{Reason: "a cancellation was requested"})
}

// finishRun records the end of the run that follows from the events.
func (r *runner) finishRun(ctx workflow.Context) error {
	s := r.s
	switch s.End {
	case run.Completed:
		return r.completeRun(ctx)
	case run.Canceled:
		r.endRun(ctx, run.RunCanceled{Reason: s.Problem.Message})
	default:
		r.endRun(ctx, run.RunFailed{Error: s.Problem})
	}
	return nil
}

// endRun removes the worktree and records the end, with the usage of calls that ended without an event of their own. A
// run whose record says that it is over, and whose workflow is closed, leaves nothing else behind. A cancellation does
// not interrupt endRun.
func (r *runner) endRun(ctx workflow.Context, p run.Payload) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	r.stopContest(ctx)
	r.emitEvent(ctx, r.unreported.addTo(p))
	if err := r.cleanUp(ctx); err != nil {
		r.log.Error("workspace left behind", "error", err)
	}
}

// closeRun returns the result of the run as the result or the error of the workflow.
func (r *runner) closeRun(ctx workflow.Context) (RunResult, error) {
	r.sendToSession(ctx)
	s := r.s
	res := RunResult{
		RunID: s.Input.RunID, Name: s.Input.Name, Status: s.State.Status, Branch: s.Input.BranchName(),
		Base: s.Input.Repository.Base, Head: s.Head, Commits: s.Commits, Stat: s.Stat,
		Usage: s.Usage, Error: s.State.LastError,
	}
	if err := r.finishHandlers(ctx); err != nil {
		return res, err
	}
	switch res.Status {
	case run.Failed:
		return res, temporal.NewNonRetryableApplicationError(res.Error.Message, RunFailedError, nil, res)
	case run.Canceled:
		return res, temporal.NewCanceledError(res)
	}
	return res, nil
}

// mayContinue reports whether to begin a new history at this step: the run moves, or its history has grown enough. A step
// that works or closes is not interrupted.
func (r *runner) mayContinue(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	due := r.moves() || info.GetContinueAsNewSuggested() ||
		info.GetCurrentHistoryLength() > maxHistoryEvents || info.GetCurrentHistorySize() > maxHistoryBytes
	switch r.s.Next.Do {
	case run.Start, run.Decide, run.Await:
		return due && r.decision == nil && r.answer == nil && r.contest == nil
	case run.Work: // between the calls of a phase
		return r.moves()
	}
	return false
}

// readyToContinue records all events and handles every message, in preparation for a new history. It
// reports whether the new history can begin. A decision or an answer that arrives meanwhile is
// carried out first, also one that comes in the workflow task of the continuation.
func (r *runner) readyToContinue(ctx workflow.Context) bool {
	r.flushRecord(ctx)
	r.notices.Flush(ctx) // nothing may wait after the signals have been handled
	if err := coroutine.RunOthers(ctx); err != nil {
		return false
	}
	if err := r.finishHandlers(ctx); err != nil {
		return false
	}
	return r.decision == nil && r.answer == nil
}

// finishHandlers waits until the update handlers return and handles the buffered signals. No message
// is lost when this execution ends.
func (r *runner) finishHandlers(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	r.inbox.Drain()
	r.notices.Flush(ctx)
	return nil
}
