// Package agentlist lists the coding agents of this machine, or of the worker's.
package agentlist

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// askLimit bounds the question to a worker. It is the worker's own limit and the time for the
// way there.
const askLimit = agent.ManifestTimeout + 15*time.Second

func List(ctx context.Context, c *factory.Factory, worker bool) ([]agent.Manifest, error) {
	if !worker {
		return Local(ctx, c), nil
	}
	client, closeClient, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer closeClient()
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return client.Agents(ctx)
}

// Local returns the manifests of the agents on this machine, asked in the working directory.
func Local(ctx context.Context, c *factory.Factory) []agent.Manifest {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	config := host.Config{Environ: c.Environ}
	if s, err := settings.Read(c.SettingsPath()); err == nil { // a broken file means the box
		config.Sandbox = s.Sandbox()
	}
	return config.CollectManifests(ctx, dir)
}

func Print(c *factory.Factory, list []agent.Manifest) {
	s := c.Style()
	var rows [][]string
	var absent []string
	for _, m := range list {
		sign, spec := s.Good("✓"), ""
		if known, ok := catalog.SpecOf(m); ok {
			spec = "--provider " + shellquote.Join(known.String())
		}
		switch {
		case !m.Installed && isAbsent(m):
			absent = append(absent, m.Label)
			continue
		case !m.Installed || m.Status != agent.Supported:
			sign = s.Wait("!")
		}
		rows = append(rows, []string{sign + " " + m.Label, story.OneLine(m.Version, 20), story.OneLine(spec, 60), story.OneLine(Gist(m), 300)})
	}
	c.Printf("%s", terminal.Table(rows))
	if len(absent) > 0 {
		c.Printf("%s\n", s.Dim("not installed: "+strings.Join(absent, ", ")))
	}
}

// isAbsent reports whether an agent is not there at all, and not one that does not work.
func isAbsent(m agent.Manifest) bool {
	return m.Kind.Traits().Gateway || strings.Contains(m.Unavailable, "no program ")
}

// briefReason returns why an agent is not there. It counts the directories in which its program was looked for; the
// JSON names them.
func briefReason(text string) string {
	text = strings.TrimPrefix(text, agent.ErrUnavailable.Error()+": ")
	what, list, found := strings.Cut(text, " in /")
	if n := strings.Count(list, ", ") + 1; found && n > 2 {
		return fmt.Sprintf("%s in the %d directories of PATH", what, n)
	}
	return text
}

// Gist returns a manifest in one line.
func Gist(m agent.Manifest) string {
	if !m.Installed {
		return briefReason(m.Unavailable)
	}
	var parts []string
	if m.Binary != "" {
		parts = append(parts, m.Binary)
	}
	if n := len(m.Models); n > 0 {
		parts = append(parts, display.Count(n, "model", "models"))
	}
	switch {
	case m.Box != "":
		parts = append(parts, "held by the sandbox, "+m.Box)
	case m.Kind.Traits().Gateway:
		parts = append(parts, "not in the sandbox: its gateway runs by itself")
	default:
		parts = append(parts, "no sandbox, sandbox "+m.Capabilities.Sandbox)
	}
	if m.Capabilities.Permissions {
		parts = append(parts, "asks for permissions")
	}
	if m.StatusReason != "" {
		parts = append(parts, m.StatusReason)
	}
	return strings.Join(parts, ", ")
}
