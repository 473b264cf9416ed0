package workflows_test

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

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/workflows"
)

const gid dispatch.GardenID = "20260612T093000-0a1b2c"

// script says what a town is like. Of each list the last goes on for ever.
type script struct {
	resolved  []activities.Resolved
	seen      []activities.Looked
	trust     activities.Trusted
	delivered []activities.Delivered
	ends      []dispatch.Outcome // of errands
	failing   map[string][]error // by call; nil: it does not fail
	silent    bool               // errands do not say that they began
	told      *dispatch.Outcome  // of their turns, before they go on; nil: they do not tell
	own       func(context.Context, activities.Errand) error
	holder    string            // of the lock: a nonce
	before    map[string]func() // a call goes on
}

// town stands in for all that dispatches touch: a record, a lock, a socket with
// who is behind it, a mailbox, an agent. It works in memory, and notes every call
// and what must never happen.
type town struct {
	mu sync.Mutex
	script
	signal func(name string, what any)

	death    error // in place of gone; nil: gone itself
	calls    []string
	got      map[string]int // letters that arrived, by id
	running  int            // agents
	breaches []string
}

func newTown(s script) *town {
	s.failing = maps.Clone(s.failing)
	return &town{script: s, got: map[string]int{}}
}

// Where a target is, and how it looks.
var (
	aPi        = activities.Resolved{Backend: dispatch.Pi, CWD: "/w"}
	recordless = activities.Resolved{Backend: dispatch.Pi, Recordless: true}
	nobody     = activities.Resolved{Reject: dispatch.BadTarget}
	twofold    = activities.Resolved{Reject: dispatch.TargetAddressConflict, Diagnostic: "two of them"}
	reading    = activities.Resolved{Backend: dispatch.ClaudeCode, Deliverable: true}
	away       = activities.Resolved{Backend: dispatch.ClaudeCode, Diagnostic: "nobody reads"}
	sleeping   = activities.Resolved{Backend: dispatch.ClaudeCode, CWD: "/w", Deliverable: true, Session: "n-1"}

	alive    = activities.Looked{Liveness: dispatch.Alive}
	dead     = activities.Looked{Liveness: dispatch.Dead, Diagnostic: "ENOENT"}
	unclear  = activities.Looked{Liveness: dispatch.Indeterminate, Diagnostic: "EAGAIN"}
	conflict = activities.Looked{Conflict: true, Diagnostic: "symlink"}

	sent    = activities.Delivered{Outcome: dispatch.Outcome{Kind: dispatch.Sent, Transport: dispatch.ControlSocket, DeliveredAs: dispatch.Direct}}
	refused = activities.Delivered{Outcome: dispatch.Outcome{Kind: dispatch.Rejected, Transport: dispatch.ControlSocket, Error: "not now"}}
	unsent  = activities.Delivered{Outcome: dispatch.Outcome{Kind: dispatch.ExecutionFailed, Transport: dispatch.ControlSocket, Error: "EACCES"}}
	dubious = activities.Delivered{Outcome: dispatch.Outcome{Kind: dispatch.Unknown, Transport: dispatch.ControlSocket, Error: "no answer"}}
	nowhere = activities.Delivered{Outcome: unsent.Outcome, Gone: true}

	mailed    = dispatch.Outcome{Kind: dispatch.Enqueued, Transport: dispatch.MetaMailbox, Mail: "1.msg"}
	completed = dispatch.Outcome{Kind: dispatch.Completed, Transport: dispatch.SpawnBg, Answer: "done"}
	noStart   = dispatch.Outcome{Kind: dispatch.StartFailed, Transport: dispatch.SpawnBg, Error: "no model"}
	retained  = dispatch.Outcome{
		Kind: dispatch.LockRetained, Transport: dispatch.SpawnBg, Error: "not seen to end",
		Retention: dispatch.KillUnconfirmed, Diagnostic: &dispatch.Diagnostic{GardenID: gid, PID: 7},
	}

	broken = temporal.NewNonRetryableApplicationError("broken", activities.InvalidError, nil)
	shaky  = temporal.NewApplicationError("shaky", "Shaky")
	gone   = temporal.NewHeartbeatTimeoutError()                                  // the worker is
	found  = temporal.NewApplicationError("process 7 died", activities.LostError) // dead, by another worker

	unstarted = temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
)

