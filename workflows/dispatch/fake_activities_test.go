package dispatch_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

const gid dispatch.GardenID = "20260612T093000-0a1b2c"

// script says what fakeActivities are like. Of each list the last goes on for ever.
type script struct {
	resolved  []activities.ResolveResult
	seen      []activities.LookResult
	trust     activities.TrustResult
	delivered []activities.DeliverResult
	ends      []dispatch.Outcome // of owned turns
	failing   map[string][]error // by call; nil: it does not fail
	silent    bool               // owned turns do not say that they began
	reported  *dispatch.Outcome  // of their turns, before they go on; nil: they do not tell
	own       func(context.Context, activities.OwnedTurn) error
	holder    string            // of the lock: a nonce
	before    map[string]func() // a call goes on
}

// fakeActivities stand in for all that dispatches touch: a record, a lock, a socket with
// who is behind it, a mailbox, an agent. It works in memory, and notes every call
// and what must never happen.
type fakeActivities struct {
	mu sync.Mutex
	script
	signal func(name string, what any)

	death    error // in place of gone; nil: gone itself
	calls    []string
	got      map[string]int // messages that arrived, by id
	running  int            // agents
	breaches []string
}

func newFakeActivities(s script) *fakeActivities {
	s.failing = maps.Clone(s.failing)
	return &fakeActivities{script: s, got: map[string]int{}}
}

// Where a target is, and how it looks.
var (
	aPi        = activities.ResolveResult{Backend: dispatch.Pi, CWD: "/w"}
	recordless = activities.ResolveResult{Backend: dispatch.Pi, Recordless: true}
	nobody     = activities.ResolveResult{Reject: dispatch.BadTarget}
	twofold    = activities.ResolveResult{Reject: dispatch.TargetAddressConflict, Diagnostic: "two of them"}
	reading    = activities.ResolveResult{Backend: dispatch.ClaudeCode, Deliverable: true}
	away       = activities.ResolveResult{Backend: dispatch.ClaudeCode, Diagnostic: "nobody reads"}
	sleeping   = activities.ResolveResult{Backend: dispatch.ClaudeCode, CWD: "/w", Deliverable: true, Session: "n-1"}

	alive    = activities.LookResult{Liveness: dispatch.Alive}
	dead     = activities.LookResult{Liveness: dispatch.Dead, Diagnostic: "ENOENT"}
	unclear  = activities.LookResult{Liveness: dispatch.Indeterminate, Diagnostic: "EAGAIN"}
	conflict = activities.LookResult{Conflict: true, Diagnostic: "symlink"}

	sent    = activities.DeliverResult{Outcome: dispatch.Outcome{Kind: dispatch.Sent, Transport: dispatch.ControlSocket, DeliveredAs: dispatch.Direct}}
	refused = activities.DeliverResult{Outcome: dispatch.Outcome{Kind: dispatch.Rejected, Transport: dispatch.ControlSocket, Error: "not now"}}
	unsent  = activities.DeliverResult{Outcome: dispatch.Outcome{Kind: dispatch.ExecutionFailed, Transport: dispatch.ControlSocket, Error: "EACCES"}}
	dubious = activities.DeliverResult{Outcome: dispatch.Outcome{Kind: dispatch.Unknown, Transport: dispatch.ControlSocket, Error: "no answer"}}
	nowhere = activities.DeliverResult{Outcome: unsent.Outcome, Gone: true}

	mailed    = dispatch.Outcome{Kind: dispatch.Enqueued, Transport: dispatch.MetaMailbox, Mail: "1.msg"}
	completed = dispatch.Outcome{Kind: dispatch.Completed, Transport: dispatch.SpawnBg, Answer: "done"}
	noStart   = dispatch.Outcome{Kind: dispatch.StartFailed, Transport: dispatch.SpawnBg, Error: "no model"}
	retained  = dispatch.Outcome{
		Kind: dispatch.LockRetained, Transport: dispatch.SpawnBg, Error: "not seen to end",
		Retention: dispatch.KillUnconfirmed, Diagnostic: &dispatch.Diagnostic{GardenID: gid, PID: 7},
	}

	broken      = temporal.NewNonRetryableApplicationError("broken", activities.InvalidError, nil)
	shaky       = temporal.NewApplicationError("shaky", "Shaky")
	goneOutcome = temporal.NewHeartbeatTimeoutError()                              // the worker is
	found       = temporal.NewApplicationError("process 7 died", report.LostError) // dead, by another worker

	unstarted = temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
)

