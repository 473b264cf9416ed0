package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

// engineTarget is a target on a real engine, whose worker has fake activities.
type engineTarget struct {
	*temporaltest.Engine
	t      *testing.T
	target dispatch.GardenID
	w      *fakeActivities
	queue  string

	mu   sync.Mutex
	runs []string // the executions, in their order
}

// newEngineTarget starts a worker that serves until the whole test ends.
func newEngineTarget(s *temporaltest.Engine, all, t *testing.T, target dispatch.GardenID, w *fakeActivities) *engineTarget {
	t.Helper()
	c := &engineTarget{Engine: s, t: t, target: target, w: w, queue: "dispatch-" + string(target)}
	w.signal = func(name string, what any) {
		if err := s.Client.SignalWorkflow(context.Background(), dispatchflow.WorkflowID(target), "", name, what); err != nil {
			t.Error(err)
		}
	}
	s.Serve(all, c.queue, func(registry worker.Registry) {
		registry.RegisterWorkflow(dispatchflow.Dispatch)
		for name, f := range w.acts() {
			registry.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
		}
	})
	return c
}

func (c *engineTarget) id() string { return dispatchflow.WorkflowID(c.target) }

// dispatched is what becomes of a message.
type dispatched struct {
	dispatch.Result
	err error
}

// give hands a message in and waits beside the test.
func (c *engineTarget) give(l dispatch.Message) <-chan dispatched {
	c.t.Helper()
	start := c.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: c.id(), TaskQueue: c.queue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, dispatchflow.Dispatch, dispatchflow.Input{Target: c.target, Idle: 10 * time.Second})
	over := make(chan dispatched, 1)
	h, err := c.Client.UpdateWithStartWorkflow(c.t.Context(), client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: l.ID, UpdateName: dispatchflow.Update, Args: []any{l}, WaitForStage: client.WorkflowUpdateStageAccepted,
		},
	})
	if err != nil {
		over <- dispatched{err: err}
		return over
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.runs, h.RunID()) {
		c.runs = append(c.runs, h.RunID())
	}
	go func() {
		var res dispatch.Result
		err := h.Get(c.t.Context(), &res)
		over <- dispatched{res, err}
	}()
	return over
}

func (c *engineTarget) message(id string, intent dispatch.Intent) dispatch.Message {
	return messageTo(c.target, id, intent)
}

// dispatch is give for one message, and waits.
func (c *engineTarget) dispatch(id string, intent dispatch.Intent) dispatched {
	c.t.Helper()
	return <-c.give(c.message(id, intent))
}

func (c *engineTarget) await(what string, holds func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	if until(ctx, holds) != nil {
		c.t.Fatalf("%s: not within a minute", what)
	}
}

func (c *engineTarget) cancel() {
	c.t.Helper()
	if err := c.Client.CancelWorkflow(c.t.Context(), c.id(), ""); err != nil {
		c.t.Fatal(err)
	}
}

// closed waits for the end of the execution that is open, or was last.
func (c *engineTarget) closed() error {
	return c.Client.GetWorkflow(c.t.Context(), c.id(), "").Get(c.t.Context(), nil)
}

// kinds fails unless the results are these, one word each: a kind, a reason, or
// error.
func (c *engineTarget) kinds(want string, got ...dispatched) {
	c.t.Helper()
	if is := kindsOf(got...); is != want {
		c.t.Errorf("%s, want %s", is, want)
		for _, g := range got {
			c.t.Logf("%+v", g)
		}
	}
}

func kindsOf(got ...dispatched) string {
	var words []string
	for _, g := range got {
		switch {
		case g.err != nil:
			words = append(words, "error")
		case g.Outcome != nil:
			words = append(words, string(g.Outcome.Kind))
		default:
			words = append(words, string(g.Receipt.Reason()))
		}
	}
	return strings.Join(words, " ")
}

var inTurns = regexp.MustCompile(`^sent( (sent|target-locked)){2}$`)

// path is one way that dispatches to a target may take.
type path struct {
	name     string
	script   script
	play     func(*engineTarget)
	calls    string // in their order; empty: any
	shows    func(*history.HistoryEvent) bool
	canceled bool // is the workflow in the end
}