// acts are the town's, by name.
func (w *town) acts() map[string]any {
	return map[string]any{
		"Resolve": w.Resolve, "Lock": w.Lock, "Unlock": w.Unlock, "Look": w.Look, "Ask": w.Ask,
		"Trust": w.Trust, "Deliver": w.Deliver, "Enqueue": w.Enqueue, "Own": w.Own,
	}
}

// enter begins a call.
func (w *town) enter(name string) (leave func()) {
	if wait := w.before[name]; wait != nil {
		wait()
	}
	w.mu.Lock()
	w.calls = append(w.calls, name)
	return w.mu.Unlock
}

// fail says whether a call fails.
func (w *town) fail(name string) error {
	if len(w.failing[name]) == 0 {
		return nil
	}
	err := w.failing[name][0]
	w.failing[name] = w.failing[name][1:]
	return w.dying(err)
}

// dying is the error as this town's workers die.
func (w *town) dying(err error) error {
	if err == gone && w.death != nil {
		return w.death
	}
	return err
}

func (w *town) breach(format string, args ...any) {
	w.breaches = append(w.breaches, fmt.Sprintf(format, args...))
}

// noted is the calls in their order.
func (w *town) noted() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.calls, " ")
}

func (w *town) Resolve(context.Context, dispatch.GardenID) (activities.Resolved, error) {
	defer w.enter("Resolve")()
	return next(&w.resolved, aPi), w.fail("Resolve")
}

func (w *town) Lock(_ context.Context, c activities.Claim) (activities.Claimed, error) {
	defer w.enter("Lock")()
	err := w.fail("Lock")
	if w.holder != "" && w.holder != c.Nonce {
		return activities.Claimed{Diagnostic: "process 7 has it"}, err
	}
	w.holder = c.Nonce // also when nobody hears of it
	return activities.Claimed{OK: true}, err
}

func (w *town) Unlock(_ context.Context, c activities.Claim) error {
	defer w.enter("Unlock")()
	if err := w.fail("Unlock"); err != nil {
		return err
	}
	w.unlock(c)
	return nil
}

func (w *town) unlock(c activities.Claim) {
	if w.holder != c.Nonce {
		w.breach("released by %q, which does not have it", c.Nonce)
		return
	}
	w.holder = ""
}

func (w *town) Look(context.Context, dispatch.GardenID) (activities.Looked, error) {
	defer w.enter("Look")()
	if w.holder == "" {
		w.breach("looked without the lock")
	}
	return next(&w.seen, alive), w.fail("Look")
}

func (w *town) Ask(_ context.Context, n activities.Native) (activities.Looked, error) {
	defer w.enter("Ask")()
	if w.holder == "" {
		w.breach("asked without the lock")
	}
	if n != (activities.Native{Backend: sleeping.Backend, Session: sleeping.Session}) {
		w.breach("asked for %+v", n)
	}
	return next(&w.seen, dead), w.fail("Ask")
}

func (w *town) Trust(context.Context, string) (activities.Trusted, error) {
	defer w.enter("Trust")()
	return w.trust, w.fail("Trust")
}

