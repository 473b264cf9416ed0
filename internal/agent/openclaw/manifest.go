package openclaw

import (
	"context"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

const label = "OpenClaw gateway"

// limits is what the adapter cannot do, for people who choose an agent.
const limits = "it asks about commands only, and not about those on its own allowlist; a request that is not decided within half an hour " +
	"is denied; a session works only within a workspace of the gateway's agents; the system prompt goes with the first message; " +
	"tools, MCP servers and bounds on answers are the gateway's own"

// Manifest connects, and leaves again.
func (a adapter) Manifest(ctx context.Context) agent.Manifest {
	ctx, cancel := context.WithTimeout(ctx, agent.ManifestTimeout)
	defer cancel()
	c, err := a.connect(ctx, nil)
	if err != nil {
		return agent.MissingManifest(agent.OpenClaw, label, fmt.Sprintf("%v; run one with openclaw gateway run, or set %s and %s", err, URLVariable, TokenVariable))
	}
	go c.serve(func(frame) {})
	defer c.close(ctx)
	return agent.Manifest{
		Kind: agent.OpenClaw, Label: label, Description: "a running OpenClaw gateway",
		Installed: true, Version: c.hello.Server.Version, Status: agent.Degraded, StatusReason: limits,
		Models: c.models(ctx), ModelsSource: "runtime", Modes: slices.Clone(modes),
		Capabilities: agent.Capabilities{
			Permissions: true, Resume: true, Interrupt: true, Cost: true, ContextUsage: "native", Sandbox: "soft",
		},
	}
}

// models are those that the gateway's agents may use. None is no error: the
// manifest says what it can.
func (c *conn) models(ctx context.Context) []agent.Model {
	var list struct {
		Models []struct {
			ID       string   `json:"id"`
			Name     string   `json:"name"`
			Provider string   `json:"provider"`
			Window   int      `json:"contextWindow"`
			Tags     []string `json:"tags"`
		} `json:"models"`
	}
	models := []agent.Model{}
	if c.call(ctx, "models.list", object{}, &list) != nil {
		return models
	}
	for _, m := range list.Models {
		first := !slices.ContainsFunc(models, func(m agent.Model) bool { return m.Default })
		models = append(models, agent.Model{
			Code: m.Provider + "/" + m.ID, Label: m.Name, ContextWindow: m.Window, Default: first && slices.Contains(m.Tags, "default"),
		})
	}
	return models
}
