package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/activities/report"
	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// stage is a worker on a real engine, with real activities, whose sessions have an agent in memory.
type stage struct {
	*temporaltest.Engine
	t       *testing.T
	fake    *agenttest.Fake
	foreign atomic.Bool // the client says that the agent runs elsewhere
	runs    *rundir.Store
	queue   string
	repo    run.Repository
	id      session.ID
}

// prober is the agent, with a client that lists its running sessions.
type prober struct {
	agent.Adapter
	running func() bool
}

func (p prober) Running(string) (bool, error) { return p.running(), nil }

// newStage starts a worker that serves until all ends.
func newStage(e *temporaltest.Engine, all, t *testing.T, change func(*activities.Config)) *stage {
	t.Helper()
	s := &stage{Engine: e, t: t, fake: agenttest.NewFake(fakemodel.New()), queue: "q-" + uuid.NewString(), repo: newRepository(t)}
	var err error
	if s.runs, err = rundir.Open(t.Context(), filepath.Join(all.TempDir(), "runs")); err != nil {
		t.Fatal(err)
	}
	c := activities.Config{
		Runs: s.runs, Redact: redact.New(nil), LookupEnv: func(string) (string, bool) { return "", false }, Queue: "own-" + s.queue,
		Open: func(activities.Opening) (agent.Adapter, error) { return prober{s.fake, s.foreign.Load}, nil },
	}
	if change != nil {
		change(&c)
	}
	a, err := activities.New(c)
	if err != nil {
		t.Fatal(err)
	}
	deliveries, err := deliveryacts.New(deliveryacts.Config{Sessions: activities.NewProcesses(a), Ledger: ledger.In(s.runs.Dir())})
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(all, c.Queue, func(w worker.Registry) {
		sessionflow.RegisterOwner(w, activities.NewOwner(a))
		w.RegisterActivity(deliveries)
	})
	s.Serve(all, sessionflow.AgentQueue(s.queue), func(w worker.Registry) { w.RegisterActivity(a) })
	s.Serve(all, s.queue, func(w worker.Registry) {
		sessionflow.Register(w, a)
		w.RegisterActivity(deliveries)
	})
	return s
}

var repository gittest.Template

func newRepository(t *testing.T) run.Repository {
	t.Helper()
	dir := t.TempDir()
	repository.Copy(t, dir, func(dir string) {
		gittest.Run(t, dir, "init", "-q")
		gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	})
	return run.Repository{Path: dir, Base: run.Commit(gittest.Run(t, dir, "rev-parse", "HEAD"))}
}

// begin starts a session.
func (s *stage) begin(in session.Input) {
	s.t.Helper()
	in.ID, in.Provider, in.Repository = session.ID(uuid.NewString()), "acp:fake", s.repo
	_, err := s.Client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: in.ID.WorkflowID(), TaskQueue: s.queue}, sessionflow.Session, sessionflow.Input{Session: &in})
	if err != nil {
		s.t.Fatal(err)
	}
	s.id = in.ID
}

// send sends an update and returns its error.
func (s *stage) send(name string, arg any) error {
	h, err := s.Client.UpdateWorkflow(s.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: s.id.WorkflowID(), UpdateName: name, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(s.t.Context(), nil)
	}
	return err
}

// must sends an update that the session must take.
func (s *stage) must(name string, arg any) {
	s.t.Helper()
	if err := s.send(name, arg); err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
}

func (s *stage) say(message, text string) {
	s.t.Helper()
	s.must(sessionflow.SayUpdate, session.Message{ID: message, Text: text})
}

func (s *stage) state() (snap session.Snapshot) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	v, err := s.Client.QueryWorkflow(ctx, s.id.WorkflowID(), "", sessionflow.StateQuery)
	if err == nil {
		_ = v.Get(&snap)
	}
	return snap
}

// await waits until the session is as wanted.
func (s *stage) await(what string, ok func(session.Snapshot) bool) (snap session.Snapshot) {
	s.t.Helper()
	eventually.Within(s.t, "session "+what, 2*time.Minute, func() bool { snap = s.state(); return ok(snap) })
	return snap
}

// answer waits for the end of the message and compares it.
func (s *stage) answer(message string, outcome session.Outcome, gist string) session.Past {
	s.t.Helper()
	var p session.Past
	s.await("answers "+message, func(snap session.Snapshot) bool {
		for _, past := range snap.Past {
			if past.ID == message {
				p = past
			}
		}
		return p.ID != ""
	})
	if p.Outcome != outcome || p.Gist != gist {
		s.t.Errorf("%s: %s %q (%s); want %s %q", message, p.Outcome, p.Gist, p.Reason, outcome, gist)
	}
	return p
}

// heard waits until the agent works on the message and is heard.
func (s *stage) heard(message string) {
	s.t.Helper()
	s.await("hears "+message, func(snap session.Snapshot) bool {
		b, _ := s.runs.Session(string(s.id)).Note()
		return snap.Turn != nil && snap.Turn.ID == message && strings.Contains(string(b), `"stage":"heard"`)
	})
}

