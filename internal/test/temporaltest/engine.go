// Package temporaltest serves the tests of workflows and activities: a real engine, stored histories and
// their replay, and a client for activities in a test environment. No product code imports it.
package temporaltest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

const (
	// Identity is the identity of clients and workers, in place of a process and a host.
	Identity = "test"
	// cacheVariable set to 0 makes every workflow task replay its history from the start.
	cacheVariable = "RATCHET_TEST_CACHE"
)

// ObeyCacheVariable turns the cache of workflows off if the environment says so. Call it in TestMain.
func ObeyCacheVariable() {
	if os.Getenv(cacheVariable) == "0" {
		worker.SetStickyWorkflowCacheSize(0)
	}
}

// Engine is a real engine with a client of it.
type Engine struct {
	*engine.Engine
	Client client.Client
}

// StartEngine starts an engine that ends with the test. Log receives what the workers of the client
// log; nil drops it.
func StartEngine(t testing.TB, log *slog.Logger) *Engine {
	t.Helper()
	e, err := engine.Start(t.Context(), engine.Options{
		DB: filepath.Join(t.TempDir(), "engine.db"), Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	c, err := dial(t.Context(), e, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &Engine{e, c}
}

// dial returns a client of a new engine, whose search attributes it registers.
func dial(ctx context.Context, e *engine.Engine, log *slog.Logger) (client.Client, error) {
	c, err := temporalclient.Dial(ctx, temporalclient.Options{
		Engine: e.Address, Key: e.Key, Identity: Identity, Timeout: time.Minute, Logger: log,
	})
	if err == nil {
		err = temporalclient.EnsureSearchAttributes(ctx, c, client.DefaultNamespace)
	}
	return c, err
}

// Serve starts a worker that serves until stop is called, or the test ends.
func (e *Engine) Serve(t testing.TB, queue string, register func(worker.Registry)) (stop func()) {
	t.Helper()
	w := worker.New(e.Client, queue, temporalclient.WorkerOptions(Identity))
	register(w)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(w.Stop)
	t.Cleanup(stop)
	return stop
}

// History returns the history of an execution.
func (e *Engine) History(t testing.TB, workflowID, runID string) *history.History {
	t.Helper()
	h := &history.History{}
	events := e.Client.GetWorkflowHistory(t.Context(), workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, event)
	}
	return h
}

// HeartbeatUntilDone sends heartbeats until ctx ends, and returns the error of ctx.
func HeartbeatUntilDone(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}

// Quiet is a logger that drops everything.
type Quiet struct{}

// Debug implements log.Logger.
func (Quiet) Debug(string, ...any) {}

// Info implements log.Logger.
func (Quiet) Info(string, ...any) {}

// Warn implements log.Logger.
func (Quiet) Warn(string, ...any) {}

// Error implements log.Logger.
func (Quiet) Error(string, ...any) {}
