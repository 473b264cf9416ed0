package claude

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

const label = "Claude Code"

var modes = []agent.Mode{
	{Code: askMode, Label: "Ask", Description: "asks before it changes files or runs commands", Default: true},
	{Code: editMode, Label: "Accept edits", Description: "changes files in the working directory unasked"},
	{Code: planMode, Label: "Plan", Description: "is told to plan; it still writes where it is allowed to"},
	{Code: bypassMode, Label: "Bypass permissions", Description: "asks for nothing; needs the sandbox full-access, which root does not get"},
}

func modeCodes() []string {
	codes := make([]string, 0, len(modes))
	for _, m := range modes {
		codes = append(codes, m.Code)
	}
	return codes
}

// stamp identifies a program as it was.
type stamp struct {
	path string
	at   time.Time
}

// Manifest asks the client itself, once for each version of its program.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	path, err := a.find()
	if err != nil {
		return agent.Missing(agent.Claude, label, err.Error())
	}
	key := stamp{path: path}
	if info, err := os.Stat(path); err == nil {
		key.at = info.ModTime()
	}
	a.mu.Lock()
	m, ok := a.seen[key]
	a.mu.Unlock()
	if ok {
		return m
	}
	ctx, cancel := context.WithTimeout(ctx, agent.ManifestTimeout)
	defer cancel()
	found := make(chan agent.Manifest, 1)
	go func() { found <- a.detect(ctx, key) }()
	select {
	case m := <-found:
		return m
	case <-ctx.Done():
		return agent.Missing(agent.Claude, label, fmt.Sprintf("%s did not answer in time: %v", path, ctx.Err()))
	}
}

func (a *adapter) detect(ctx context.Context, key stamp) agent.Manifest {
	version, err := a.version(ctx, key.path)
	if err != nil {
		return agent.Missing(agent.Claude, label, err.Error())
	}
	m := manifestOf(key.path, version)
	g, err := a.inquire(ctx)
	if err != nil {
		m.Status, m.StatusReason = agent.Degraded, "it tells no models: "+err.Error()
		return m
	}
	m.Models, m.ModelsSource = g.models(), "runtime"
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[key] = m
	return m
}

func manifestOf(path, version string) agent.Manifest {
	m := agent.Manifest{
		Kind: agent.Claude, Label: label, Description: "Anthropic's coding agent, by its CLI",
		Installed: true, Binary: path, Version: version, Status: agent.Supported, Models: []agent.Model{}, Modes: slices.Clone(modes),
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, DenyReason: true, Resume: true, Interrupt: true, Cost: true,
			ContextUsage: "native", Sandbox: "soft",
		},
	}
	if os.Geteuid() == 0 {
		m.Status, m.StatusReason = agent.Degraded, rootRefused
	}
	return m
}

// version is the first word of what the program says to --version.
func (a *adapter) version(ctx context.Context, path string) (string, error) {
	out := proc.NewHeadTail(256, 0)
	r, err := proc.Run(ctx, proc.Command{
		Argv: []string{path, "--version"}, Dir: os.TempDir(), Env: a.environ(agent.Options{}), Stdout: out,
	})
	word, _, _ := strings.Cut(strings.TrimSpace(out.String()), " ")
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s --version did not end in time", path)
	case r.ExitCode != 0 || word == "":
		return "", fmt.Errorf("%s --version ended with exit code %d and said %.80q", path, r.ExitCode, out.String())
	}
	return word, nil
}

// inquire starts a session that nothing is sent to, for the greeting: that
// needs no model and leaves no transcript.
func (a *adapter) inquire(ctx context.Context) (greeting, error) {
	s, g, err := a.start(ctx, agent.Options{Dir: os.TempDir(), Sandbox: agent.ReadOnly})
	if err != nil {
		return greeting{}, err
	}
	s.queue.Drop()
	return g, s.Stop(ctx)
}

// models are those that the client offers. Of their windows it tells only
// which are the large ones.
func (g greeting) models() []agent.Model {
	list := make([]agent.Model, 0, len(g.Models))
	for _, m := range g.Models {
		model := agent.Model{Code: m.Value, Label: m.Name, Description: m.Description, Default: m.Value == "default"}
		if strings.HasSuffix(m.Resolved, "[1m]") {
			model.ContextWindow = 1_000_000
		}
		list = append(list, model)
	}
	return list
}
