package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
)

// acts is for method values only; the worker holds the real one.
var acts *activities.Activities

// emit makes the next event and folds it in. An event out of turn is a defect
// of this program: the panic blocks the workflow task, and with it the run,
// until a mended worker takes over. Nothing is lost.
func (r *runner) emit(ctx workflow.Context, p run.Payload) {
	e := r.s.Event(workflow.Now(ctx), p)
	if err := r.s.Apply(e); err != nil {
		panic(err)
	}
	r.events = append(r.events, e)
}

// flush brings the record on disk, the Web UI and the search attributes up to
// date, and keeps the brief of the provider call that follows. It is not
// undone by a cancellation: what happened, happened.
func (r *runner) flush(ctx workflow.Context, brief *activities.Brief) run.Ref {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	r.show(ctx)
	in := activities.RecordInput{RunID: r.s.Input.RunID, Brief: brief, Entry: rundir.Entry{State: r.s.State, Facts: rundir.FactsOf(r.s)}}
	if brief != nil {
		phase := r.s.Phase()
		in.BriefName = rundir.Artifact(phase, r.s.State.Iteration, r.s.Calls[phase], "brief.json")
	}
	for {
		in.Entry.Events = r.since(r.recorded)
		if len(in.Entry.Events) == 0 && brief == nil {
			return run.Ref{}
		}
		out := r.record(ctx, in)
		if out.Last < r.recorded { // lines were lost; write again what is still known
			r.recorded = out.Last
			in.Entry.Gap = r.s.Seq-len(r.events) > out.Last
			continue
		}
		r.recorded = out.Last
		if out.Brief != nil {
			return *out.Brief
		}
		return run.Ref{}
	}
}

// record writes by a local activity, which costs no round trip; where that
// keeps failing, by a regular one, which shows the reason in the Web UI and
// tries until it succeeds, a full disk included.
func (r *runner) record(ctx workflow.Context, in activities.RecordInput) (out activities.RecordResult) {
	err := workflow.ExecuteLocalActivity(recording(ctx), acts.Record, in).Get(ctx, &out)
	if err != nil {
		err = workflow.ExecuteActivity(acting(ctx, "Record the run on disk"), acts.Record, in).Get(ctx, &out)
	}
	if err != nil {
		r.log.Error("record is behind", "error", err)
		out.Last = r.recorded
	}
	return out
}

// since returns the events after number n that this execution knows.
func (r *runner) since(n int) []run.Event {
	first := r.s.Seq - len(r.events) + 1
	return r.events[min(max(0, n-first+1), len(r.events)):]
}

// attributes are the search attributes as last sent.
type attributes struct {
	status    run.Status
	phase     run.Phase
	iteration int
}

// show brings the Web UI up to date. Details cost nothing, attributes an
// event: they are sent when they change.
func (r *runner) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, details(r.s))
	now := attributes{r.s.State.Status, r.s.Phase(), r.s.State.Iteration}
	if now == r.shown || now.status == "" {
		return
	}
	updates := []temporal.SearchAttributeUpdate{
		attribute.Status().ValueSet(string(now.status)),
		attribute.Iteration().ValueSet(int64(now.iteration)),
		attribute.Phase().ValueSet(string(now.phase)),
	}
	if now.phase == "" {
		updates[2] = attribute.Phase().ValueUnset()
	}
	if r.shown == (attributes{}) {
		updates = append(updates, attribute.Repository().ValueSet(r.s.Input.Repository.Path))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		r.log.Warn("search attributes not sent", "error", err)
	}
	r.shown = now
}

// Heartbeat is how soon a lost worker is noticed.
const heartbeat = 2 * time.Second

// recording is for writes to the run directory: local, short, idempotent.
func recording(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumAttempts: 3},
	})
}

// acting is for steps on the run's own files: idempotent, so tried until they
// succeed; what will never succeed they return as a result.
func acting(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
		Summary:             summary,
	})
}

// Attempts at one provider call that no answer came of, lost workers
// included; the provider's own errors are counted apart and fewer.
const thinkingAttempts = 50

// thinking is for provider calls: slow and paid. The attempt may last as long
// as the provider may, and a little for reading the context.
func thinking(ctx workflow.Context, limit time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: limit + time.Minute,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: thinkingAttempts},
		Summary:             summary,
	})
}

// checking is for the checks: each has its limit, and they run one by one.
func checking(ctx workflow.Context, limit time.Duration, n int, summary string) workflow.Context {
	ctx = acting(ctx, summary)
	return workflow.WithStartToCloseTimeout(ctx, limit*time.Duration(max(n, 1))+time.Minute)
}
