package delivery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	flow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

func accepted(turn string) answer {
	return answer{out: activities.DeliverResult{Turn: turn}}
}

func refused(class delivery.Refusal) answer {
	return answer{out: activities.DeliverResult{Refused: class, Reason: "not now"}}
}

// silent is the end of an activity whose worker was killed.
var silent = answer{err: temporal.NewApplicationError("lost", "WorkerLost")}

func (p *play) wantClosed(v flow.View, batch string, reason delivery.Close, charged int) {
	p.Helper()
	i := slices.IndexFunc(v.Fold.Closed, func(e delivery.Entry) bool { return e.Batch.ID == batch })
	if i < 0 {
		p.Fatalf("batch %s is not closed; the queue is %+v; it waits because of %q", batch, v.Fold.Queue, v.Waiting)
	}
	if e := v.Fold.Closed[i]; e.Close != reason || e.Charged != charged {
		p.Errorf("batch %s is closed as %s, charged %d: want %s, %d", batch, e.Close, e.Charged, reason, charged)
	}
}

func (p *play) wantHead(v flow.View, batch string, replay delivery.Replay, charged int) *delivery.Entry {
	p.Helper()
	e := v.Fold.Head()
	if e == nil || e.Batch.ID != batch || e.Replay != replay || e.Charged != charged {
		p.Fatalf("the head is %+v, want %s, %s, charged %d", e, batch, replay, charged)
	}
	return e
}

func (p *play) wantSent(n int) {
	p.Helper()
	if len(p.sent) != n {
		p.Errorf("sent %d times, want %d", len(p.sent), n)
	}
}

// complete plays the turn that took the last message, to its end.
func (p *play) complete(turn string) {
	p.then(time.Second, func() { p.mark(turn, true) })
	p.then(time.Second, func() { p.turn(turn, delivery.TurnCompleted) })
}

func (p *play) begin(batches ...string) {
	p.then(time.Second, func() { p.attach("1") })
	for _, b := range batches {
		p.then(time.Second, func() { p.enqueue(b) })
	}
}

func TestAnIdleThreadGetsTheBatch(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.begin("b-1")
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
	p.wantSent(1)
	if text := p.sent[0].Text; !strings.Contains(text, "untrusted data") || !strings.Contains(text, "> all checks passed") {
		t.Errorf("delivered %q", text)
	}
	want := []delivery.Audit{delivery.AuditAllow, delivery.AuditStart, delivery.AuditAccepted, delivery.AuditObserved}
	if got := p.decisions("b-1"); !slices.Equal(got, want) {
		t.Errorf("the audit has %v, want %v", got, want)
	}
}

func TestABusyThreadIsWaitedFor(t *testing.T) {
	p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0"}, idle}, answers: []answer{accepted("u-1")}})
	p.begin("b-1")
	p.then(500*time.Millisecond, func() {
		if len(p.sent) > 0 {
			t.Error("sent into a busy thread")
		}
		p.turn("u-0", delivery.TurnCompleted)
	})
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
}

var proved = delivery.SteerProof{Gate: true, SameTurn: true, Reconciles: true, Ordered: true, Smoke: true, KeepsAnswers: true}

func TestASteerGoesIntoTheActiveTurn(t *testing.T) {
	p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0", steer: proved}}, answers: []answer{accepted("u-0")}})
	p.begin("b-1")
	p.then(time.Second, func() { p.mark("u-0", false) })
	p.then(time.Second, func() { p.turn("u-0", delivery.TurnCompleted) })
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
	if a := p.sent[0].Attempt; a.Kind != delivery.TurnSteer || a.Expected != "u-0" {
		t.Errorf("sent %+v", a)
	}
}

func TestNoSteerWithoutItsGate(t *testing.T) {
	closed := proved
	closed.Gate = false
	p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0", steer: closed}}})
	p.begin("b-1")
	v := p.run(flow.Settings{})
	p.wantHead(v, "b-1", delivery.Automatic, 0)
	p.wantSent(0)
	if v.Waiting != string(delivery.SteerOff) {
		t.Errorf("it waits because of %q", v.Waiting)
	}
}

