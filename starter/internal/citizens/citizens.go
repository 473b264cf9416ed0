// Package citizens finds the sessions of this host, and sends messages to them.
package citizens

import (
	"context"
	"os"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

func Registry(c *factory.Factory) (citizen.Dirs, error) { return citizen.FindDirs(c.LookupEnv) }

// Caller returns this process as the caller whose identity others look up.
func Caller(c *factory.Factory) citizen.Caller {
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	return citizen.Caller{Lookup: c.LookupEnv, CWD: dir, Parent: os.Getppid(), Now: c.Now()}
}

// WorkerStart is the time that a worker which has just been started may take until the engine
// knows it.
const WorkerStart = 3 * time.Second

// Post sends the message and waits for the result. It refuses when no worker serves
// dispatches, because the message would wait for ever. taken is called when a workflow has
// accepted the message; it may be nil.
func Post(ctx context.Context, c *factory.Factory, t client.Client, l dispatch.Message, taken func()) (dispatch.Result, error) {
	if served, err := c.ClientOf(t).AwaitServed(ctx, WorkerStart); err == nil && !served {
		return dispatch.Result{}, runs.ErrNoWorker
	}
	return dispatches.Client{Temporal: t, Queue: c.Queue, Taken: taken}.Dispatch(ctx, l)
}
