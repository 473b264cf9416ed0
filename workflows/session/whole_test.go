package session_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/agenttest"
	"github.com/ratchet-dev/ratchet/internal/agent/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/eventually"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/temporaltest"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// stage is an engine with a worker whose sessions have an agent in memory.
type stage struct {
	*temporaltest.Engine
	t     *testing.T
	fake  *agenttest.Fake
	runs  *rundir.Store
	queue string
	repo  run.Repository
}

func newStage(t *testing.T, change func(*activities.Config)) *stage {
	t.Helper()
	s := &stage{Engine: temporaltest.StartEngine(t, nil), t: t, fake: agenttest.NewFake(fakemodel.New()), queue: "q-" + uuid.NewString()}
	var err error
	if s.runs, err = rundir.Open(t.Context(), filepath.Join(t.TempDir(), "runs")); err != nil {
		t.Fatal(err)
	}
	s.repo = newRepository(t)
	c := activities.Config{
		Runs: s.runs, Redact: redact.New(nil), LookupEnv: func(string) (string, bool) { return "", false }, Queue: "own-" + s.queue,
		Open: func(activities.Opening) (agent.Adapter, error) { return s.fake, nil },
	}
	if change != nil {
		change(&c)
	}
	a, err := activities.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(t, c.Queue, func(w worker.Registry) { sessionflow.RegisterOwner(w, activities.NewOwner(a)) })
	s.Serve(t, sessionflow.SittingQueue(s.queue), func(w worker.Registry) { w.RegisterActivity(a) })
	s.Serve(t, s.queue, func(w worker.Registry) { sessionflow.Register(w, a) })
	return s
}

func newRepository(t *testing.T) run.Repository {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	return run.Repository{Path: dir, Base: run.Commit(git("rev-parse", "HEAD"))}
}

// begin starts a session.
func (s *stage) begin(in session.Input) session.ID {
	s.t.Helper()
	in.ID, in.Provider, in.Repository = session.ID(uuid.NewString()), "fake", s.repo
	_, err := s.Client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: in.ID.WorkflowID(), TaskQueue: s.queue}, sessionflow.Session, sessionflow.Input{Session: &in})
	if err != nil {
		s.t.Fatal(err)
	}
	return in.ID
}

// update sends an update and returns its error.
func (s *stage) update(id session.ID, name string, arg any) error {
	h, err := s.Client.UpdateWorkflow(s.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: id.WorkflowID(), UpdateName: name, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = h.Get(s.t.Context(), nil)
	}
	return err
}

func (s *stage) say(id session.ID, message, text string) {
	s.t.Helper()
	if err := s.update(id, sessionflow.SayUpdate, session.Message{ID: message, Text: text}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) state(id session.ID) (snap session.Snapshot) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	v, err := s.Client.QueryWorkflow(ctx, id.WorkflowID(), "", sessionflow.StateQuery)
	if err == nil {
		err = v.Get(&snap)
	}
	if err != nil {
		s.t.Log(err)
	}
	return snap
}

// await waits until the session is as wanted.
func (s *stage) await(id session.ID, what string, ok func(session.Snapshot) bool) (snap session.Snapshot) {
	s.t.Helper()
	eventually.Within(s.t, "session "+what, time.Minute, func() bool { snap = s.state(id); return ok(snap) })
	return snap
}

func ended(n int) func(session.Snapshot) bool {
	return func(s session.Snapshot) bool { return len(s.Past) >= n }
}

func TestASessionTalks(t *testing.T) {
	s := newStage(t, nil)
	id := s.begin(session.Input{})
	s.say(id, "m1", "[[say:hello]]")
	snap := s.await(id, "answered", ended(1))
	if p := snap.Past[0]; p.Outcome != session.Completed || p.Gist != "hello" {
		t.Errorf("%+v", p)
	}
}
