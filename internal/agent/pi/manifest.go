package pi

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

const label = "pi"

// stamp identifies a program, and the scripts among its arguments, as they
// were.
type stamp string

func stampOf(argv []string) stamp {
	var s strings.Builder
	for _, arg := range argv {
		info, err := os.Stat(arg)
		if err == nil && info.Mode().IsRegular() {
			arg += "@" + info.ModTime().String()
		}
		s.WriteString(arg + "\x00")
	}
	return stamp(s.String())
}

// Manifest asks pi itself, once for each version of its program.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	argv, err := a.program()
	if err != nil {
		return agent.Missing(agent.Pi, label, err.Error())
	}
	key := stampOf(argv)
	a.mu.Lock()
	m, ok := a.seen[key]
	a.mu.Unlock()
	if ok {
		return m
	}
	ctx, cancel := context.WithTimeout(ctx, agent.ManifestTimeout)
	defer cancel()
	found := make(chan agent.Manifest, 1)
	go func() { found <- a.detect(ctx, argv, key) }()
	select {
	case m := <-found:
		return m
	case <-ctx.Done():
		return agent.Missing(agent.Pi, label, fmt.Sprintf("%s did not answer in time: %v", argv[0], ctx.Err()))
	}
}

// detect asks for the version and for the models at the same time: pi takes a
// second to begin.
func (a *adapter) detect(ctx context.Context, argv []string, key stamp) agent.Manifest {
	type answer struct {
		models []agent.Model
		err    error
	}
	asked := make(chan answer, 1)
	go func() {
		models, err := a.models(ctx)
		asked <- answer{models, err}
	}()
	version, err := a.version(ctx, argv)
	got := <-asked
	if err != nil {
		return agent.Missing(agent.Pi, label, err.Error())
	}
	m := agent.Manifest{
		Kind: agent.Pi, Label: label, Description: "the coding agent pi, by its RPC mode",
		Installed: true, Binary: argv[0], Version: version, Status: agent.Supported,
		Models: []agent.Model{}, Modes: []agent.Mode{},
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, DenyReason: true, Resume: true, Interrupt: true, Cost: true,
			ContextUsage: "native", Sandbox: "soft",
		},
	}
	if got.err != nil {
		m.Status, m.StatusReason = agent.Degraded, "it tells no models: "+got.err.Error()
		return m
	}
	m.Models, m.ModelsSource = got.models, "runtime"
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[key] = m
	return m
}

// version is the last word of what the program says to --version.
func (a *adapter) version(ctx context.Context, argv []string) (string, error) {
	out := proc.NewHeadTail(256, 0)
	r, err := proc.Run(ctx, proc.Command{
		Argv: append(argv[:len(argv):len(argv)], "--version"), Dir: os.TempDir(),
		Env: a.environ(agent.Options{Dir: os.TempDir()}), Stdout: out,
	})
	said := strings.Fields(out.String())
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s --version did not end in time", argv[0])
	case r.ExitCode != 0 || len(said) == 0:
		return "", fmt.Errorf("%s --version ended with exit code %d and said %.80q", argv[0], r.ExitCode, out.String())
	}
	return said[len(said)-1], nil
}

// models are those that pi has credentials for. The session that tells them
// leaves nothing behind. Anybody may write in its directory, which is no
// project to trust.
func (a *adapter) models(ctx context.Context) ([]agent.Model, error) {
	c := a.Config
	if c.Trust == TrustProject {
		c.Trust = TrustUser
	}
	s, err := (&adapter{Config: c}).start(ctx, agent.Options{Dir: os.TempDir(), Sandbox: agent.ReadOnly}, "--no-session")
	if err != nil {
		return nil, err
	}
	defer s.abandon()
	if err := s.greet(ctx); err != nil {
		return nil, err
	}
	data, err := s.call(ctx, "get_available_models")
	if err != nil {
		return nil, err
	}
	var offer struct {
		Models []model `json:"models"`
	}
	if err := json.Unmarshal(data, &offer); err != nil {
		return nil, err
	}
	list := make([]agent.Model, 0, len(offer.Models))
	for _, m := range offer.Models {
		list = append(list, agent.Model{Code: m.code(), Label: m.Name, ContextWindow: m.Window, Default: m.code() == s.model.code()})
	}
	return list, nil
}
