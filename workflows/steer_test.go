package workflows_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/workflows"
)

// heedful is an agent that changes no file before it was given a message into its turn.
type heedful struct {
	*agenttest.Fake
	given chan struct{}
}

func (h heedful) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := h.Fake.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return heedfulSession{s.(agent.Watched), h.given}, nil
}

type heedfulSession struct {
	agent.Watched
	given chan struct{}
}

func (s heedfulSession) Decide(_ context.Context, d agent.PermissionDecision) error {
	go func() {
		<-s.given
		_ = s.Watched.Decide(context.Background(), d)
	}()
	return nil
}

// A note that comes while an agent works is in the run's history first. The agent reads it in its turn, and the next
// phase carries it.
func TestANoteReachesTheAgentThatWorks(t *testing.T) {
	t.Parallel()
	v := newSecretsFixture(t)
	fake := heedful{agenttest.NewFake(fakemodel.New()), make(chan struct{})}
	give := sync.OnceFunc(func() { close(fake.given) })
	fake.Took = func(agent.Delivery) { give() }
	runs, err := rundir.Open(t.Context(), v.runsDir)
	if err != nil {
		t.Fatal(err)
	}
	acts, err := activities.New(activities.Config{
		Runs: runs, Redact: &redact.Redactor{}, Agents: session.NewPool(0), Survey: noAgents, Probe: noProblem,
		Sandbox: activities.Sandbox{Policy: run.SandboxOff}, LookupEnv: os.LookupEnv,
		Open: func(activities.Opening) (provider.Provider, error) {
			return session.New(session.Config{Adapter: fake, Pool: session.NewPool(0)}), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := v.enter("noted", acts, func(in *run.Input) {
		in.Goal = `[[tool:write {"path":"a.txt","content":"A"}]][[say:Add a file]]`
		in.Checks, in.CheckEnv = []string{"true"}, nil
	})
	o.until("the developer works", func() bool { return o.works("Propose") })
	handle, err := o.Client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: o.id, UpdateName: workflows.NoteMessage, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{run.Note{Text: "mind the umlauts", By: "kim"}},
	})
	if err == nil {
		err = handle.Get(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := o.status(); got != run.Completed {
		t.Fatalf("the run is %s", got)
	}
	heard := 0
	for _, m := range fake.Model.Requests()[len(fake.Model.Requests())-1].Messages {
		heard += strings.Count(strings.Join(m.Texts, ""), "mind the umlauts")
	}
	log, err := os.ReadFile(filepath.Join(v.runsDir, "workflows", "noted", "logs", "provider-execute.log"))
	if heard != 1 || err != nil || strings.Count(string(log), "] [INFO] "+rundir.NoteRead+" ") != 1 {
		t.Errorf("the model has the note %d times, %v:\n%s", heard, err, log)
	}
	var events workflows.EventsResult
	o.ask(workflows.EventsQuery, &events)
	carried := 0
	for _, e := range events.Events {
		if p, ok := e.Payload.(run.PhaseStarted); ok && len(p.Notes) > 0 {
			carried++
		}
	}
	if carried != 1 {
		t.Errorf("%d phases carry the note", carried)
	}
}
