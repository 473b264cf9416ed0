package openclaw

import (
	"context"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

const label = "OpenClaw gateway"

// limits lists the adapter's limitations, for people who choose an agent.
const limits = "it asks only about commands that are not on its own allowlist; a request without a decision within half an hour " +
	"is denied; a session works only in a workspace of the gateway's agents; the system prompt is sent with the first message; " +
	"tools, MCP servers and limits on answers are those of the gateway"

// Manifest connects to the gateway and disconnects again.
func (a adapter) Manifest(ctx context.Context) agent.Manifest {
	ctx, cancel := context.WithTimeout(ctx, agent.ManifestTimeout)
	defer cancel()
	c, err := a.connectGateway(ctx, nil)
	if err != nil {
		return agent.MissingManifest(setup.OpenClaw, label, fmt.Sprintf("%v; start one with openclaw gateway run, or set %s and %s", err, URLVariable, TokenVariable))
	}
	go c.serveFrames(func(frame) {})
	defer c.closeConn(ctx)
	return agent.Manifest{
		Kind: setup.OpenClaw, Label: label, Description: "a running OpenClaw gateway",
		Installed: true, Version: c.hello.Server.Version, Status: agent.Degraded, StatusReason: limits,
		Models: c.listModels(ctx), ModelsSource: "runtime", Modes: slices.Clone(modes),
		Capabilities: agent.Capabilities{
			Permissions: true, Resume: true, Interrupt: true, Cost: true, ContextUsage: "native", Sandbox: "soft", Options: slices.Clone(setup.OpenClaw.Traits().Options),
		},
	}
}

// listModels returns the models that the gateway's agents may use. If the gateway
// does not list them, the manifest has none.
func (c *conn) listModels(ctx context.Context) []agent.Model {
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
	if c.callGateway(ctx, "models.list", object{}, &list) != nil {
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