// acts returns the activities by name.
func (w *fakeActivities) acts() map[string]any {
	return map[string]any{
		"Resolve": w.Resolve, "Lock": w.Lock, "Unlock": w.Unlock, "Look": w.Look, "Ask": w.Ask,
		"Trust": w.Trust, "Deliver": w.Deliver, "Enqueue": w.Enqueue, "Own": w.Own,
	}
}

// enter begins a call.
func (w *fakeActivities) enter(name string) (leave func()) {
	if wait := w.before[name]; wait != nil {
		wait()
	}
	w.mu.Lock()
	w.calls = append(w.calls, name)
	return w.mu.Unlock
}

// fail says whether a call fails.
func (w *fakeActivities) fail(name string) error {
	if len(w.failing[name]) == 0 {
		return nil
	}
	err := w.failing[name][0]
	w.failing[name] = w.failing[name][1:]
	return w.dying(err)
}

// dying is the error as these workers die.
func (w *fakeActivities) dying(err error) error {
	if err == goneOutcome && w.death != nil {
		return w.death
	}
	return err
}

func (w *fakeActivities) breach(format string, args ...any) {
	w.breaches = append(w.breaches, fmt.Sprintf(format, args...))
}

// noted is the calls in their order.
func (w *fakeActivities) noted() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.calls, " ")
}

func (w *fakeActivities) Resolve(context.Context, dispatch.GardenID) (activities.ResolveResult, error) {
	defer w.enter("Resolve")()
	return next(&w.resolved, aPi), w.fail("Resolve")
}

func (w *fakeActivities) Lock(_ context.Context, c activities.Lock) (activities.LockResult, error) {
	defer w.enter("Lock")()
	err := w.fail("Lock")
	if w.holder != "" && w.holder != c.Nonce {
		return activities.LockResult{Diagnostic: "process 7 has it"}, err
	}
	w.holder = c.Nonce // also when nobody hears of it
	return activities.LockResult{OK: true, Diagnostic: "process 7 took the lock"}, err
}

func (w *fakeActivities) Unlock(_ context.Context, c activities.Lock) error {
	defer w.enter("Unlock")()
	if err := w.fail("Unlock"); err != nil {
		return err
	}
	w.unlock(c)
	return nil
}

func (w *fakeActivities) unlock(c activities.Lock) {
	if w.holder != c.Nonce {
		w.breach("released by %q, which does not have it", c.Nonce)
		return
	}
	w.holder = ""
}

func (w *fakeActivities) Look(context.Context, dispatch.GardenID) (activities.LookResult, error) {
	defer w.enter("Look")()
	if w.holder == "" {
		w.breach("looked without the lock")
	}
	return next(&w.seen, alive), w.fail("Look")
}

func (w *fakeActivities) Ask(_ context.Context, n activities.NativeSession) (activities.LookResult, error) {
	defer w.enter("Ask")()
	if w.holder == "" {
		w.breach("asked without the lock")
	}
	if n != (activities.NativeSession{Backend: sleeping.Backend, Session: sleeping.Session}) {
		w.breach("asked for %+v", n)
	}
	return next(&w.seen, dead), w.fail("Ask")
}

func (w *fakeActivities) Trust(context.Context, string) (activities.TrustResult, error) {
	defer w.enter("Trust")()
	return w.trust, w.fail("Trust")
}

func (w *fakeActivities) Deliver(_ context.Context, l dispatch.Message) (activities.DeliverResult, error) {
	defer w.enter("Deliver")()
	if w.holder == "" {
		w.breach("sent without the lock")
	}
	out := next(&w.delivered, sent)
	if out.Outcome.Kind == dispatch.Sent || out.Outcome.Kind == dispatch.Unknown {
		w.arrive(l)
	}
	return out, w.fail("Deliver")
}

func (w *fakeActivities) Enqueue(_ context.Context, l dispatch.Message) (*dispatch.Outcome, error) {
	defer w.enter("Enqueue")()
	if err := w.fail("Enqueue"); err != nil {
		return nil, err
	}
	w.arrive(l)
	return &mailed, nil
}

func (w *fakeActivities) arrive(l dispatch.Message) {
	if w.got[l.ID]++; w.got[l.ID] > 1 {
		w.breach("letter %s arrived %d times", l.ID, w.got[l.ID])
	}
}

