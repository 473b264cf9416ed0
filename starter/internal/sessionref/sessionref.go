// Package sessionref resolves the session that a command line names.
package sessionref

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

const Wants = "one SESSION: its name from `starter session list`, such as shop-2, the number alone, or the beginning of the name"

// Found is a session and the client that reaches it.
type Found struct {
	sessions.Client
	ID session.ID
}

// On returns a cobra handler that calls handle with the session that the first argument names.
func On(c *factory.Factory, handle func(ctx context.Context, s Found, args []string) error) func(*cobra.Command, []string) error {
	return c.Handle(func(ctx context.Context, args []string) error {
		t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
		if err != nil {
			return err
		}
		defer t.Close()
		client := Client(c, t)
		id, err := client.Find(ctx, args[0])
		if err != nil {
			return err
		}
		return handle(ctx, Found{client, id}, args[1:])
	})
}

func Client(c *factory.Factory, t client.Client) sessions.Client {
	return sessions.Client{Temporal: t, Queue: c.Queue, Here: factory.HereLabel, MayDecide: c.MayDecide}
}

// Complete completes the id of a session for the shell.
func Complete(c *factory.Factory) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, client *runs.Client) (ids []string) {
		found, _ := Client(c, client.Temporal()).List(ctx, false, 50)
		for _, l := range found {
			ids = append(ids, cobra.CompletionWithDesc(string(l.ID), string(l.State)+" "+story.OneLine(cmp.Or(l.Title, l.Provider), 40)))
		}
		return ids
	})
}

// Load reads an artifact of a session on this host.
func Load(c *factory.Factory, id session.ID, ref run.Ref) ([]byte, error) {
	dir, err := rundir.At(filepath.Join(c.RunsDir, "sessions", string(id)))
	if err != nil {
		return nil, fmt.Errorf("the record of session %s is not on this host: %w", id, err)
	}
	return dir.Load(ref)
}
