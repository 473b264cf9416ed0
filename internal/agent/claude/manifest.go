package claude

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

const label = "Claude Code"

var modes = []agent.Mode{
	{Code: askMode, Label: "Ask", Description: "asks before it changes files or runs commands", Default: true},
	{Code: editMode, Label: "Accept edits", Description: "changes files in the working directory without asking"},
	{Code: planMode, Label: "Plan", Description: "plans only; it can still write where that is allowed"},
	{Code: bypassMode, Label: "Bypass permissions", Description: "never asks; needs the sandbox full-access, which root cannot use"},
}

func modeCodes() []string {
	codes := make([]string, 0, len(modes))
	for _, m := range modes {
		codes = append(codes, m.Code)
	}
	return codes
}

// Version implements agent.Versioner.
func (a *adapter) Version(ctx context.Context) (string, error) {
	path, err := a.findBinary()
	if err != nil {
		return "", err
	}
	return child.ReadVersion(ctx, []string{path}, a.clientEnviron(agent.Options{}))
}

// Manifest asks the client itself, once for each version of its program.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	path, err := a.findBinary()
	if err != nil {
		return missingManifest(err.Error())
	}
	return a.manifests.GetOrDetect(ctx, []string{path}, missingManifest, func(ctx context.Context) (agent.Manifest, bool) { return a.detectClient(ctx, path) })
}

func missingManifest(why string) agent.Manifest {
	return agent.MissingManifest(setup.Claude, label, why)
}

// detectClient returns the manifest; whole says whether the client reported
// everything.
func (a *adapter) detectClient(ctx context.Context, path string) (m agent.Manifest, whole bool) {
	version, err := child.ReadVersion(ctx, []string{path}, a.clientEnviron(agent.Options{}))
	if err != nil {
		return missingManifest(err.Error()), false
	}
	m = newManifest(path, version)
	g, err := a.fetchGreeting(ctx)
	if err != nil {
		m.Status, m.StatusReason = agent.Degraded, "it lists no models: "+err.Error()
		return m, false
	}
	m.Models, m.ModelsSource = g.offeredModels(), "runtime"
	return m, true
}

func newManifest(path, version string) agent.Manifest {
	m := agent.Manifest{
		Kind: setup.Claude, Label: label, Description: "Anthropic's coding agent, through its CLI",
		Installed: true, Binary: path, Version: version, Status: agent.Supported, Models: []agent.Model{}, Modes: slices.Clone(modes),
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, DenyReason: true, Resume: true, Interrupt: true, Cost: true,
			ContextUsage: "native", Sandbox: "soft", Options: slices.Clone(setup.Claude.Traits().Options),
		},
	}
	if os.Geteuid() == 0 {
		m.Status, m.StatusReason = agent.Degraded, rootRefused
	}
	return m
}

// fetchGreeting starts a session for its greeting and sends it nothing. That
// needs no model and leaves no transcript.
func (a *adapter) fetchGreeting(ctx context.Context) (greeting, error) {
	s, g, err := a.startSession(ctx, agent.Options{Dir: os.TempDir(), Sandbox: agent.ReadOnly})
	if err != nil {
		return greeting{}, err
	}
	s.Queue.Drop()
	return g, s.Stop(ctx)
}

// offeredModels returns the models that the client offers. It reports their
// windows only which are the large ones.
func (g greeting) offeredModels() []agent.Model {
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
