package mcp

import (
	"context"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/standing"
)

// remote is the engine of the tools. Each call connects to it anew, because tools outlive engines.
type remote struct{ cli *factory.Factory }

// withEngine calls ask with a client of the engine.
func withEngine[T any](ctx context.Context, r *remote, ask func(client.Client) (T, error)) (out T, err error) {
	c, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: r.cli.RunsDir})
	if err != nil {
		return out, err
	}
	defer c.Close()
	return ask(c)
}

// onNamed calls ask with the run of that name.
func onNamed[T any](ctx context.Context, r *remote, name string, ask func(runref.Found) (T, error)) (T, error) {
	return withEngine(ctx, r, func(t client.Client) (out T, err error) {
		c := r.cli.ClientOf(t)
		id, err := c.Find(ctx, name)
		if err != nil {
			return out, err
		}
		return ask(runref.WithName(ctx, c, id))
	})
}

func (r *remote) Dispatch(ctx context.Context, l dispatch.Message) (dispatch.Result, error) {
	return withEngine(ctx, r, func(t client.Client) (dispatch.Result, error) { return dispatches.Post(ctx, r.cli, t, l, nil) })
}

func (r *remote) Past(ctx context.Context, target dispatch.GardenID, most int) ([]dispatches.Past, error) {
	return withEngine(ctx, r, func(t client.Client) ([]dispatches.Past, error) {
		return dispatches.Client{Temporal: t, Queue: r.cli.Queue}.Past(ctx, target, most)
	})
}

func (r *remote) List(ctx context.Context, f runs.Filter) ([]runs.Listed, error) {
	return withEngine(ctx, r, func(t client.Client) ([]runs.Listed, error) { return r.cli.ClientOf(t).List(ctx, f) })
}

func (r *remote) Standing(ctx context.Context, name string) (any, error) {
	return onNamed(ctx, r, name, func(f runref.Found) (any, error) { return standing.Of(ctx, r.cli, f) })
}

func (r *remote) Waiting(ctx context.Context) ([]inbox.Entry, error) {
	return withEngine(ctx, r, func(t client.Client) ([]inbox.Entry, error) {
		items, err := inbox.New(r.cli.ClientOf(t)).Gather(ctx)
		return inbox.Entries(items), err
	})
}

func (r *remote) Tickets(ctx context.Context) ([]runs.TicketView, error) {
	return withEngine(ctx, r, func(t client.Client) ([]runs.TicketView, error) { return r.cli.ClientOf(t).Tickets(ctx) })
}

func (r *remote) AnswerTicket(ctx context.Context, name, text string) error {
	_, err := withEngine(ctx, r, func(t client.Client) (struct{}, error) {
		return struct{}{}, r.cli.ClientOf(t).AnswerTicket(ctx, name, text)
	})
	return err
}

func (r *remote) Decide(ctx context.Context, name string, d run.Decision) (run.ID, error) {
	return onNamed(ctx, r, name, func(f runref.Found) (run.ID, error) { return f.ID, f.Decide(ctx, f.ID, d) })
}

func (r *remote) Reply(ctx context.Context, name string, reply run.Reply) (run.ID, error) {
	return onNamed(ctx, r, name, func(f runref.Found) (run.ID, error) { return f.ID, f.Reply(ctx, f.ID, reply) })
}
