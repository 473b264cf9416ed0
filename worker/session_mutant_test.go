package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	sdkworker "go.temporal.io/sdk/worker"

	sessionacts "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// forgetful, as the value of asWorker, makes the test binary a worker of sessions that forgets, before each
// process, which message was handed over last. It is the control of the kill suite: it must say it again.
const forgetful = "forgetful"

func serveForgetful() {
	runsDir := flag.String("runs-dir", "", "")
	queue := flag.String("task-queue", "", "")
	flag.String("sandbox", "", "") // as the tests start every worker
	flag.Parse()
	h, err := host.Open(context.Background(), host.Config{RunsDir: *runsDir, Environ: os.Environ(), Sandbox: run.SandboxOff})
	if err == nil {
		err = serveSessions(h, *runsDir, *queue, &forgetter{runsDir: *runsDir})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveSessions serves sessions alone, as the product does.
func serveSessions(h *host.Host, runsDir, queue string, interceptors ...interceptor.WorkerInterceptor) error {
	return serveAs(runsDir, interceptors, queues{
		queue: func(w sdkworker.Worker) {
			sessionflow.Register(w, h.Sessions)
			w.RegisterActivity(h.Deliveries)
		},
		sessionflow.AgentQueue(queue): func(w sdkworker.Worker) { w.RegisterActivity(h.Sessions) },
		h.Sessions.Queue: func(w sdkworker.Worker) {
			sessionflow.RegisterOwner(w, sessionacts.NewOwner(h.Sessions))
			w.RegisterActivity(h.Deliveries)
		},
	})
}

// forgetter removes the last message from the note of a session before each process.
type forgetter struct {
	interceptor.WorkerInterceptorBase
	runsDir string
}

func (f *forgetter) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &forgetterIn{interceptor.ActivityInboundInterceptorBase{Next: next}, f.runsDir}
}

type forgetterIn struct {
	interceptor.ActivityInboundInterceptorBase
	runsDir string
}

func (i *forgetterIn) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if info := activity.GetInfo(ctx); info.ActivityType.Name == "RunProcess" {
		id, _ := session.IDOf(info.WorkflowExecution.ID)
		name := filepath.Join(i.runsDir, "sessions", string(id), "note.json")
		note := map[string]any{}
		if b, err := os.ReadFile(name); err == nil && json.Unmarshal(b, &note) == nil {
			delete(note, "last")
			b, _ = json.Marshal(note)
			if err := os.WriteFile(name, b, 0o600); err != nil {
				return nil, err
			}
		}
	}
	return i.Next.ExecuteActivity(ctx, in)
}
