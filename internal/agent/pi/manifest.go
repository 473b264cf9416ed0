package pi

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

const label = "pi"

// Version implements agent.Versioner.
func (a *adapter) Version(ctx context.Context) (string, error) {
	argv, err := a.findProgram()
	if err != nil {
		return "", err
	}
	return child.ReadVersion(ctx, argv, a.piEnviron(agent.Options{Dir: os.TempDir()}))
}

// Manifest asks pi itself, once for each version of its program.
func (a *adapter) Manifest(ctx context.Context) agent.Manifest {
	argv, err := a.findProgram()
	if err != nil {
		return missingManifest(err.Error())
	}
	return a.manifests.GetOrDetect(ctx, argv, missingManifest, func(ctx context.Context) (agent.Manifest, bool) { return a.detectPi(ctx, argv) })
}

func missingManifest(why string) agent.Manifest { return agent.MissingManifest(setup.Pi, label, why) }

// detectPi asks for the version and for the models at the same time, because pi
// takes a second to start. Whole says whether pi reported everything.
func (a *adapter) detectPi(ctx context.Context, argv []string) (m agent.Manifest, whole bool) {
	type answer struct {
		models []agent.Model
		err    error
	}
	asked := make(chan answer, 1)
	go func() {
		models, err := a.listModels(ctx)
		asked <- answer{models, err}
	}()
	version, err := child.ReadVersion(ctx, argv, a.piEnviron(agent.Options{Dir: os.TempDir()}))
	got := <-asked
	if err == nil {
		err = checkVersion(version)
	}
	if err != nil {
		return missingManifest(err.Error()), false
	}
	m = agent.Manifest{
		Kind: setup.Pi, Label: label, Description: "the coding agent pi, through its RPC mode",
		Installed: true, Binary: argv[0], Version: version, Status: agent.Supported,
		Models: []agent.Model{}, Modes: []agent.Mode{},
		Capabilities: agent.Capabilities{
			Permissions: true, SessionScope: true, DenyReason: true, Resume: true, Interrupt: true, Cost: true,
			ContextUsage: "native", Sandbox: "soft", Options: slices.Clone(setup.Pi.Traits().Options),
		},
	}
	if got.err != nil {
		m.Status, m.StatusReason = agent.Degraded, "it lists no models: "+got.err.Error()
		return m, false
	}
	m.Models, m.ModelsSource = got.models, "runtime"
	return m, true
}

// checkVersion refuses a pi that does not report the end of a turn with agent_settled. A version in another form passes.
func checkVersion(version string) error {
	var major, minor, patch int
	_, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch)
	if err == nil && (major == 0 && minor < 80 || major == 0 && minor == 80 && patch < 4) {
		return fmt.Errorf("pi %s is too old: update it to 0.80.4 or later", version)
	}
	return nil
}

// listModels returns the models that pi has credentials for. The session that
// reports them leaves nothing behind. Its directory can be written by all users,
// so it is never trusted as a project.
func (a *adapter) listModels(ctx context.Context) ([]agent.Model, error) {
	c := a.Config
	if c.Trust == TrustProject {
		c.Trust = TrustUser
	}
	s, err := (&adapter{Config: c}).startSession(ctx, agent.Options{Dir: os.TempDir(), Sandbox: agent.ReadOnly}, "--no-session")
	if err != nil {
		return nil, err
	}
	defer s.Abandon()
	if err := s.checkState(ctx); err != nil {
		return nil, err
	}
	data, err := s.callPi(ctx, "get_available_models")
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
		list = append(list, agent.Model{Code: m.modelCode(), Label: m.Name, ContextWindow: m.Window, Default: m.modelCode() == s.model.modelCode()})
	}
	return list, nil
}
