package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

const label = "Codex"

var offered = []agent.Mode{
	{Code: string(agent.ReadOnly), Label: "Read only", Description: "changes nothing, and refuses what would"},
	{Code: string(agent.WorkspaceWrite), Label: "Workspace write", Description: "writes in the working directory; asks for more", Default: true},
	{Code: string(agent.FullAccess), Label: "Full access", Description: "writes anywhere and reaches the network"},
}

// stamp identifies a program as it was.
type stamp struct {
	path string
	at   time.Time
}

// Manifest asks the client itself, once for each version of its program that
// works as it should.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	path, err := a.find()
	if err != nil {
		return agent.Missing(agent.Codex, label, err.Error())
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
		return agent.Missing(agent.Codex, label, fmt.Sprintf("%s did not answer in time: %v", path, ctx.Err()))
	}
}

func (a *adapter) detect(ctx context.Context, key stamp) agent.Manifest {
	version, err := a.version(ctx, key.path)
	if err != nil {
		return agent.Missing(agent.Codex, label, err.Error())
	}
	m := agent.Manifest{
		Kind: agent.Codex, Label: label, Description: "OpenAI's coding agent, by its app-server",
		Installed: true, Binary: key.path, Version: version, Status: agent.Supported,
		Models: []agent.Model{}, Modes: slices.Clone(offered),
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, Resume: true, Interrupt: true,
			ContextUsage: "native", Sandbox: "os", Network: true,
		},
	}
	models, err := a.models(ctx, key.path)
	if err != nil {
		m.Status, m.StatusReason = agent.Degraded, "it tells no models: "+err.Error()
		return m
	}
	m.Models, m.ModelsSource = models, "runtime"
	if why := a.unboxed(ctx, key.path); why != "" {
		m.Status, m.StatusReason = agent.Degraded, why
		return m
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[key] = m
	return m
}

// version is the last word of what the program says to --version.
func (a *adapter) version(ctx context.Context, path string) (string, error) {
	out := proc.NewHeadTail(256, 0)
	code, err := a.run(ctx, proc.Command{Argv: []string{path, "--version"}, Stdout: out})
	words := strings.Fields(out.String())
	switch {
	case err != nil:
		return "", err
	case code != 0 || len(words) == 0:
		return "", fmt.Errorf("%s --version ended with exit code %d and said %.80q", path, code, out.String())
	}
	return words[len(words)-1], nil
}

// usageError is the exit code of a client that does not know a command.
const usageError = 2

// unboxed says why no sandbox can be started here, as in a container without
// user namespaces: tools then fail wherever one is asked for. It is empty where
// one can, and for a client that does not tell.
func (a *adapter) unboxed(ctx context.Context, path string) string {
	out := proc.NewHeadTail(0, 256)
	code, err := a.run(ctx, proc.Command{Argv: []string{path, "sandbox", "true"}, Stderr: out})
	if err != nil || code == 0 || code == usageError {
		return ""
	}
	return "its sandbox does not start here, so that its tools fail unless they have full access: " + strings.TrimSpace(out.String())
}

// run runs the program to its end.
func (a *adapter) run(ctx context.Context, c proc.Command) (code int, err error) {
	c.Dir, c.Env = os.TempDir(), a.environ(nil)
	r, err := proc.Run(ctx, c)
	if err == nil {
		err = ctx.Err()
	}
	return r.ExitCode, err
}

// models are those that the client offers to choose from.
func (a *adapter) models(ctx context.Context, path string) ([]agent.Model, error) {
	c, err := child.Start(child.Spec{Argv: []string{path, "app-server"}, Dir: os.TempDir(), Env: a.environ(nil)})
	if err != nil {
		return nil, err
	}
	w := newConn(c)
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.read(func(frame, []byte) {}) // its end is ours
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
	err = w.initialize(ctx)
	if err == nil {
		err = w.call(ctx, "model/list", object{}, func(result json.RawMessage) error { return json.Unmarshal(result, &answer) })
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
