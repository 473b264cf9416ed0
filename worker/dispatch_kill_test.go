package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestWorkersKilledWhileTheyDispatch kills the worker during each dispatch: at a
// random one of its points, or at a random moment. Every message arrives once or
// not at all, no outcome claims what did not happen, and every target can be
// dispatched to afterwards.
func TestWorkersKilledWhileTheyDispatch(t *testing.T) {
	need.Suite(t, need.Nightly)
	size := 30
	if need.Has(need.Nightly) {
		size = 200
	}
	t.Parallel() // it waits more than it works
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	calm := r.spawn()
	took := r.pace(t)
	calm.kill()
	var given []<-chan told
	for i := range size {
		w := r.spawn("RATCHET_FAILPOINTS=*=kill%0.1")
		k := kinds[i%len(kinds)]
		given = append(given, r.give(message(h.settle(k), intentOf(k))))
		select {
		case <-time.After(time.Duration(rand.Float64() * 2 * float64(took[k]))): // the moment, at the latest
		case <-w.done:
		}
		w.kill()
	}
	r.spawn()
	tally := map[string]int{}
	var again []<-chan told
	for i, over := range given {
		got := <-over
		if h.verify(t, got); got.err != nil {
			t.Errorf("nothing is known of it: %s", got)
		}
		tally[fmt.Sprintf("%s %s, arrived %d times", kinds[i%len(kinds)], got.word(), h.arrived(got.message))]++
		again = append(again, r.give(message(got.message.Request.Target, got.message.Request.Intent)))
	}
	for i, over := range again {
		got := <-over
		if h.verify(t, got); got.word() != string(good(kinds[i%len(kinds)])) {
			t.Errorf("afterwards: %s", got)
		}
	}
	h.verifyHost(t)
	t.Logf("%d dispatches, one kill each: %v", size, tally)
}

// pace is how long a dispatch of each kind takes that nobody disturbs.
func (r *queueFixture) pace(t *testing.T) map[kind]time.Duration {
	t.Helper()
	took := map[kind]time.Duration{}
	for _, k := range kinds {
		for range 2 { // the first warms up
			began := time.Now()
			got := r.dispatch(message(r.settle(k), intentOf(k)))
			took[k] = time.Since(began)
			if r.verify(t, got); got.word() != string(good(k)) {
				t.Fatalf("nobody disturbs it: %s", got)
			}
		}
	}
	return took
}

// aim is a point at which the worker of a dispatch is killed, and what comes of
// it.
type aim struct {
	point   string
	kind    kind
	want    dispatch.Kind
	arrived int    // maybe: once or not at all
	worker  string // that is killed; empty: the real one
}

const maybe = -1

var aims = []aim{
	{point: "gidlock.before-create", kind: live, want: dispatch.Sent, arrived: 1},
	{point: "gidlock.after-create", kind: live, want: dispatch.Sent, arrived: 1},
	{point: "desk.locked", kind: live, want: dispatch.Sent, arrived: 1},
	{point: "desk.before-deliver", kind: live, want: dispatch.Unknown},
	{point: "desk.delivered", kind: live, want: dispatch.Unknown, arrived: 1},
	{point: "gidlock.before-release", kind: live, want: dispatch.Sent, arrived: 1},
	{point: "gidlock.after-release", kind: live, want: dispatch.Sent, arrived: 1},
	{point: "desk.unlocked", kind: live, want: dispatch.Sent, arrived: 1},

	{point: "mailbox.before-body", kind: mailed, want: dispatch.Enqueued, arrived: 1},
	{point: "mailbox.after-body", kind: mailed, want: dispatch.Enqueued, arrived: 1},
	{point: "mailbox.before-stamp", kind: mailed, want: dispatch.Enqueued, arrived: 1},
	{point: "mailbox.before-signal", kind: mailed, want: dispatch.Enqueued, arrived: 1},
	{point: "desk.enqueued", kind: mailed, want: dispatch.Enqueued, arrived: 1},

	{point: "desk.locked", kind: dormant, want: dispatch.Completed, arrived: 1},
	{point: "gidlock.before-release", kind: dormant, want: dispatch.Unknown},
	{point: "desk.unlocked", kind: dormant, want: dispatch.Unknown},
	{point: "desk.before-errand", kind: dormant, want: dispatch.Unknown},
	{point: "desk.errand-sent", kind: dormant, want: dispatch.Unknown, arrived: maybe},

	// The control: who sends until it hears that the message was taken.
	{point: "desk.before-deliver", kind: live, want: dispatch.Sent, arrived: 1, worker: resending},
	{point: "desk.delivered", kind: live, want: dispatch.Sent, arrived: 2, worker: resending},
}

