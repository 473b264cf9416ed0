package mcp

import (
	"context"
	"fmt"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/standing"
)

// remote is the engine of the tools. It looks for the engine when a tool asks for it, and again
// after the engine was lost, because tools outlive engines.
type remote struct {
	cli  *factory.Factory
	dial func(context.Context) (client.Client, error)

	ending context.Context // context of every search
	end    context.CancelFunc

	mu     sync.Mutex
	search *search         // in progress; nil: none
	client client.Client   // nil until the engine is found, and once it is lost
	opened []client.Client // all clients: other calls may be in progress on a lost one
}

// search is one search for the engine. All calls that ask for the engine meanwhile wait for it.
type search struct {
	done  chan struct{} // closed when found and err are set
	found client.Client
	err   error
}

func newRemote(c *factory.Factory, dial func(context.Context) (client.Client, error)) *remote {
	r := &remote{cli: c, dial: dial}
	r.ending, r.end = context.WithCancel(context.Background())
	return r
}

// close ends a search in progress, waits for its end, and closes all clients.
func (r *remote) close() {
	r.end()
	r.mu.Lock()
	last := r.search
	r.mu.Unlock()
	if last != nil {
		<-last.done
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.opened {
		c.Close()
	}
}

// reachEngine returns the client of the engine, and searches for the engine if there is none. When ctx
// ends it gives up the wait but not the search, because other calls may wait for it.
func (r *remote) reachEngine(ctx context.Context) (client.Client, error) {
	r.mu.Lock()
	if c := r.client; c != nil {
		r.mu.Unlock()
		return c, nil
	}
	if r.search == nil {
		r.search = &search{done: make(chan struct{})}
		go r.searchEngine(r.search)
	}
	s := r.search
	r.mu.Unlock()
	select {
	case <-s.done:
		return s.found, s.err
	case <-ctx.Done():
		return nil, fmt.Errorf("reach temporal: %w", ctx.Err())
	}
}

func (r *remote) searchEngine(s *search) {
	s.found, s.err = r.dial(r.ending)
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.err == nil {
		r.client, r.opened = s.found, append(r.opened, s.found)
	}
	r.search = nil
	close(s.done)
}

func (r *remote) forgetClient(lost client.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == lost {
		r.client = nil
	}
}

// withEngine calls ask with the client of the engine. It forgets the client when the engine was lost.
func withEngine[T any](ctx context.Context, r *remote, ask func(client.Client) (T, error)) (out T, err error) {
	c, err := r.reachEngine(ctx)
	if err != nil {
		return out, err
	}
	out, err = ask(c)
	if runs.Lost(err) {
		r.forgetClient(c)
	}
	return out, err
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