func (w *town) Deliver(_ context.Context, l activities.Letter) (activities.Delivered, error) {
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

func (w *town) Enqueue(_ context.Context, l activities.Letter) (*dispatch.Outcome, error) {
	defer w.enter("Enqueue")()
	if err := w.fail("Enqueue"); err != nil {
		return nil, err
	}
	w.arrive(l)
	return &mailed, nil
}

func (w *town) arrive(l activities.Letter) {
	if w.got[l.ID]++; w.got[l.ID] > 1 {
		w.breach("letter %s arrived %d times", l.ID, w.got[l.ID])
	}
}

// Own begins unless the town is silent, and then does what own says.
func (w *town) Own(ctx context.Context, e activities.Errand) (*dispatch.Outcome, error) {
	if err := w.start(e); err != nil {
		return nil, err
	}
	defer w.stop()
	if w.reachable(e) {
		w.signal(activities.BegunSignal, e.Claim.Nonce)
		if w.told != nil {
			w.signal(activities.TurnSignal, activities.TurnEnd{Nonce: e.Claim.Nonce, Outcome: *w.told})
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

func (w *town) start(e activities.Errand) error {
	defer w.enter("Own")()
	if err := w.fail("Own"); err != nil {
		return err
	}
	if w.holder != e.Claim.Nonce {
		w.breach("started without the lock")
	}
	if w.running++; w.running > 1 {
		w.breach("%d agents run", w.running)
	}
	if !w.silent {
		w.arrive(e.Letter)
	}
	if w.reachable(e) {
		w.unlock(e.Claim)
	}
	return nil
}

// reachable says whether others reach the session of an errand.
func (w *town) reachable(e activities.Errand) bool { return !w.silent && e.Session == "" }

func (w *town) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
}

// desk is the workflow in a test environment, which serves a town.
type desk struct {
	*testsuite.TestWorkflowEnvironment
	t testing.TB
	w *town

	mu      sync.Mutex
	results map[string]dispatch.Result // of dispatches, by letter
	errs    map[string]error           // of those without one
	refused map[string]error           // letters
}

func newDesk(t testing.TB, w *town) *desk {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	d := &desk{
		TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, w: w,
		results: map[string]dispatch.Result{}, errs: map[string]error{}, refused: map[string]error{},
	}
	d.SetTestTimeout(time.Minute)
	d.RegisterWorkflow(workflows.Dispatch)
	for name, f := range w.acts() {
		d.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	w.signal = d.SignalWorkflow
	return d
}

// give hands a letter in, after a time. It may be called while the desk serves.
func (d *desk) give(after time.Duration, l activities.Letter) { d.giveAny(after, l.ID, l) }

func (d *desk) giveAny(after time.Duration, id string, letter any) {
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
	d.RegisterDelayedCallback(func() { d.UpdateWorkflow(workflows.DispatchMessage, id, callbacks, letter) }, after)
}

// result is that of a letter, which ok says is there.
func (d *desk) result(id string) (res dispatch.Result, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	res, ok = d.results[id]
	return res, ok
}

// serve runs the workflow to its end.
func (d *desk) serve() workflows.DispatchResult {
	d.t.Helper()
	d.ExecuteWorkflow(workflows.Dispatch, workflows.DispatchInput{Target: gid})
	var res workflows.DispatchResult
	if err := d.GetWorkflowResult(&res); err != nil {
		d.t.Fatalf("the workflow ends with %v", err)
	}
	d.w.verify(d.t)
	return res
}

// verify fails when something happened that must not.
func (w *town) verify(t testing.TB) {
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

func letter(id string, intent dispatch.Intent) activities.Letter { return letterTo(gid, id, intent) }

func letterTo(target dispatch.GardenID, id string, intent dispatch.Intent) activities.Letter {
	return activities.Letter{
		ID: id, Request: dispatch.Request{Target: target, Intent: intent, Message: "hello"},
		Sender: dispatch.Sender{SessionID: "20260612T090000-aaaaaa", AgentID: "pi/test", CWD: "/w", Timestamp: "2026-06-12T09:30:00.000Z"},
	}
}

// fails lets a call fail with these errors, in turn.
func fails(name string, errs ...error) map[string][]error { return map[string][]error{name: errs} }

func list[T any](items ...T) []T { return items }
