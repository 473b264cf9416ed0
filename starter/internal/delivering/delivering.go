// Package delivering reaches the deliveries of a session, and says which are made by themselves.
package delivering

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/deliveries"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// On calls do with the session that the argument names.
func On(ctx context.Context, c *factory.Factory, name string, do func(deliveries.Client, string) error) error {
	t, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil {
		return err
	}
	defer t.Close()
	session, err := findDelivered(ctx, c, sessionref.Client(c, t), name)
	if err != nil {
		return err
	}
	return do(deliveries.Client{Temporal: t}, session)
}

// findDelivered returns the session that the argument names. The engine knows the sessions that have no delivery yet; one
// that is over for long is known by its ledger alone.
func findDelivered(ctx context.Context, c *factory.Factory, client sessions.Client, name string) (string, error) {
	known, err := Ledger(c).Sessions()
	if err != nil || slices.Contains(known, name) {
		return name, err
	}
	id, err := client.Find(ctx, name)
	if _, none := errors.AsType[*sessions.NotFoundError](err); none {
		return Session(c, name)
	}
	return string(id), err
}

// Mode returns the mode that the flag --deliveries names. Only a person trusts.
func Mode(c *factory.Factory, word string) (m delivery.Mode, err error) {
	if err := m.UnmarshalText([]byte(strings.ReplaceAll(word, "-", "_"))); err != nil {
		return "", usage.Errorf("--deliveries %q: want strict-safe or trusted-all", word)
	}
	if m == delivery.TrustedAll {
		return m, c.MayDecide()
	}
	return "", nil // the default
}

// FindTold completes the id of the session that the run is to tell. A session that does not answer is refused before
// anything is started.
func FindTold(ctx context.Context, c *factory.Factory, in *run.Input) error {
	if in.Tell == "" {
		return nil
	}
	return On(ctx, c, in.Tell, func(d deliveries.Client, session string) error {
		in.Tell = session
		_, err := d.View(ctx, session)
		if err == nil {
			WarnNotDelivered(ctx, c, d, session)
		}
		return err
	})
}

// WarnNotDelivered prints a line if the agent of the session takes no deliveries. A session that does not answer is no
// reason to say so.
func WarnNotDelivered(ctx context.Context, c *factory.Factory, d deliveries.Client, name string) {
	s, err := sessionref.Client(c, d.Temporal).State(ctx, session.ID(name))
	if err == nil && !s.Input.Kind().Traits().Deliveries {
		fmt.Fprintf(c.Err, "starter: the agent of session %s is %s, which takes no deliveries; %s do\n", name, s.Input.Kind(),
			setup.ListKinds(func(t setup.Traits) bool { return t.Deliveries }, "and"))
	}
}

func Ledger(c *factory.Factory) ledger.Store { return ledger.In(c.RunsDir) }

// Session returns the session that the argument names: its id, or the beginning of the one that has it among
// those with deliveries. An id that has no delivery yet is taken as it is.
func Session(c *factory.Factory, name string) (string, error) {
	name = strings.TrimPrefix(name, "session-")
	known, err := Ledger(c).Sessions()
	if err != nil {
		return "", err
	}
	if slices.Contains(known, name) || name == "" {
		return name, nil
	}
	found := slices.DeleteFunc(known, func(id string) bool { return !strings.HasPrefix(id, name) })
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0], nil
	}
	return "", usage.Errorf("session %s is ambiguous: %s", name, strings.Join(found, ", "))
}