// one is the path of one message.
func one(name string, intent dispatch.Intent, s script, want string) path {
	return path{name: name, script: s, play: func(c *engineTarget) { c.kinds(want, c.dispatch("l-1", intent)) }}
}

// paths are those that the replay corpus holds.
var paths = []path{
	one("sent", fire, script{}, "sent"),
	one("refused", fire, script{delivered: list(refused)}, "rejected"),
	one("nobody", fire, script{resolved: list(nobody)}, "bad-target"),
	{name: "record-broken", script: script{failing: fails("Resolve", broken)}, calls: "Resolve", play: func(c *engineTarget) {
		got := c.dispatch("l-1", fire)
		if app, ok := errors.AsType[*temporal.ApplicationError](got.err); !ok || app.Message() != "broken" {
			c.t.Errorf("%+v", got)
		}
	}},
	one("mailed", fire, script{resolved: list(reading), failing: fails("Enqueue", shaky)}, "enqueued"),
	one("mail-broken", fire, script{resolved: list(reading), failing: fails("Enqueue", broken)}, "execution-failed"),
	one("mail-undeliverable", fire, script{resolved: list(away)}, "mailbox-undeliverable"),
	one("outcome-of-mail", own, script{resolved: list(reading)}, "backend-liveness-unsupported"),
	one("recordless", own, script{resolved: list(recordless)}, "bad-target"),
	one("locked", fire, script{holder: "foreign"}, "target-locked"),
	one("lock-broken", fire, script{failing: fails("Lock", broken)}, "error"),
	one("conflict", own, script{seen: list(conflict)}, "target-address-conflict"),
	one("dormant", fire, script{seen: list(dead)}, "dormant-fire-forget-unsupported"),
	one("indeterminate", own, script{seen: list(unclear)}, "indeterminate-no-spawn"),
	one("owned-live", own, script{}, "owned-live-no-autosend"),
	one("untrusted", own, script{seen: list(dead)}, "untrusted-fail-fast"),
	one("gone-and-back", fire, script{delivered: list(nowhere, sent)}, "fallback-sent"),
	one("gone-for-good", fire, script{seen: list(alive, dead), delivered: list(nowhere)}, "rejected"),
	one("gone-and-mailed", fire, script{resolved: list(aPi, reading), delivered: list(nowhere)}, "fallback-sent"),
	one("release-failed", fire, script{failing: fails("Unlock", broken)}, "execution-failed"),
	one("resumed", own, trusting(dead), "completed"),
	one("client-asked", own, script{resolved: list(sleeping), seen: list(alive)}, "owned-live-no-autosend"),
	{name: "client-resumed", script: script{resolved: list(sleeping), trust: activities.TrustResult{OK: true}}, play: oneAtATime,
		calls: "Resolve Lock Ask Trust Own Resolve Resolve Enqueue Unlock Resolve Lock Ask Trust Own Unlock"},
	{name: "errand-goes-on", script: script{seen: list(dead, alive), trust: activities.TrustResult{OK: true}, reported: &completed}, shows: isLost, play: goesOn,
		calls: "Resolve Lock Look Trust Own Resolve"},
	{name: "continued", script: script{resolved: list(reading)}, play: continued},
	one("start-failed", own, script{seen: list(dead), trust: activities.TrustResult{OK: true}, silent: true, ends: list(noStart)}, "spawn-start-failed"),
	one("lock-retained", own, script{seen: list(dead), trust: activities.TrustResult{OK: true}, silent: true, ends: list(retained)}, "lock-retained"),
	{name: "send-lost", script: script{failing: fails("Deliver", shaky)}, calls: "Resolve Lock Look Deliver Unlock", play: func(c *engineTarget) {
		c.kinds("unknown", c.dispatch("l-1", fire))
	}},
	{name: "errand-among-others", script: trusting(dead, alive), play: amongOthers},
	{name: "errand-lost-and-resumed", script: trusting(dead), shows: isLost, play: lostAndResumed,
		calls: "Resolve Lock Look Trust Own Resolve Resolve Lock Look Trust Own"},
	{name: "given-twice", play: func(c *engineTarget) {
		first, second := c.give(c.message("l-1", fire)), c.give(c.message("l-1", fire))
		c.kinds("sent sent sent", <-first, <-second, c.dispatch("l-1", fire))
	}, calls: "Resolve Lock Look Deliver Unlock"},
	{name: "malformed", play: func(c *engineTarget) {
		l := c.message("l-1", fire)
		l.Sender = dispatch.Sender{}
		c.kinds("sent error", c.dispatch("l-0", fire), <-c.give(l))
	}, calls: "Resolve Lock Look Deliver Unlock"},
	{name: "in-turns", play: func(c *engineTarget) {
		var over []<-chan dispatched
		for _, id := range []string{"l-1", "l-2", "l-3"} {
			over = append(over, c.give(c.message(id, fire)))
		}
		// One that has waited for lockWait is refused, which a busy machine brings about. In the SDK's environment time
		// waits for them: TestDispatchesToATargetTakeTurns.
		if got := kindsOf(<-over[0], <-over[1], <-over[2]); !inTurns.MatchString(got) {
			c.t.Error(got)
		}
	}},
	{name: "strays", script: trusting(dead), play: strays},
	{name: "next-execution", play: func(c *engineTarget) {
		first := c.dispatch("l-1", fire)
		if err := c.closed(); err != nil {
			c.t.Error(err)
		}
		c.kinds("sent sent", first, c.dispatch("l-2", fire))
	}},
	{name: "canceled-idle", canceled: true, play: func(c *engineTarget) {
		c.kinds("sent", c.dispatch("l-1", fire))
		c.cancel()
	}},
	{name: "canceled-errand", script: trusting(dead), canceled: true, play: func(c *engineTarget) {
		c.w.own = func(ctx context.Context, _ activities.OwnedTurn) error { <-beating(ctx); return nil }
		over := c.give(c.message("l-1", own))
		c.await("the errand", c.w.called("Own", 1))
		c.cancel()
		c.kinds("completed", <-over) // what it says of itself counts
	}},
	{name: "canceled-sending", canceled: true, calls: "Resolve Lock Look Deliver Unlock", play: canceledIn("Deliver", alone, "sent")},
	{name: "canceled-looking", canceled: true, calls: "Resolve Lock Look Unlock", play: canceledIn("Look", alone, "execution-failed")},
	{name: "canceled-waiting", canceled: true, calls: "Resolve Lock Resolve Look Unlock", play: canceledIn("Look", crowded, "execution-failed")},
}

