package pi

import (
	"context"
	"encoding/json"
	"os"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

const label = "pi"

// Manifest asks pi itself, once for each version of its program.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	argv, err := a.program()
	if err != nil {
		return missing(err.Error())
	}
	return a.manifests.GetOrDetect(ctx, argv, missing, func(ctx context.Context) (agent.Manifest, bool) { return a.detect(ctx, argv) })
}

func missing(why string) agent.Manifest { return agent.MissingManifest(agent.Pi, label, why) }

// detect asks for the version and for the models at the same time: pi takes a
// second to begin. It says whether pi told all.
func (a *adapter) detect(ctx context.Context, argv []string) (m agent.Manifest, whole bool) {
	type answer struct {
		models []agent.Model
		err    error
	}
	asked := make(chan answer, 1)
	go func() {
		models, err := a.models(ctx)
		asked <- answer{models, err}
	}()
	version, err := child.ReadVersion(ctx, argv, a.environ(agent.Options{Dir: os.TempDir()}))
	got := <-asked
	if err != nil {
		return missing(err.Error()), false
	}
	m = agent.Manifest{
		Kind: agent.Pi, Label: label, Description: "the coding agent pi, by its RPC mode",
		Installed: true, Binary: argv[0], Version: version[len(version)-1], Status: agent.Supported,
		Models: []agent.Model{}, Modes: []agent.Mode{},
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, DenyReason: true, Resume: true, Interrupt: true, Cost: true,
			ContextUsage: "native", Sandbox: "soft",
		},
	}
	if got.err != nil {
		m.Status, m.StatusReason = agent.Degraded, "it tells no models: "+got.err.Error()
		return m, false
	}
	m.Models, m.ModelsSource = got.models, "runtime"
	return m, true
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