func TestARefusalWithoutEffectIsTriedAgain(t *testing.T) {
	for _, class := range []delivery.Refusal{delivery.Benign, delivery.Lost, delivery.NotSent, delivery.Busy} {
		p := newPlay(t, &town{answers: []answer{refused(class), accepted("u-1")}})
		p.begin("b-1")
		p.then(time.Minute, func() {})
		p.complete("u-1")
		p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
		p.wantSent(2)
		if a, b := p.sent[0].Attempt, p.sent[1].Attempt; a.Marker == b.Marker || a.RequestID == b.RequestID || b.Generation != 2 || b.Epoch <= a.Epoch {
			t.Errorf("%s: sent %+v, then %+v", class, a, b)
		}
	}
}

func TestAPermanentRefusalGoesToAPerson(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{refused(delivery.Permanent)}})
	p.begin("b-1")
	p.then(time.Hour, func() {})
	p.wantHead(p.run(flow.Settings{}), "b-1", delivery.Manual, 0)
	p.wantSent(1)
}

func TestAnUnknownAcceptanceIsNeverSentAgain(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{silent}})
	p.begin("b-1")
	p.then(4*time.Minute, func() {
		v, err := p.env.QueryWorkflow(flow.Query)
		var view flow.View
		if err != nil || v.Get(&view) != nil || view.Fold.InFlight() == nil || view.Fold.InFlight().State != delivery.AcceptPending {
			t.Errorf("after 4 minutes: %+v, %v", view, err)
		}
	})
	p.then(2*time.Minute, func() {
		var lost []string
		if v, err := p.env.QueryWorkflow("given up"); err != nil || v.Get(&lost) != nil || !slices.Equal(lost, []string{p.sent[0].Attempt.Marker}) {
			t.Errorf("given up %v: %v", lost, err)
		}
	})
	e := p.wantHead(p.run(flow.Settings{}), "b-1", delivery.Manual, 0)
	p.wantSent(1)
	if e.Attempts[0].RPC != delivery.UnknownRPC {
		t.Errorf("the attempt is %+v", e.Attempts[0])
	}
}

// An attempt whose process ends before it answers is a person's as soon as the next process has looked, whatever that
// shows: a new process proves nothing of an old one.
func TestAnUnansweredAttemptEndsWithTheNextProcess(t *testing.T) {
	for want, l := range map[string]look{
		"turn u-1: turn_completed": read("u-1", delivery.TurnCompleted), "turn u-1, which has not ended": read("u-1", ""),
		"does not find the message": {}, "ended before it answered": {out: activities.ReconcileResult{Recent: true}},
		"find the message": {err: temporal.NewApplicationError("not yet", activities.ReadError)},
	} {
		t.Run(want, func(t *testing.T) {
			w := &town{looks: []look{l, {}}}
			p := newPlay(t, w)
			lost := silent
			lost.before = func() { p.detach() }
			w.answers = []answer{lost}
			p.begin("b-1")
			p.then(time.Second, func() { p.wantWoken(1) })
			p.then(time.Second, func() { p.attach("2") })
			p.then(20*time.Second, func() {})
			e := p.wantHead(p.run(flow.Settings{}), "b-1", delivery.Manual, 0)
			p.wantSent(1)
			if last := p.lines[len(p.lines)-1]; e.Attempts[0].RPC != delivery.UnknownRPC || last.Decision != delivery.AuditManualized || !strings.Contains(last.Reason, want) {
				t.Errorf("the attempt is %+v; told %+v", e.Attempts[0], last)
			}
		})
	}
}

// Without a process that follows, the sweep settles the attempt.
func TestAnUnansweredAttemptWithoutAProcessIsSwept(t *testing.T) {
	w := &town{}
	p := newPlay(t, w)
	lost := silent
	lost.before = func() { p.detach() }
	w.answers = []answer{lost}
	p.begin("b-1")
	p.then(delivery.AcceptLimit+time.Minute, func() {})
	p.wantHead(p.run(flow.Settings{}), "b-1", delivery.Manual, 0)
	p.wantSent(1)
}