// beating heartbeats until ctx ends.
func beating(ctx context.Context) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = temporaltest.HeartbeatUntilDone(ctx)
	}()
	return ended
}

func isLost(e *history.HistoryEvent) bool {
	return e.GetActivityTaskTimedOutEventAttributes().GetFailure().GetTimeoutFailureInfo().GetTimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT
}

// amongOthers lets others decide while an owned turn goes on.
func amongOthers(c *engineTarget) {
	end := make(chan struct{})
	c.w.own = func(context.Context, activities.OwnedTurn) error { <-end; return nil }
	first := c.give(c.message("l-1", own))
	c.await("the errand", c.w.called("Own", 1))
	c.kinds("sent target-locked", c.dispatch("l-2", fire), c.dispatch("l-3", own))
	close(end)
	c.kinds("completed", <-first)
}

// oneAtATime has two own the same session, which takes its mail meanwhile.
func oneAtATime(c *engineTarget) {
	end := make(chan struct{})
	c.w.own = func(context.Context, activities.OwnedTurn) error { <-end; return nil }
	first := c.give(c.message("l-1", own))
	c.await("the errand", c.w.called("Own", 1))
	c.kinds("target-locked enqueued", c.dispatch("l-2", own), c.dispatch("l-3", fire))
	close(end)
	c.kinds("completed completed", <-first, c.dispatch("l-4", own))
}

// goesOn lets an owned turn tell of its turn while others have turns after it, and
// then fall silent.
func goesOn(c *engineTarget) {
	end := make(chan struct{})
	c.w.own = func(context.Context, activities.OwnedTurn) error {
		<-end
		return activity.ErrResultPending // which says nothing to anybody
	}
	c.kinds("completed target-locked", c.dispatch("l-1", own), c.dispatch("l-2", own))
	close(end)
	c.await("the agent's end", func() bool {
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		return c.w.running == 0
	})
}