// spends waits until the agent works on the message and has told what that uses.
func (s *stage) spends(message string) {
	s.t.Helper()
	s.await("spends on "+message, func(snap session.Snapshot) bool {
		b, _ := s.runs.Session(string(s.id)).Note()
		return snap.Turn != nil && snap.Turn.ID == message && strings.Contains(string(b), `"used":{"`)
	})
}

func (s *stage) awaitState(state session.State) session.Snapshot {
	s.t.Helper()
	return s.await("is "+string(state), func(snap session.Snapshot) bool { return snap.State == state })
}

// decide decides about the first pending ask, as a signal of the Web UI does.
func (s *stage) decide(d run.Decision) {
	s.t.Helper()
	snap := s.awaitState(session.Asking)
	d.ApprovalID = snap.Pending().Asks[0].ApprovalID
	s.signal(sessionflow.ApprovalMessage, d)
}

// signal sends a signal, which the session may refuse.
func (s *stage) signal(name string, arg any) {
	s.t.Helper()
	if err := s.Client.SignalWorkflow(s.t.Context(), s.id.WorkflowID(), "", name, arg); err != nil {
		s.t.Fatal(err)
	}
}

// lose ends an activity as the host does for a worker that it found dead.
func (s *stage) lose(activity string) {
	s.t.Helper()
	d, err := temporalclient.Describe(s.t.Context(), s.Client, s.id.WorkflowID(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, a := range d.GetPendingActivities() {
		if a.GetActivityType().GetName() == activity && a.GetState() != enums.PENDING_ACTIVITY_STATE_SCHEDULED {
			err := s.Client.CompleteActivityByID(s.t.Context(), client.DefaultNamespace, s.id.WorkflowID(), d.GetWorkflowExecutionInfo().GetExecution().GetRunId(), a.GetActivityId(),
				nil, temporal.NewApplicationError("its worker died", report.LostError))
			if err != nil {
				s.t.Fatal(err)
			}
			return
		}
	}
	s.t.Fatalf("there is no %s to lose", activity)
}

// retire ends the session and returns its executions and its result.
func (s *stage) retire() (sessionflow.Result, []*history.History) {
	s.t.Helper()
	var res sessionflow.Result
	_ = s.send(sessionflow.RetireUpdate, sessionflow.By{By: "ann"}) // it may be retired already
	if err := s.Client.GetWorkflow(s.t.Context(), s.id.WorkflowID(), "").Get(s.t.Context(), &res); err != nil {
		s.t.Errorf("the session ends with %v", err)
	}
	if n := s.fake.Living(); n != 0 {
		s.t.Errorf("%d agents are left", n)
	}
	return res, s.executions()
}

// executions returns the histories of the session, the oldest first.
func (s *stage) executions() (all []*history.History) {
	for runID := ""; ; {
		h := s.History(s.t, s.id.WorkflowID(), runID)
		all = append([]*history.History{h}, all...)
		if runID = h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); runID == "" {
			return all
		}
	}
}

var errTest = errors.New("not today")

// A worker died while it removed the checkout of a retired session: the diff that it had kept is the session's, and the
// rest of the checkout goes.
func TestARetirementThatWasCutOffKeepsItsChanges(t *testing.T) {
	t.Parallel()
	s := newStage(temporaltest.Shared(t), t, t, nil)
	s.begin(session.Input{})
	s.say("m1", `[[tool:write {"path":"new.txt","content":"made\n"}]][[say:done]]`)
	s.answer("m1", session.Completed, "done")
	s.must(sessionflow.DiffUpdate, sessionflow.By{})
	slot := s.runs.Session(string(s.id))
	checkout := filepath.Join(slot.Path(), "checkout")
	for _, name := range []string{"made", "tree/new.txt"} {
		if err := os.Remove(filepath.Join(checkout, name)); err != nil {
			t.Fatal(err)
		}
	}
	res, _ := s.retire()
	if b, err := slot.Dir().Load(res.Changes); err != nil || !strings.Contains(string(b), "+made") {
		t.Errorf("diff %q, %v", b, err)
	}
	if _, err := os.Stat(checkout); err == nil {
		t.Error("the checkout is left")
	}
}

// A person answered stop when the budget was used up: the next turn does not use on without a bound.
func TestNoTurnIsUnboundedAfterABudgetWasStopped(t *testing.T) {
	t.Parallel()
	s := newStage(temporaltest.Shared(t), t, t, nil)
	s.begin(session.Input{MaxTokens: 1000})
	s.say("m1", `[[tool:read {"path":"a.txt"}]][[say:done]]`)
	snap := s.awaitState(session.Asking)
	s.must(sessionflow.AnswerMessage, run.Reply{QuestionID: snap.Question.ID, Text: "stop"})
	s.await("the question is settled", func(snap session.Snapshot) bool { return snap.Question == nil && snap.Turn == nil })
	s.say("m2", reading)
	snap = s.awaitState(session.Asking)
	for _, p := range snap.Past {
		if p.ID == "m2" {
			t.Errorf("it was %s, before anybody was asked", p.Outcome)
		}
	}
	if snap.Question == nil {
		t.Error("nobody is asked about the budget")
	}
}