func (p *play) wantWoken(n int) {
	p.Helper()
	v, err := p.env.QueryWorkflow("wakes")
	if got := 0; err != nil || v.Get(&got) != nil || got < n {
		p.Errorf("woken %d times, want %d at least: %v", got, n, err)
	}
}

func TestAMarkerProvesAnAcceptance(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{silent}})
	p.begin("b-1")
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
	p.wantSent(1)
}

func read(turn string, end delivery.TurnEvent) look {
	l := look{out: activities.ReconcileResult{Marked: &delivery.Marked{Turn: turn, First: true, Read: true}}}
	if end != "" {
		l.out.Turn = &delivery.TurnSeen{Turn: turn, What: end, Read: true}
	}
	return l
}

func TestAReadReconcilesWhatWasMissed(t *testing.T) {
	for name, script := range map[string]*town{
		"the answer":     {answers: []answer{silent}, looks: []look{read("u-1", delivery.TurnCompleted)}},
		"the completion": {answers: []answer{accepted("u-1")}, looks: []look{read("u-1", ""), read("u-1", delivery.TurnCompleted)}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlay(t, script)
			p.begin("b-1")
			p.then(10*time.Minute, func() {})
			p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
			p.wantSent(1)
			if !slices.Contains(p.decisions("b-1"), delivery.AuditReconciled) {
				t.Errorf("the audit has %v", p.decisions("b-1"))
			}
		})
	}
}

func TestAnEndThatIsNoCompletionGoesToAPerson(t *testing.T) {
	for _, end := range []delivery.TurnEvent{delivery.TurnFailed, delivery.TurnInterrupted, delivery.TurnReplaced} {
		p := newPlay(t, &town{answers: []answer{accepted("u-1"), accepted("u-2")}})
		p.begin("b-1", "b-2")
		p.then(time.Second, func() { p.mark("u-1", true) })
		p.then(time.Second, func() { p.turn("u-1", end) })
		p.then(time.Hour, func() {
			p.wantSent(1) // the second waits behind the first
			p.update(flow.CloseUpdate, flow.Closing{Reason: delivery.Confirmed, By: "a person", Note: "it is there"})
		})
		p.complete("u-2")
		v := p.run(flow.Settings{})
		p.wantClosed(v, "b-1", delivery.Confirmed, 1)
		p.wantClosed(v, "b-2", delivery.Delivered, 1)
	}
}

func TestACompletionWithoutTheMessageGoesToAPerson(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.begin("b-1")
	p.then(time.Second, func() { p.turn("u-1", delivery.TurnCompleted) })
	p.wantHead(p.run(flow.Settings{}), "b-1", delivery.Manual, 1)
}

func TestAProcessLostInFlightGivesTheBatchToAPerson(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.begin("b-1")
	p.then(time.Second, func() { p.mark("u-1", true) })
	p.then(time.Second, func() { p.detach() })
	p.then(time.Second, func() { p.attach("2") })
	p.then(time.Second, func() { p.turn("u-1", delivery.TurnCompleted) }) // told by the process that is gone
	p.then(time.Hour, func() {})
	v := p.run(flow.Settings{})
	p.wantHead(v, "b-1", delivery.Manual, 1)
	p.wantSent(1)
	if v.Fold.Session.State != delivery.Parked {
		t.Errorf("the session is %s", v.Fold.Session.State)
	}
}

func TestWhatTheProcessToldBeforeItEndedCounts(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.begin("b-1")
	p.then(time.Second, func() {
		p.mark("u-1", true)
		p.turn("u-1", delivery.TurnCompleted)
		p.detach()
	})
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
}

// What a process tells that serves the session no longer proves nothing of the one that does.
func TestAnotherProcessProvesNothing(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.then(time.Second, func() { p.attach("2") })
	p.then(time.Second, func() { p.enqueue("b-1") })
	p.complete("u-1") // by process 1
	v := p.run(flow.Settings{})
	if a := v.Fold.InFlight(); a == nil || a.Marked {
		t.Errorf("the attempt in flight is %+v", a)
	}
}

