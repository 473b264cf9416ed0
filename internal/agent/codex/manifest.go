package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

const label = "Codex"

var offeredModes = []agent.Mode{
	{Code: string(agent.ReadOnly), Label: "Read only", Description: "changes nothing and refuses changes"},
	{Code: string(agent.WorkspaceWrite), Label: "Workspace write", Description: "writes in the working directory; asks for more", Default: true},
	{Code: string(agent.FullAccess), Label: "Full access", Description: "writes anywhere and reaches the network"},
}

// Version implements agent.Versioner.
func (a *adapter) Version(ctx context.Context) (string, error) {
	path, err := a.findBinary()
	if err != nil {
		return "", err
	}
	return child.ReadVersion(ctx, []string{path}, a.clientEnviron(nil))
}

// Manifest asks the client itself, once for each version of its program that
// works as it should.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	path, err := a.findBinary()
	if err != nil {
		return missingManifest(err.Error())
	}
	return a.manifests.GetOrDetect(ctx, []string{path}, missingManifest, func(ctx context.Context) (agent.Manifest, bool) { return a.detectClient(ctx, path) })
}

func missingManifest(why string) agent.Manifest {
	return agent.MissingManifest(setup.Codex, label, why)
}

// detectClient returns the manifest; whole says whether the client works as it
// should.
func (a *adapter) detectClient(ctx context.Context, path string) (m agent.Manifest, whole bool) {
	version, err := child.ReadVersion(ctx, []string{path}, a.clientEnviron(nil))
	if err != nil {
		return missingManifest(err.Error()), false
	}
	m = agent.Manifest{
		Kind: setup.Codex, Label: label, Description: "OpenAI's coding agent, through its app-server",
		Installed: true, Binary: path, Version: version, Status: agent.Supported,
		Models: []agent.Model{}, Modes: slices.Clone(offeredModes),
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, Resume: true, Interrupt: true,
			ContextUsage: "native", Sandbox: "os", Network: true, Options: slices.Clone(setup.Codex.Traits().Options),
		},
	}
	models, err := a.listModels(ctx, path)
	if err != nil {
		m.Status, m.StatusReason = agent.Degraded, "it lists no models: "+err.Error()
		return m, false
	}
	m.Models, m.ModelsSource = models, "runtime"
	if why := a.sandboxProblem(ctx, path); why != "" {
		m.Status, m.StatusReason = agent.Degraded, why
		return m, false
	}
	return m, true
}

// usageError is the exit code of a client that does not know a command.
const usageError = 2

// sandboxProblem says why no sandbox can be started here, as in a container
// without user namespaces: tools then fail in every sandbox. It is empty if a
// sandbox can be started, and for a client that does not report it.
func (a *adapter) sandboxProblem(ctx context.Context, path string) string {
	out := proc.NewHeadTail(0, 256)
	r, err := proc.Run(ctx, proc.Command{
		Argv: []string{path, "sandbox", "true"}, Dir: os.TempDir(), Env: a.clientEnviron(nil), Stderr: out,
	})
	if err != nil || ctx.Err() != nil || r.ExitCode == 0 || r.ExitCode == usageError {
		return ""
	}
	return "its own sandbox does not start here: its tools work only in Ratchet's sandbox, or with full access: " + strings.TrimSpace(out.String())
}

// listModels returns the models that the client offers.
func (a *adapter) listModels(ctx context.Context, path string) ([]agent.Model, error) {
	c, err := child.Start(ctx, child.Spec{Argv: []string{path, "app-server"}, Dir: os.TempDir(), Env: a.clientEnviron(nil)})
	if err != nil {
		return nil, err
	}
	w := newConn(c)
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.readFrames(func(frame, []byte) {}) // ended by us, so the error does not matter
	}()
	defer func() {
		c.End()
		<-over
	}()
	var answer struct {
		Data []struct {
			Model       string `json:"model"`
			Name        string `json:"displayName"`
			Description string `json:"description"`
			Default     bool   `json:"isDefault"`
		} `json:"data"`
	}
	_, err = w.sendInitialize(ctx)
	if err == nil {
		err = w.callServer(ctx, "model/list", object{}, func(result json.RawMessage) error { return json.Unmarshal(result, &answer) })
	}
	if errors.Is(err, agent.ErrGone) {
		return nil, fmt.Errorf("codex app-server ended: %.200s", c.Stderr())
	}
	models := make([]agent.Model, 0, len(answer.Data))
	for _, m := range answer.Data {
		models = append(models, agent.Model{Code: m.Model, Label: m.Name, Description: m.Description, Default: m.Default})
	}
	return models, err
}
