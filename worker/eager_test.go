package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/attempts"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// eager keeps the tokens of activities that a worker was given with the answer to
// its workflow task, and so without a poll.
type eager struct {
	mu     sync.Mutex
	tokens [][]byte
}

func (e *eager) listen(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if done, ok := reply.(*workflowservice.RespondWorkflowTaskCompletedResponse); ok && err == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, task := range done.GetActivityTasks() {
			e.tokens = append(e.tokens, task.GetTaskToken())
		}
	}
	return err
}

func (e *eager) given(token []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.tokens, func(t []byte) bool { return bytes.Equal(t, token) })
}

// An eager activity is noted as any other, a local one is not.
func TestEagerAttemptsAreNoted(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var e eager
	log := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.Dial(client.Options{HostPort: s.engine.Address, Logger: log, ConnectionOptions: client.ConnectionOptions{
		TLS:         s.engine.Key.TLS(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(e.listen)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	liveness, err := host.OpenLiveness(t.Context(), s.runsDir, c, client.DefaultNamespace, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	type found struct{ Eager, Noted bool }
	look := func(ctx context.Context) (found, error) {
		token := activity.GetInfo(ctx).TaskToken
		return found{e.given(token), s.noted(token)}, nil
	}
	w := sdkworker.New(c, "eager", temporalclient.WorkerOptions("", liveness))
	w.RegisterActivityWithOptions(look, activity.RegisterOptions{Name: "look"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) (out []found, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
		out = make([]found, 2)
		if err := workflow.ExecuteActivity(ctx, "look").Get(ctx, &out[0]); err != nil {
			return nil, err
		}
		return out, workflow.ExecuteLocalActivity(ctx, look).Get(ctx, &out[1])
	}, workflow.RegisterOptions{Name: "looking"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	wr, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "eager"}, "looking")
	if err != nil {
		t.Fatal(err)
	}
	var out []found
	if err := wr.Get(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if want := []found{{Eager: true, Noted: true}, {}}; !slices.Equal(out, want) {
		t.Errorf("found %+v, want %+v", out, want)
	}
	if left, err := os.ReadDir(filepath.Join(s.runsDir, "attempts")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// noted reports whether an attempt with the token is in the runs directory.
func (s *fixture) noted(token []byte) bool {
	files, _ := filepath.Glob(filepath.Join(s.runsDir, "attempts", "*"))
	return slices.ContainsFunc(files, func(name string) bool {
		var a attempts.Attempt
		b, err := os.ReadFile(name)
		return err == nil && json.Unmarshal(b, &a) == nil && bytes.Equal(a.Token, token)
	})
}