// The answer that nothing was sent comes after the process is lost: the batch is sent by the next process.
func TestALossDuringARequestThatWasNotSent(t *testing.T) {
	w := &town{}
	p := newPlay(t, w)
	lost := refused(delivery.NotSent)
	lost.before = func() { p.detach() }
	w.answers = []answer{lost, accepted("u-1")}
	p.begin("b-1")
	p.then(time.Minute, func() { p.attach("1") })
	p.then(time.Minute, func() {})
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
	p.wantSent(2)
}

func TestNothingIsSentThatCannotBeRecorded(t *testing.T) {
	w := &town{broken: true, answers: []answer{accepted("u-1")}}
	p := newPlay(t, w)
	p.begin("b-1")
	p.then(time.Hour, func() {
		p.wantSent(0)
		w.broken = false
	})
	p.then(10*time.Minute, func() {})
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
}

func TestBatchesGoInTheirOrderAndNotTooFast(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1"), accepted("u-2")}})
	p.begin("b-1", "b-2")
	p.complete("u-1")
	p.then(20*time.Second, func() { p.wantSent(1) })
	p.then(20*time.Second, func() {})
	p.complete("u-2")
	v := p.run(flow.Settings{})
	p.wantClosed(v, "b-1", delivery.Delivered, 1)
	p.wantClosed(v, "b-2", delivery.Delivered, 1)
	if a, b := p.sent[0].Attempt.Batch, p.sent[1].Attempt.Batch; a != "b-1" || b != "b-2" {
		t.Errorf("sent %s, then %s", a, b)
	}
}

func TestWindowsPass(t *testing.T) {
	p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0"}}})
	p.begin("b-1")
	p.then(24*time.Hour+time.Minute, func() {})
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.WindowExhausted, 0)

	p = newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.begin("b-1")
	p.then(6*time.Hour+time.Minute, func() {})
	if e := p.wantHead(p.run(flow.Settings{}), "b-1", delivery.Manual, 1); e.Attempts[0].Observation != delivery.Expired {
		t.Errorf("the attempt is %+v", e.Attempts[0])
	}

	p = newPlay(t, &town{answers: []answer{refused(delivery.Permanent)}})
	p.begin("b-1")
	p.then(24*time.Hour+time.Minute, func() {})
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.ResolutionPassed, 0)
}

func TestAnotherThreadIsDenied(t *testing.T) {
	p := newPlay(t, &town{threads: []thread{{status: "idle", id: "thread-2"}}})
	p.begin("b-1")
	p.then(time.Hour, func() {})
	v := p.run(flow.Settings{})
	p.wantHead(v, "b-1", delivery.Automatic, 0)
	p.wantSent(0)
	if got := p.decisions("b-1"); !slices.Equal(got, []delivery.Audit{delivery.AuditDeny}) {
		t.Errorf("the audit has %v", got)
	}
}

func TestPermissionsBeyondTheBoundAreForAPerson(t *testing.T) {
	risky := thread{status: "idle", allows: delivery.Allows{Network: true}}
	p := newPlay(t, &town{threads: []thread{risky}})
	p.begin("b-1")
	p.then(time.Hour, func() {})
	v := p.run(flow.Settings{})
	p.wantHead(v, "b-1", delivery.Automatic, 0)
	p.wantSent(0)
	if v.Waiting != string(delivery.Permitted) || p.reads != 1 {
		t.Errorf("it waits because of %q, after %d reads", v.Waiting, p.reads)
	}

	p = newPlay(t, &town{threads: []thread{risky}, answers: []answer{accepted("u-1")}})
	p.begin("b-1")
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{Mode: delivery.TrustedAll}), "b-1", delivery.Delivered, 1)
}

func TestASleepingSessionIsWoken(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.begin()
	p.then(time.Second, func() { p.detach() })
	p.then(time.Second, func() { p.enqueue("b-1") })
	p.then(time.Second, func() {
		v, err := p.env.QueryWorkflow("wakes")
		if n := 0; err != nil || v.Get(&n) != nil || n != 1 {
			t.Errorf("woken %d times: %v", n, err)
		}
		p.attach("1")
	})
	p.then(time.Second, func() {})
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
}