// continued gives messages until the history is long: the next execution knows
// them.
func continued(c *engineTarget) {
	var last dispatch.Message
	for i := 0; len(c.runs) < 2; i++ {
		if i == 100 {
			c.t.Fatal("the workflow does not go on in another execution")
		}
		last = c.message(fmt.Sprint("l-", i), fire)
		last.Request.Message = strings.Repeat("<", dispatch.MaxMessage) // six bytes each, in JSON
		c.kinds("enqueued", <-c.give(last))
	}
	calls := c.w.noted()
	first := messageTo(c.target, "l-1", fire)
	c.kinds("enqueued enqueued", <-c.give(last), <-c.give(first))
	if c.w.noted() != calls {
		c.t.Error("a letter that was given again is another dispatch")
	}
}

// lostAndResumed lets an owned turn fall silent: until it is missed the session is
// locked.
func lostAndResumed(c *engineTarget) {
	c.w.own = func(context.Context, activities.OwnedTurn) error {
		if c.w.called("Own", 2)() {
			return nil
		}
		return activity.ErrResultPending // which says nothing to anybody
	}
	first := c.give(c.message("l-1", own))
	c.await("the errand", c.w.called("Own", 1))
	second := c.dispatch("l-2", own)
	c.kinds("target-locked unknown completed", second, <-first, c.dispatch("l-3", own))
}

// strays signals what is no begin.
func strays(c *engineTarget) {
	c.w.silent, c.w.ends = true, list(noStart)
	c.w.own = func(ctx context.Context, _ activities.OwnedTurn) error {
		for _, stray := range []any{7, "of another errand", map[string]int{"a": 1}} {
			if err := c.Client.SignalWorkflow(ctx, c.id(), "", activities.BegunSignal, stray); err != nil {
				return err
			}
		}
		return nil
	}
	c.kinds("spawn-start-failed", c.dispatch("l-1", own))
}

// canceledIn cancels while a call is under way, which then goes on.
func canceledIn(call string, meanwhile func(*engineTarget), want string) func(*engineTarget) {
	return func(c *engineTarget) {
		reached, resume := make(chan struct{}), make(chan struct{})
		var first sync.Once
		c.w.before = map[string]func(){call: func() { first.Do(func() { close(reached); <-resume }) }}
		over := c.give(c.message("l-1", fire))
		<-reached
		meanwhile(c)
		c.cancel()
		close(resume)
		c.kinds(want, <-over)
	}
}

func alone(*engineTarget) {}

// crowded has another message wait for its turn, which does not come.
func crowded(c *engineTarget) {
	over := c.give(c.message("l-2", fire))
	c.await("the second letter", c.w.called("Resolve", 2))
	c.t.Cleanup(func() { c.kinds("error", <-over) })
}

// take plays the path.
func (way path) take(c *engineTarget) {
	c.t.Helper()
	way.play(c)
	if got := c.w.noted(); way.calls != "" && got != way.calls {
		c.t.Errorf("calls %s\nwant  %s", got, way.calls)
	}
	c.w.verify(c.t)
}

// leave waits for the end of the path, and returns the histories of its
// executions.
func (way path) leave(t *testing.T, c *engineTarget) []*history.History {
	t.Helper()
	c.t = t
	err := c.closed()
	if canceled := temporal.IsCanceledError(err); canceled != way.canceled || err != nil && !canceled {
		t.Errorf("%s: the workflow ends with %v", way.name, err)
	}
	executions := c.histories()
	if way.shows != nil && !slices.ContainsFunc(executions, func(h *history.History) bool { return slices.ContainsFunc(h.Events, way.shows) }) {
		t.Errorf("%s: the history lacks what it is about", way.name)
	}
	return executions
}

// histories are those of the executions.
func (c *engineTarget) histories() []*history.History {
	c.t.Helper()
	var all []*history.History
	for _, runID := range c.runs {
		all = append(all, c.History(c.t, c.id(), runID))
	}
	return all
}
