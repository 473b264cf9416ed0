// Package session holds the workflow of a standing session. It waits and calls the activities of package
// activities/session. Package internal/session decides.
package session

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities/report"
	activities "github.com/ratchet-dev/ratchet/activities/session"
	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/workflows/coroutine"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
	"github.com/ratchet-dev/ratchet/workflows/format"
	"github.com/ratchet-dev/ratchet/workflows/notify"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// Register registers the workflow and the activities that any worker of the host can serve.
func Register(w worker.Registry, a *activities.Activities) {
	w.RegisterWorkflow(Session)
	w.RegisterActivity(a)
}

// AgentQueue returns the task queue from which the workers of a queue take agent processes.
func AgentQueue(queue string) string { return queue + "-agents" }

// RegisterOwner registers the activities that reach the processes of this worker alone.
func RegisterOwner(w worker.Registry, o *activities.Owner) { w.RegisterActivity(o) }

// acts and owner provide method values only. The worker holds the real activities.
var (
	acts  *activities.Activities
	owner *activities.Owner
)

// Input starts a session, or continues it after continue-as-new. Exactly one of Session and Snapshot is
// set.
type Input struct {
	Format   format.Stamp      `json:"format"`
	Session  *session.Input    `json:"session,omitempty"`
	Snapshot *session.Snapshot `json:"snapshot,omitempty"`
	// Deliveries goes with a Snapshot.
	Deliveries *deliveryflow.State `json:"deliveries,omitempty"`
}

// Result describes a session that was retired.
type Result struct {
	ID      session.ID `json:"id"`
	Usage   run.Usage  `json:"usage"`
	Changes run.Ref    `json:"changes,omitzero"` // the diff of the checkout as it was
	Reason  string     `json:"reason,omitempty"`
}

// Limits of the history of one execution. Beyond maxEvents the session continues as new where it rests,
// beyond mostEvents wherever it is: the agent is ended, and resumed.
const (
	maxEvents  = 3000
	maxBytes   = 4 << 20
	mostEvents = 20_000
)

// Session keeps one conversation with an agent, until it is retired. A cancellation retires it.
func Session(ctx workflow.Context, in Input) (Result, error) {
	in.Format.Check()
	r, err := newRunner(ctx, in)
	if err != nil {
		return Result{}, temporal.NewNonRetryableApplicationError(err.Error(), report.InvalidInputError, err)
	}
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	r.ctx = ctx
	for r.s.State != session.Retired {
		if long, most := r.isLong(ctx); long && r.readyToContinue(ctx, most) {
			carried := r.deliveries.State(ctx)
			return Result{}, workflow.NewContinueAsNewError(ctx, Session, Input{Snapshot: r.s, Deliveries: &carried})
		}
		if err := r.doStep(ctx); err != nil {
			return Result{}, err
		}
	}
	r.notices.Flush(ctx)
	return r.result, workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// runner carries one session through its steps.
type runner struct {
	s       *session.Snapshot
	ctx     workflow.Context // outlives a cancellation
	version int              // grows with every change
	shown   session.State
	result  Result
	log     log.Logger

	deliveries *deliveryflow.Deliveries
	notices    notify.Outbox

	reports workflow.ReceiveChannel
	process workflow.Context // of the activities of the process; ends with it
	end     func()           // asks the process to end
	awake   bool             // start the agent in the next execution
}

func newRunner(ctx workflow.Context, in Input) (*runner, error) {
	s := in.Snapshot
	if s == nil {
		if in.Session == nil {
			return nil, errors.New("neither an input nor a snapshot is given")
		}
		s = session.New(*in.Session, workflow.Now(ctx).UTC())
	}
	if err := s.Input.Validate(); err != nil {
		return nil, err
	}
	r := &runner{s: s, log: log.With(workflow.GetLogger(ctx), "session", string(s.Input.ID))}
	r.ctx, _ = workflow.NewDisconnectedContext(ctx)
	if err := errors.Join(r.registerHandlers(ctx), r.joinDeliveries(ctx, in.Deliveries)); err != nil {
		return nil, err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		r.applyEvent(r.ctx, session.RetireAsked{By: "a cancellation"})
	})
	r.showState(r.ctx)
	return r, nil
}

