package main

import (
	"context"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/runs"
)

// remote is the engine of the tools. It is looked for when a tool asks for it,
// and again after it was lost: tools outlive engines.
type remote struct {
	cli *cli

	mu     sync.Mutex
	client client.Client   // nil until it is found, and once it is lost
	opened []client.Client // all: on a lost one other calls may be under way
}

func (r *remote) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.opened {
		c.Close()
	}
}

func (r *remote) dial(ctx context.Context) (client.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		return r.client, nil
	}
	c, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: r.cli.runsDir})
	if err != nil {
		return nil, err
	}
	r.client, r.opened = c, append(r.opened, c)
	return c, nil
}

func (r *remote) forget(lost client.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == lost {
		r.client = nil
	}
}

// on asks the engine something.
func on[T any](ctx context.Context, r *remote, ask func(client.Client) (T, error)) (out T, err error) {
	c, err := r.dial(ctx)
	if err != nil {
		return out, err
	}
	out, err = ask(c)
	if runs.Lost(err) {
		r.forget(c)
	}
	return out, err
}

// onNamed asks about the run of that name.
func onNamed[T any](ctx context.Context, r *remote, name string, ask func(found) (T, error)) (T, error) {
	return on(ctx, r, func(t client.Client) (out T, err error) {
		c := r.cli.clientOf(t)
		id, err := c.Find(ctx, name)
		if err != nil {
			return out, err
		}
		return ask(found{c, id})
	})
}

func (r *remote) Dispatch(ctx context.Context, l activities.Letter) (dispatch.Result, error) {
	return on(ctx, r, func(t client.Client) (dispatch.Result, error) { return r.cli.post(ctx, t, l) })
}

func (r *remote) Past(ctx context.Context, target dispatch.GardenID, most int) ([]dispatches.Past, error) {
	return on(ctx, r, func(t client.Client) ([]dispatches.Past, error) {
		return dispatches.Client{Temporal: t, Queue: r.cli.queue}.Past(ctx, target, most)
	})
}

func (r *remote) List(ctx context.Context, f runs.Filter) ([]runs.Listed, error) {
	return on(ctx, r, func(t client.Client) ([]runs.Listed, error) { return r.cli.clientOf(t).List(ctx, f) })
}

func (r *remote) Standing(ctx context.Context, name string) (any, error) {
	return onNamed(ctx, r, name, func(f found) (any, error) { return r.cli.statusOf(ctx, f) })
}

func (r *remote) Decide(ctx context.Context, name string, d run.Decision) (run.ID, error) {
	return onNamed(ctx, r, name, func(f found) (run.ID, error) { return f.id, f.Decide(ctx, f.id, d) })
}

func (r *remote) Reply(ctx context.Context, name string, reply run.Reply) (run.ID, error) {
	return onNamed(ctx, r, name, func(f found) (run.ID, error) { return f.id, f.Reply(ctx, f.id, reply) })
}
