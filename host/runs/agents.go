package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent"
)

var acts *activities.Activities

// agentsLimit bounds the question of Agents with all its attempts: a survey starts programs that may hang.
const agentsLimit = 3 * time.Minute

// Agents asks a worker of the task queue which agents it has. The error is ErrNoWorker when no worker serves the queue.
func (c *Client) Agents(ctx context.Context) ([]agent.Manifest, error) {
	var out activities.AgentsResult
	err := c.askWorker(ctx, "for the agents", client.StartActivityOptions{
		ID: "agents-" + uuid.NewString(), Summary: "Look for agents",
		StartToCloseTimeout: time.Minute, ScheduleToStartTimeout: time.Minute, ScheduleToCloseTimeout: agentsLimit,
	}, &out, acts.Agents)
	return out.Agents, err
}

// probeLimit bounds the wait for the answer about providers. A worker needs less, unless it is too busy to answer.
const probeLimit = 45 * time.Second

// Probe asks a worker of the task queue whether the providers of a run that is about to start can work
// there, and how it notifies people about runs. The error is ErrNoWorker when no worker serves the queue.
func (c *Client) Probe(ctx context.Context, in activities.ProbeInput) (activities.ProbeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	var out activities.ProbeResult
	err := c.askWorker(ctx, "for the providers", client.StartActivityOptions{
		ID: "providers-" + uuid.NewString(), Summary: "Look for the providers", ScheduleToCloseTimeout: probeLimit,
	}, &out, acts.Probe, in)
	return out, err
}

// MirrorOptions are those of the activity by which a worker fetches a commit that somebody waits for.
func MirrorOptions(id, queue string) client.StartActivityOptions {
	return client.StartActivityOptions{
		ID: id, TaskQueue: queue, Summary: "Fetch a repository",
		StartToCloseTimeout: 3 * time.Hour, HeartbeatTimeout: 30 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second, MaximumAttempts: 4},
	}
}

// Mirror has a worker of the task queue fetch a commit from a server into the mirror of its host. If ctx ends, so does the
// fetch. The error is ErrNoWorker when no worker serves the queue.
func (c *Client) Mirror(ctx context.Context, in activities.MirrorInput) (out activities.MirrorResult, err error) {
	err = c.askWorker(ctx, "for the repository", MirrorOptions("mirror-"+uuid.NewString(), ""), &out, acts.Mirror, in)
	if ctx.Err() == nil {
		if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
			err = errors.New(app.Message())
		}
	}
	return out, err
}

// startPatience bounds the wait for a worker that is just starting.
const startPatience = 3 * time.Second

// askWorker reads the result of an activity that asks a worker of the task queue into out. If ctx ends, the activity is
// canceled. It returns ErrNoWorker itself when no worker serves the queue; any other error names the request.
func (c *Client) askWorker(ctx context.Context, what string, how client.StartActivityOptions, out, activity any, args ...any) error {
	if served, err := c.AwaitServed(ctx, startPatience); err == nil && !served {
		return ErrNoWorker
	}
	how.TaskQueue = c.queue
	asked, err := c.temporal.ExecuteActivity(ctx, how, activity, args...)
	if err == nil {
		err = asked.Get(ctx, out)
	}
	if ctx.Err() != nil && asked != nil {
		ending, stop := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer stop()
		return errors.Join(context.Cause(ctx), asked.Cancel(ending, client.CancelActivityOptions{}))
	}
	if err != nil {
		return fmt.Errorf("ask the worker %s: %w", what, err)
	}
	return nil
}