// applyEvent folds an event in. It reports whether the event was in turn; one that is not changes nothing.
func (r *runner) applyEvent(ctx workflow.Context, e session.Event) bool {
	if err := r.s.Apply(workflow.Now(ctx), e); err != nil {
		r.log.Info("event dropped", "reason", err.Error())
		return false
	}
	r.touch()
	r.showState(ctx)
	return true
}

// touch lets the session look for its next step.
func (r *runner) touch() { r.version++ }

// showState brings the Web UI and the lists up to date.
func (r *runner) showState(ctx workflow.Context) {
	if r.shown != r.s.State {
		r.shown = r.s.State
		_ = workflow.UpsertTypedSearchAttributes(ctx, attribute.Status().ValueSet(string(r.s.State)))
	}
	workflow.SetCurrentDetails(ctx, page.OfSession(r.s))
	r.sendNotice(ctx)
}

// sendNotice sends a notice of what the session waits for, once for each wait.
func (r *runner) sendNotice(ctx workflow.Context) {
	p := r.s.Pending()
	about, tool := "", len(p.Asks) > 0
	if tool {
		about = p.Asks[0].ApprovalID
	} else if p.Question != nil {
		about = p.Question.ID
	}
	if in := r.s.Input; r.s.State == session.Asking && about != "" && about != r.s.Notified && len(in.Notify) > 0 {
		r.s.Notified = about
		r.notices.Send(ctx, notices.OfSession(string(in.ID), cmp.Or(in.Title, in.Provider), in.Repository, about, tool, workflow.Now(ctx)), in.Notify)
	}
}

// doStep performs the next step.
func (r *runner) doStep(ctx workflow.Context) error {
	switch do := r.s.Next(workflow.Now(ctx)); do {
	case session.Start:
		r.startProcess(ctx)
	case session.Hand:
		r.handOver(ctx)
	case session.Decide:
		r.sendDecision(ctx)
	case session.Stop:
		r.stopProcess(ctx)
	case session.Close:
		return r.retireSession(ctx)
	case session.Rest, session.Pause:
		if r.s.IsOverridden() && r.deliveries.HasNext() { // a delivery gets the session's own choice
			r.stopProcess(ctx)
			return nil
		}
		seen := r.version
		// What a person said goes first: a delivery may begin where the session rests.
		if r.deliveries.Step(ctx) || r.version != seen { // something happened while it worked
			return nil
		}
		return r.waitForStep(ctx)
	default:
		return fmt.Errorf("no step %q", do)
	}
	return nil
}

// waitForStep waits until something happens, or the time of a step has come.
func (r *runner) waitForStep(ctx workflow.Context) error {
	seen, now := r.version, workflow.Now(ctx)
	changed := func() bool { return r.version != seen }
	var until time.Time
	if r.s.Next(now) == session.Pause {
		until = r.s.NotBefore
	}
	if at := r.deliveries.Due(); !at.IsZero() && (until.IsZero() || at.Before(until)) {
		until = at
	}
	if until.IsZero() {
		return workflow.Await(ctx, changed)
	}
	_, err := workflow.AwaitWithTimeout(ctx, max(until.Sub(now), time.Millisecond), changed)
	return err
}

// isLong reports whether the history has grown enough to begin a new one where the session rests, and
// whether so much that it must.
func (r *runner) isLong(ctx workflow.Context) (long, most bool) {
	info := workflow.GetInfo(ctx)
	n := info.GetCurrentHistoryLength()
	return info.GetContinueAsNewSuggested() || n > maxEvents || info.GetCurrentHistorySize() > maxBytes, n > mostEvents
}

// readyToContinue reports whether a new history can begin. An agent process cannot pass to a new execution, so
// readyToContinue asks an idle one to end, or any process if must is set. Every signal, and a cancellation, that
// has come is handled first, also one that comes in the workflow task of the continuation.
func (r *runner) readyToContinue(ctx workflow.Context, must bool) bool {
	if r.s.Process != nil {
		idle := r.s.Process.Ready() && r.s.Turn == nil && len(r.s.Queue) == 0
		if (idle || must) && !r.s.Process.Stopping {
			r.stopProcess(ctx)
			r.awake = true
		}
		return false
	}
	r.notices.Flush(ctx)
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil || r.s.Process != nil {
		return false
	}
	seen := r.version
	if err := coroutine.RunOthers(ctx); err != nil || r.version != seen {
		return false
	}
	if r.awake {
		r.applyEvent(ctx, session.WakeAsked{})
	}
	return true
}
