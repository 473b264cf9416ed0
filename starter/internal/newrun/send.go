package newrun

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Send returns a client that starts the run of an input on a host, after the host has fetched the repository. It refuses a
// host that could not do the run.
func Send(ctx context.Context, c *factory.Factory, client *runs.Client, name string, in *run.Input) (*runs.Client, error) {
	if in.Repository.URL == "" {
		return nil, usage.Errorf("--host: a directory is on this machine alone: name the URL of the repository with --repo")
	}
	list, err := client.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	h, err := ChooseHost(c, list, name, in)
	if err != nil {
		return nil, err
	}
	return Fetch(ctx, c, client, h, in)
}

// ChooseHost returns the host of a name, unless it could not do the run of an input.
func ChooseHost(c *factory.Factory, list []runs.HostView, name string, in *run.Input) (none runs.HostView, err error) {
	for _, text := range in.Providers.Specs() {
		if spec, err := catalog.Parse(text); err == nil && spec.Relative() {
			return none, usage.Errorf("--host: provider %s is beside this repository: name it by its absolute path on %s", text, display.Line(name))
		}
	}
	in.Providers.Dir = "" // is of this machine
	i := slices.IndexFunc(list, func(h runs.HostView) bool { return h.Name == name })
	if i < 0 {
		var names []string
		for _, h := range list {
			names = append(names, h.Name)
		}
		return none, usage.Errorf("--host: no host %q: want one of %s", name, strings.Join(names, ", "))
	}
	h := list[i]
	if !h.Serving {
		return none, fmt.Errorf("host %s is away: start `worker` there, or choose another of `%s`", name, c.Hint("hosts"))
	}
	if s := h.Survey; s != nil {
		if err := sandboxing.Fits(in.Sandbox, engine.File{Sandbox: s.Sandbox, NoBox: s.NoBox}, "worker", c.Hint("run --sandbox off")); err != nil {
			return none, fmt.Errorf("host %s: %w", name, err)
		}
	}
	return h, nil
}

// Fetch returns a client that starts runs on a host, after the host has fetched the repository of an input.
func Fetch(ctx context.Context, c *factory.Factory, client *runs.Client, h runs.HostView, in *run.Input) (*runs.Client, error) {
	there := client.OfHost(h.Queue, "")
	work := c.ErrorScreen().Work(h.Name + " fetches " + display.Line(in.Repository.URL))
	at, err := there.Mirror(ctx, activities.MirrorInput{URL: in.Repository.URL, Base: string(in.Repository.Base)})
	work.Stop()
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", h.Name, err)
	}
	return client.OfHost(h.Queue, at.Path), nil
}
