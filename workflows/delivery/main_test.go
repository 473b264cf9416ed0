package delivery_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	flow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

func TestMain(m *testing.M) {
	temporaltest.ObeyCacheVariable()
	m.Run()
}

const (
	sessionID = "s-1"
	threadID  = "thread-1"
)

// Standing is a workflow with deliveries and nothing else: its test plays the session.
func Standing(ctx workflow.Context, in flow.Settings, from flow.State) (flow.View, error) {
	h := &standing{}
	d, err := flow.New(ctx, in, h, from)
	if err != nil {
		return flow.View{}, err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for signals := workflow.GetSignalChannel(ctx, "told"); ; {
			var m told
			signals.Receive(ctx, &m)
			switch {
			case m.Observation != nil:
				d.Observe(ctx, *m.Observation)
			case m.Process != nil:
				d.Attach(ctx, *m.Process)
			default:
				d.Detach("the process ended")
			}
		}
	})
	var retired error
	workflow.Go(ctx, func(ctx workflow.Context) {
		for retire := workflow.GetSignalChannel(ctx, "retire"); ; {
			retire.Receive(ctx, nil)
			if retired = d.Retire(ctx); retired == nil {
				return
			}
		}
	})
	_ = workflow.SetQueryHandler(ctx, "state", func() (flow.State, error) { return d.State(ctx), nil })
	_ = workflow.SetQueryHandler(ctx, "wakes", func() (int, error) { return h.wakes, nil })
	_ = workflow.SetQueryHandler(ctx, "retired", func() (bool, error) { return errors.Is(retired, delivery.ErrPendingResolution), nil })
	_ = workflow.SetQueryHandler(ctx, "given up", func() ([]string, error) { return h.lost, nil })
	workflow.Go(ctx, func(ctx workflow.Context) {
		for turn := workflow.GetSignalChannel(ctx, "person"); ; {
			turn.Receive(ctx, &h.occupied)
		}
	})
	for err == nil { // as a session's workflow does where it rests
		seen := h.touched
		if d.Step(ctx) {
			continue
		}
		changed := func() bool { return h.touched != seen }
		if due := d.Due(); due.IsZero() {
			err = workflow.Await(ctx, changed)
		} else {
			_, err = workflow.AwaitWithTimeout(ctx, max(due.Sub(workflow.Now(ctx)), time.Millisecond), changed)
		}
	}
	return flow.View{}, err
}

// told is what a session's process does: it begins, tells something, or ends.
type told struct {
	Process     *flow.Process
	Observation *activities.Observation
}

type standing struct {
	wakes, touched int
	occupied       bool   // a person's turn is about to begin
	turn           string // of a delivery
	lost           []string
}

func (*standing) ReachProcess(ctx workflow.Context) workflow.Context { return ctx }
func (h *standing) CheckWake(workflow.Context) (time.Time, error)    { return time.Time{}, nil }
func (h *standing) WakeProcess(workflow.Context)                     { h.wakes++ }
func (h *standing) HasTurnToBegin(workflow.Context) bool             { return h.occupied }
func (h *standing) BudgetLeft(workflow.Context) (provider.Left, error) {
	return provider.Left{}, nil
}
func (h *standing) Touch() { h.touched++ }

func (h *standing) BeginTurn(_ workflow.Context, id string) bool {
	h.turn = id
	return true
}

func (h *standing) TakeTurnBack(_ workflow.Context, id string) {
	if h.turn == id {
		h.turn = ""
	}
}

func (h *standing) GiveTurnUp(_ workflow.Context, id string) { h.lost = append(h.lost, id) }

// town stands in for everything that the deliveries touch: a thread with an owner, and a ledger on paper. It notes what
// was sent and recorded. Each answer is used once; the last one stays.
type town struct {
	mu      sync.Mutex
	threads []thread
	answers []answer
	looks   []look
	ledger  int  // the last entry that is written
	broken  bool // the ledger cannot be written
	sent    []activities.DeliverInput
	early   []string // requests that were sent before they were recorded
	lines   []delivery.Line
	reads   int
	now     func() time.Time
}

type thread struct {
	status string
	turn   string // active
	allows delivery.Allows
	id     string // empty: threadID
	err    error
	steer  delivery.SteerProof
}

type answer struct {
	out    activities.DeliverResult
	err    error
	before func() // the answer comes
}

type look struct {
	out activities.ReconcileResult
	err error
}

func next[T any](list *[]T) (v T) {
	if len(*list) == 0 {
		return v
	}
	v = (*list)[0]
	if len(*list) > 1 {
		*list = (*list)[1:]
	}
	return v
}

var idle = thread{status: "idle"}

// able is what the adapter of the tests is proved to be able to, but for steers.
var able = delivery.Capabilities{
	ThreadStart: true, ThreadResume: true, TurnStart: true, CurrentStateSync: true, TurnCompleted: true, NegativeEnds: true,
}

func (t thread) prove(s delivery.Session) delivery.Proved {
	read := agent.Thread{ID: cmp.Or(t.id, threadID), Status: t.status, Allows: &t.allows}
	if t.turn != "" {
		read.Active = []agent.ActiveTurn{{ID: t.turn, Kind: delivery.RegularTurn}}
	}
	can := able
	can.Steer = t.steer
	return read.Prove(s, can)
}

func (w *town) RecordDelivery(_ context.Context, in activities.RecordInput) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.record(in)
}