// The process of a session whose thread has no name yet ends before it names one, as with its worker.
func TestASessionThatDiesBeforeItNamesItsThreadIsWokenAgain(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	woken := func(want int) func() {
		return func() {
			v, err := p.env.QueryWorkflow("wakes")
			if n := 0; err != nil || v.Get(&n) != nil || n != want {
				t.Errorf("woken %d times, want %d: %v", n, want, err)
			}
		}
	}
	p.then(time.Second, func() { p.enqueue("b-1") })
	p.then(time.Second, woken(1))
	p.then(time.Second, func() { p.detach() })
	p.then(time.Second, woken(2))
	p.then(time.Second, func() { p.attach("1") })
	p.then(time.Second, func() {})
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
}

// A session that cannot be ready for hours, as behind an ask that no person decides, has the batch nevertheless.
func TestABatchForASessionWithoutAThreadIsKept(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	var first, again, other, full, wrong, closed *updated
	p.then(time.Second, func() { first = p.update(flow.EnqueueUpdate, batch("b-1")) })
	p.then(time.Hour, func() {
		v := p.view()
		if len(v.Fold.Queue) != 1 || v.Fold.Queue[0].Batch.ID != "b-1" || !strings.Contains(v.Waiting, "session_not_live") {
			t.Errorf("shown %+v", v)
		}
		again = p.update(flow.EnqueueUpdate, batch("b-1"))
		changed := batch("b-1")
		changed.Jobs[0].Summary = "something else"
		other = p.update(flow.EnqueueUpdate, changed)
		p.enqueue("b-2")
		wrong = p.update(flow.CloseUpdate, flow.Closing{Batch: "b-2", Reason: delivery.Confirmed})
		closed = p.update(flow.CloseUpdate, flow.Closing{Batch: "b-2", Reason: delivery.Cancelled})
	})
	for i := range delivery.MaxQueued {
		p.then(time.Millisecond, func() { full = p.update(flow.EnqueueUpdate, batch("c-"+strings.Repeat("x", i+1))) })
	}
	p.then(time.Hour, func() { p.attach("1") })
	p.then(time.Second, func() {})
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
	if r, ok := first.result.(activities.Receipt); !ok || first.err != nil || r.Batch != "b-1" || r.Waiting != 1 {
		t.Errorf("receipt %+v", first)
	}
	if again.err != nil || !again.accepted || closed.err != nil {
		t.Errorf("the same again: %+v, closed: %+v", again, closed)
	}
	for want, u := range map[string]*updated{"batch_known": other, "queue_full": full, "batch_not_open": wrong} {
		if u.accepted || u.err == nil || !strings.Contains(u.err.Error(), want) {
			t.Errorf("want %s: %+v", want, u)
		}
	}
}

// A session that names no thread within the window gives the batch up.
func TestAnEarlyBatchIsGivenUp(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.then(time.Second, func() { p.enqueue("b-1") })
	p.then(delivery.RedeliveryWindow+time.Minute, func() {
		if v := p.view(); len(v.Fold.Queue) != 0 {
			t.Errorf("kept %+v", v.Fold.Queue)
		}
		p.attach("1")
	})
	p.then(time.Minute, func() { p.wantSent(0) })
	p.run(flow.Settings{})
}

func TestAPersonGoesFirst(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.then(time.Second, func() { p.env.SignalWorkflow("person", true) })
	p.begin("b-1")
	p.then(time.Minute, func() {
		p.wantSent(0)
		p.env.SignalWorkflow("person", false)
	})
	p.then(5*time.Second, func() {})
	p.complete("u-1")
	p.wantClosed(p.run(flow.Settings{}), "b-1", delivery.Delivered, 1)
}

