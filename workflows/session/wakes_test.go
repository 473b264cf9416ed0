package session_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// mortal is a worker whose agent lives for a moment at each start, and then ends in the same way.
type mortal struct {
	env   *testsuite.TestWorkflowEnvironment
	ready bool
	end   activities.ProcessResult

	mu     sync.Mutex
	inputs []activities.ProcessInput
}

// absurd is a number of starts that only a loop without a pause comes to.
const absurd = 2000

func (m *mortal) RunProcess(_ context.Context, in activities.ProcessInput) (activities.ProcessResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inputs = append(m.inputs, in)
	switch {
	case len(m.inputs) == absurd:
		m.env.CancelWorkflow()
	case in.Fresh:
		return activities.ProcessResult{End: session.Unstarted}, nil
	case m.ready:
		m.env.SignalWorkflow(activities.ReportSignal, session.Report{Epoch: in.Epoch, N: 1, Ready: &session.Ready{Queue: "own", Agent: "a1"}})
	}
	return m.end, nil
}

func (m *mortal) ProveThread(context.Context, deliveryacts.ProveInput) (deliveryacts.ProveResult, error) {
	return deliveryacts.ProveResult{}, temporal.NewNonRetryableApplicationError("gone", deliveryacts.GoneError, nil)
}

func (m *mortal) RecordDelivery(context.Context, deliveryacts.RecordInput) error { return nil }

func (m *mortal) Retire(context.Context, session.Input) (activities.Retired, error) {
	return activities.Retired{}, nil
}

// starts counts the starts so far.
func (m *mortal) starts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.inputs)
}

// awaitBatch plays a session that knew its agent, and for which a batch waits for as long as a batch can.
func (m *mortal) awaitBatch(t *testing.T, then func(time.Duration)) {
	t.Helper()
	m.env = temporaltest.Environment()
	m.env.RegisterWorkflow(sessionflow.Session)
	m.env.RegisterActivity(m)
	in := session.Input{ID: "s1", Provider: "acp:fake", Repository: run.Repository{Path: "/r", Base: "c"}}
	snap := session.New(in, m.env.Now())
	snap.Agent, snap.Epochs = "a1", 1
	m.env.RegisterDelayedCallback(func() {
		m.env.UpdateWorkflow(deliveryflow.EnqueueUpdate, "", new(ignored), batch("b-1", "thanks"))
	}, time.Second)
	const most = 23 * time.Hour
	m.env.RegisterDelayedCallback(func() { then(most) }, most)
	m.env.RegisterDelayedCallback(m.env.CancelWorkflow, most+time.Hour)
	m.env.ExecuteWorkflow(sessionflow.Session, sessionflow.Input{Snapshot: snap})
	if err := m.env.GetWorkflowError(); err != nil {
		t.Error(err)
	}
	if m.starts() >= absurd {
		t.Fatalf("%d starts at once", m.starts())
	}
}

// ignored is the end of an update that the test looks at by other means.
type ignored struct{}

func (*ignored) Accept()             {}
func (*ignored) Reject(error)        {}
func (*ignored) Complete(any, error) {}

// waiting returns why the batch waits.
func (m *mortal) waiting(t *testing.T) (why string) {
	t.Helper()
	var v deliveryflow.View
	got, err := m.env.QueryWorkflow(deliveryflow.Query)
	if err != nil || got.Get(&v) != nil || len(v.Fold.Queue) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	return v.Waiting
}

// A batch that waits for an agent without its session starts the agent once, and tells a person what to do.
func TestNoDeliveryStartsAForgottenSessionAgain(t *testing.T) {
	t.Parallel()
	m := &mortal{end: activities.ProcessResult{End: session.Forgotten, Reason: "the agent no longer knows its session"}}
	m.awaitBatch(t, func(time.Duration) {
		if n := m.starts(); n != 1 {
			t.Errorf("%d starts", n)
		}
		if why := m.waiting(t); !strings.Contains(why, "say --fresh") {
			t.Errorf("it waits because of %q", why)
		}
		m.env.UpdateWorkflow(sessionflow.SayUpdate, "", new(ignored), session.Message{ID: "m1", Text: "again", Fresh: true})
	})
	if m.starts() < 2 || !m.inputs[1].Fresh {
		t.Errorf("started by %+v", m.inputs)
	}
}

// An agent that dies as soon as it lives, or is put to sleep to make room for another one whose batch waits likewise.
func TestWakesThatBringNoDeliveryArePaced(t *testing.T) {
	t.Parallel()
	for _, end := range []session.End{session.Died, session.Slept} {
		t.Run(string(end), func(t *testing.T) {
			t.Parallel()
			m := &mortal{ready: true, end: activities.ProcessResult{End: end}}
			m.awaitBatch(t, func(passed time.Duration) {
				if n, most := m.starts(), int(passed/(5*time.Minute))+10; n > most || n < most-20 {
					t.Errorf("%d starts, want some %d", n, most)
				}
				if why := m.waiting(t); !strings.Contains(why, "took no result") {
					t.Errorf("it waits because of %q", why)
				}
			})
		})
	}
}