func (w *town) record(in activities.RecordInput) error {
	if w.broken {
		return temporal.NewNonRetryableApplicationError("no space left", activities.LedgerError, nil)
	}
	for _, e := range in.Record {
		if e.N > w.ledger+1 {
			return temporal.NewNonRetryableApplicationError("a gap in the ledger", activities.LedgerError, nil)
		}
		if e.N == w.ledger+1 {
			w.ledger = e.N
			w.lines = append(w.lines, e.Audit...)
		}
	}
	return nil
}

func (w *town) ProveThread(_ context.Context, in activities.ProveInput) (activities.ProveResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if err := w.record(activities.RecordInput{Record: in.Record}); err != nil {
		return activities.ProveResult{}, err
	}
	t := next(&w.threads)
	if t.err != nil {
		return activities.ProveResult{}, t.err
	}
	return activities.ProveResult{Proved: t.prove(in.Managed)}, nil
}

func (w *town) SendDelivery(_ context.Context, in activities.DeliverInput) (activities.DeliverResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.record(activities.RecordInput{Record: in.Record}); err != nil {
		return activities.DeliverResult{Refused: delivery.NotSent, Reason: err.Error()}, nil
	}
	begun := false
	for _, l := range w.lines {
		begun = begun || l.Decision == delivery.AuditStart && l.Batch == in.Attempt.Batch && l.Attempt == in.Attempt.Generation
	}
	if !begun {
		w.early = append(w.early, in.Attempt.RequestID)
	}
	w.sent = append(w.sent, in)
	a := next(&w.answers)
	if a.before != nil {
		a.before()
	}
	if a.out.Turn != "" {
		a.out.At = w.now()
	}
	return a.out, a.err
}

func (w *town) ReconcileDelivery(_ context.Context, in activities.ReconcileInput) (activities.ReconcileResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := next(&w.looks)
	if m := l.out.Marked; m != nil {
		m.Marker, m.Session, m.Epoch, m.At = in.Marker, in.Session, in.Epoch, w.now()
	}
	if s := l.out.Turn; s != nil {
		s.Session, s.Epoch, s.At = in.Session, in.Epoch, w.now()
	}
	return l.out, l.err
}

// play is one session with its deliveries, in the SDK's environment.
type play struct {
	*testing.T
	*town
	env  *testsuite.TestWorkflowEnvironment
	at   time.Duration
	from flow.State // of an execution before
}

func newPlay(t *testing.T, w *town) *play {
	env := temporaltest.Environment()
	env.RegisterWorkflow(Standing)
	env.RegisterActivity(w)
	if len(w.threads) == 0 {
		w.threads = []thread{idle}
	}
	w.now = env.Now
	return &play{T: t, town: w, env: env}
}

// then does something a while after the last thing.
func (p *play) then(after time.Duration, do func()) {
	p.at += after
	p.env.RegisterDelayedCallback(do, p.at)
}

func (p *play) attach(process string) {
	p.env.SignalWorkflow("told", told{Process: &flow.Process{ID: process, Thread: threadID, Adapter: "codex"}})
}

func (p *play) detach() { p.env.SignalWorkflow("told", told{}) }

func (p *play) see(s activities.Observation) {
	s.Process = "1"
	p.env.SignalWorkflow("told", told{Observation: &s})
}

// mark tells that the last message sent is in a turn.
func (p *play) mark(turn string, first bool) {
	p.mu.Lock()
	marker := p.sent[len(p.sent)-1].Attempt.Marker
	p.mu.Unlock()
	p.see(activities.Observation{Marked: &delivery.Marked{Marker: marker, Turn: turn, First: first, At: p.env.Now()}})
}

func (p *play) turn(turn string, what delivery.TurnEvent) {
	p.see(activities.Observation{Turn: &delivery.TurnSeen{Turn: turn, What: what, At: p.env.Now()}})
}

// updated collects how an update ended.
type updated struct {
	accepted bool
	result   any
	err      error
}

func (u *updated) Accept()        { u.accepted = true }
func (u *updated) Reject(e error) { u.err = e }
func (u *updated) Complete(r any, e error) {
	u.result, u.err = r, e
}

func (p *play) update(name string, in any) *updated {
	u := new(updated)
	p.env.UpdateWorkflow(name, "", u, in)
	return u
}

func batch(id string) activities.EnqueueInput {
	return activities.EnqueueInput{ID: id, Profile: delivery.SafeProfile(), Jobs: []delivery.Job{{ID: "job-" + id, State: delivery.JobReady, Summary: "all checks passed"}}}
}

func (p *play) enqueue(id string) { p.update(flow.EnqueueUpdate, batch(id)) }

// view returns what the deliveries are now.
func (p *play) view() (v flow.View) {
	got, err := p.env.QueryWorkflow(flow.Query)
	if err != nil || got.Get(&v) != nil {
		p.Errorf("query: %v", err)
	}
	return v
}

// run plays to the end, which comes a while after the last thing, and returns what the deliveries are then.
func (p *play) run(in flow.Settings) flow.View {
	p.Helper()
	if in.Session == "" {
		in.Session = sessionID
	}
	var v flow.View
	p.then(time.Second, func() {
		v = p.view()
		p.env.CancelWorkflow()
	})
	p.env.ExecuteWorkflow(Standing, in, p.from)
	if err := p.env.GetWorkflowError(); err != nil && !temporal.IsCanceledError(err) {
		p.Fatal(err)
	}
	if len(p.early) > 0 {
		p.Errorf("sent before it was recorded: %v", p.early)
	}
	return v
}

// decisions are the audit's decisions about a batch, in their order.
func (w *town) decisions(batch string) (list []delivery.Audit) {
	for _, l := range w.lines {
		if l.Batch == batch {
			list = append(list, l.Decision)
		}
	}
	return list
}