// TestKilledAtEveryPointOfADispatch kills the worker right before and after each
// effect of a dispatch, and says for each what must come of it.
func TestKilledAtEveryPointOfADispatch(t *testing.T) {
	need.Suite(t, need.CI)
	aimedAt := func(point string) bool {
		return slices.ContainsFunc(aims, func(a aim) bool { return a.point == point })
	}
	for _, point := range failpoints(t) {
		if strings.HasPrefix(point, "desk.") && !aimedAt(point) {
			t.Errorf("nobody is killed at %s", point)
		}
	}
	times := 1
	if need.Has(need.Nightly) {
		times = 5
	}
	t.Parallel()
	h := newDispatchFixture(t)
	var wg sync.WaitGroup
	slots := make(chan struct{}, len(aims))
	for n := range times {
		for _, a := range aims {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				a.hit(t, h.on(strings.Join([]string{a.worker, a.point, string(a.kind), fmt.Sprint(n)}, "-")))
			})
		}
	}
	wg.Wait()
	h.verifyHost(t)
}

func (a aim) hit(t *testing.T, r *queueFixture) {
	kind := asWorker + "=1"
	if a.worker != "" {
		kind = asWorker + "=" + a.worker
	}
	to := r.settle(a.kind)
	over := r.give(message(to, intentOf(a.kind)))
	doomed := r.launch(kind, "RATCHET_FAILPOINTS="+a.point+"=kill")
	select {
	case <-doomed.done:
	case <-time.After(5 * time.Minute):
		t.Errorf("%s: the worker lives", a.point)
		return
	}
	next := r.launch(kind)
	defer next.kill()
	got := <-over
	if n := r.arrived(got.message); got.word() != string(a.want) || n != a.arrived && (a.arrived != maybe || n > 1) {
		t.Errorf("%s: arrived %d times, want %d, %s: %s", a.point, n, a.arrived, a.want, got)
	}
	if a.worker != "" {
		return
	}
	r.verify(t, got)
	if a.kind == mailed && !r.rung(to) {
		t.Errorf("%s: the doorbell did not ring", a.point)
	}
	if got := r.dispatch(message(to, intentOf(a.kind))); got.word() != string(good(a.kind)) {
		t.Errorf("%s: afterwards: %s", a.point, got)
	}
}

// TestOwnedTurnDiesWithItsWorker kills a worker in the middle of an owned turn. The next
// one resumes the session once nothing of the first runs any more.
func TestOwnedTurnDiesWithItsWorker(t *testing.T) {
	need.Suite(t, need.CI)
	times := 1
	if need.Has(need.Nightly) {
		times = 10
	}
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	w := r.spawn()
	to := h.settle(dormant)
	for i := range times {
		first := r.give(message(to, dispatch.OwnedOutcome, "until=never"))
		eventually.Holds(t, "the errand", func() bool { return h.lines(promptLine, string(to)) == 2*i+1 })
		w.kill()
		w = r.spawn()
		next, lost := r.own(t, to), <-first
		if lost.word() != string(dispatch.Unknown) || next.word() != string(dispatch.Completed) {
			t.Errorf("%s\n%s", lost, next)
		}
		h.verify(t, lost)
	}
	h.verifyHost(t)
}

// TestOwnedTurnCanceled cancels the workflow of an owned turn: soon nothing of it runs,
// and its dispatch is told.
func TestOwnedTurnCanceled(t *testing.T) {
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	r.spawn()
	to := h.settle(dormant)
	over := r.give(message(to, dispatch.OwnedOutcome, "until=never"))
	eventually.Holds(t, "the errand", func() bool { return h.lines(promptLine, string(to)) == 1 })
	if err := h.client.CancelWorkflow(t.Context(), "dispatch-"+string(to), ""); err != nil {
		t.Fatal(err)
	}
	got := <-over
	if h.verify(t, got); got.word() != string(dispatch.ChildExited) {
		t.Errorf("%s", got)
	}
	h.verifyHost(t)
	if got := r.dispatch(message(to, dispatch.OwnedOutcome)); got.word() != string(dispatch.Completed) {
		t.Errorf("afterwards: %s", got)
	}
	if names, _ := filepath.Glob(filepath.Join(h.dirs.Sockets, "*")); len(names) > 0 {
		t.Errorf("sockets are left: %v", names)
	}
}

// TestTerminatedWhileItSends terminates the workflow of a dispatch, which then
// gives back nothing. Its lock does not stay, though its worker lives.
func TestTerminatedWhileItSends(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	r.spawn()
	to := h.settle(live)
	first, later := message(to, dispatch.FireAndForget), make(chan struct{})
	h.mu.Lock()
	h.slow = map[string]chan struct{}{first.ID: later}
	h.mu.Unlock()
	over := r.give(first)
	eventually.Holds(t, "the letter", func() bool { return h.arrived(first) == 1 })
	if err := h.client.TerminateWorkflow(t.Context(), "dispatch-"+string(to), "", "a person did"); err != nil {
		t.Fatal(err)
	}
	if got := <-over; got.err == nil {
		t.Errorf("terminated: %s", got)
	}
	close(later)
	eventually.Holds(t, "the lock", func() bool {
		got := r.dispatch(message(to, dispatch.FireAndForget))
		h.verify(t, got)
		return got.word() == string(dispatch.Sent)
	})
	h.verifyHost(t)
}