// Own begins unless the activities are silent, and then does what own says.
func (w *fakeActivities) Own(ctx context.Context, e activities.OwnedTurn) (*dispatch.Outcome, error) {
	if err := w.start(e); err != nil {
		return nil, err
	}
	defer w.stop()
	if w.reachable(e) {
		w.signal(activities.BegunSignal, e.Lock.Nonce)
		if w.reported != nil {
			w.signal(activities.TurnSignal, activities.TurnEnd{Nonce: e.Lock.Nonce, Outcome: *w.reported})
		}
	}
	if w.own != nil {
		if err := w.dying(w.own(ctx, e)); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out := next(&w.ends, completed)
	return &out, nil
}

func (w *fakeActivities) start(e activities.OwnedTurn) error {
	defer w.enter("Own")()
	if err := w.fail("Own"); err != nil {
		return err
	}
	if w.holder != e.Lock.Nonce {
		w.breach("started without the lock")
	}
	if w.running++; w.running > 1 {
		w.breach("%d agents run", w.running)
	}
	if !w.silent {
		w.arrive(e.Message)
	}
	if w.reachable(e) {
		w.unlock(e.Lock)
	}
	return nil
}

// reachable says whether others reach the session of an owned turn.
func (w *fakeActivities) reachable(e activities.OwnedTurn) bool { return !w.silent && e.Session == "" }

func (w *fakeActivities) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
}

// next returns the first item of a list and removes it, unless it is the last; none: the list is empty.
func next[T any](list *[]T, none T) T {
	if len(*list) == 0 {
		return none
	}
	head := (*list)[0]
	if len(*list) > 1 {
		*list = (*list)[1:]
	}
	return head
}

// testTarget is the workflow in a test environment, with fake activities.
type testTarget struct {
	*testsuite.TestWorkflowEnvironment
	t testing.TB
	w *fakeActivities

	mu      sync.Mutex
	results map[string]dispatch.Result // of dispatches, by message
	errs    map[string]error           // of those without one
	refused map[string]error           // messages
}

func newTestTarget(t testing.TB, w *fakeActivities) *testTarget {
	t.Helper()
	d := &testTarget{
		TestWorkflowEnvironment: temporaltest.Environment(), t: t, w: w,
		results: map[string]dispatch.Result{}, errs: map[string]error{}, refused: map[string]error{},
	}
	d.RegisterWorkflow(dispatchflow.Dispatch)
	for name, f := range w.acts() {
		d.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	w.signal = d.SignalWorkflow
	return d
}

// give hands a message in, after a time. It may be called while the workflow runs.
func (d *testTarget) give(after time.Duration, l dispatch.Message) { d.giveAny(after, l.ID, l) }

func (d *testTarget) giveAny(after time.Duration, id string, message any) {
	keep := func(in map[string]error, err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		in[id] = err
	}
	callbacks := &testsuite.TestUpdateCallback{
		OnReject: func(err error) { keep(d.refused, err) },
		OnComplete: func(v any, err error) {
			if err != nil {
				keep(d.errs, err)
				return
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.results[id] = v.(dispatch.Result)
		},
	}
	d.RegisterDelayedCallback(func() { d.UpdateWorkflow(dispatchflow.Update, id, callbacks, message) }, after)
}

// dispatchResult is that of a message, which ok says is there.
func (d *testTarget) dispatchResult(id string) (res dispatch.Result, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	res, ok = d.results[id]
	return res, ok
}

// serveMessage runs the workflow to its end.
func (d *testTarget) serveMessage() dispatch.History {
	d.t.Helper()
	d.ExecuteWorkflow(dispatchflow.Dispatch, dispatchflow.Input{Target: gid})
	var res dispatch.History
	if err := d.GetWorkflowResult(&res); err != nil {
		d.t.Fatalf("the workflow ends with %v", err)
	}
	d.w.verify(d.t)
	return res
}

// verify fails when something happened that must not.
func (w *fakeActivities) verify(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.breaches {
		t.Error(b)
	}
	if w.running != 0 {
		t.Errorf("%d agents run", w.running)
	}
}

func message(id string, intent dispatch.Intent) dispatch.Message { return messageTo(gid, id, intent) }

func messageTo(target dispatch.GardenID, id string, intent dispatch.Intent) dispatch.Message {
	return dispatch.Message{
		ID: id, Request: dispatch.Request{Target: target, Intent: intent, Message: "hello"},
		Sender: dispatch.Sender{SessionID: "20260612T090000-aaaaaa", AgentID: "pi/test", CWD: "/w", Timestamp: "2026-06-12T09:30:00.000Z"},
	}
}

// fails lets a call fail with these errors, in turn.
func fails(name string, errs ...error) map[string][]error { return map[string][]error{name: errs} }

func list[T any](items ...T) []T { return items }