func TestUpdatesThatAreRefusedLeaveNothing(t *testing.T) {
	p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0"}}})
	p.begin("b-1")
	long, other, lines := batch("b-2"), batch("b-1"), batch("b-3")
	long.Jobs[0].Summary = strings.Repeat("x", delivery.MaxBatchBytes)
	other.Jobs[0].Summary = "something else"
	lines.Jobs = []delivery.Job{}
	wide := batch("b-4")
	wide.ReservedBy = strings.Repeat("x", 8*delivery.MaxBatchBytes)
	rows := map[string]*updated{}
	p.then(time.Second, func() {
		rows["batch_invalid: batch b-2 has"] = p.update(flow.EnqueueUpdate, long)
		rows["batch_invalid: batch b-3 has 0 jobs"] = p.update(flow.EnqueueUpdate, lines)
		rows["batch_invalid: batch id"] = p.update(flow.EnqueueUpdate, batch("../b"))
		rows["batch_invalid: batch b-4 has"] = p.update(flow.EnqueueUpdate, wide)
		rows["batch_known"] = p.update(flow.EnqueueUpdate, other)
		rows["batch_not_open"] = p.update(flow.CloseUpdate, flow.Closing{Batch: "b-9", Reason: delivery.Confirmed})
		rows["batch b-1 was not sent: close it with --cancelled"] = p.update(flow.CloseUpdate, flow.Closing{Reason: delivery.Confirmed})
		rows["note_too_long"] = p.update(flow.CloseUpdate, flow.Closing{Reason: delivery.Confirmed, Note: strings.Repeat("x", 3000)})
		rows["note_too_long: at most"] = p.update(flow.CloseUpdate, flow.Closing{Reason: delivery.Confirmed, Note: strings.Repeat("<", 1000)})
		rows[`cannot be closed as "delivered"`] = p.update(flow.CloseUpdate, flow.Closing{Reason: delivery.Delivered})
	})
	var again *updated
	p.then(time.Second, func() { again = p.update(flow.EnqueueUpdate, batch("b-1")) })
	v := p.run(flow.Settings{})
	for want, u := range rows {
		if u.accepted || u.err == nil || !strings.Contains(u.err.Error(), want) {
			t.Errorf("want %q: accepted %v, %v", want, u.accepted, u.err)
		}
	}
	if again.err != nil || !again.accepted {
		t.Errorf("the same batch again: %+v", again)
	}
	if len(v.Fold.Queue) != 1 {
		t.Errorf("the queue has %d batches", len(v.Fold.Queue))
	}
}

func TestAFullQueueRefuses(t *testing.T) {
	p := newPlay(t, &town{threads: []thread{{status: "active", turn: "u-0"}}})
	p.begin()
	var last *updated
	for i := range delivery.MaxQueued + 1 {
		p.then(time.Millisecond, func() { last = p.update(flow.EnqueueUpdate, batch("c-"+strings.Repeat("x", i+1))) })
	}
	p.run(flow.Settings{})
	if last.accepted || last.err == nil || !strings.Contains(last.err.Error(), "queue_full") {
		t.Errorf("the last one: %+v", last)
	}
}

func TestRetirement(t *testing.T) {
	p := newPlay(t, &town{answers: []answer{accepted("u-1")}})
	p.begin("b-1")
	p.then(time.Second, func() { p.env.SignalWorkflow("retire", nil) })
	p.then(time.Second, func() {
		v, err := p.env.QueryWorkflow("retired")
		if pending := false; err != nil || v.Get(&pending) != nil || !pending {
			t.Errorf("a session with an attempt in flight was retired: %v", err)
		}
	})
	p.complete("u-1")
	p.then(time.Second, func() { p.enqueue("b-2") })
	p.then(time.Second, func() { p.env.SignalWorkflow("retire", nil) })
	var late *updated
	p.then(time.Second, func() { late = p.update(flow.EnqueueUpdate, batch("b-3")) })
	v := p.run(flow.Settings{})
	p.wantClosed(v, "b-1", delivery.Delivered, 1)
	p.wantClosed(v, "b-2", delivery.Cancelled, 0)
	if v.Fold.Session.State != delivery.Retired {
		t.Errorf("the session is %s", v.Fold.Session.State)
	}
	if late.accepted || late.err == nil || !strings.Contains(late.err.Error(), "session_retired") {
		t.Errorf("a batch for a retired session: %+v", late)
	}
}
