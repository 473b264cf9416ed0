// Package activities implements the activities of the workflows: it calls providers, applies
// patches, runs checks and keeps the record. Each activity may run twice. Its doc describes the
// effect of a second call with the same input.
package activities

import (
	"context"
	"errors"
	"io"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/toolchain"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// Activities holds the dependencies of the activities. New makes one.
type Activities struct {
	notify  []run.Channel
	runs    *rundir.Store
	open    OpenProvider
	redact  *redact.Redactor
	env     func(string) (string, bool)
	agents  AgentPool
	survey  func(context.Context) []agent.Manifest
	probe   func(context.Context, Opening) error
	forget  func(context.Context, dispatch.GardenID) error
	sandbox Sandbox
	tools   *toolchain.Finder

	workspaces *workspaces
	mirrors    remote.Mirrors
}

// OpenProvider makes a provider. The error is a *NotBoxed if the provider would start programs that
// may not start.
type OpenProvider func(Opening) (provider.Provider, error)

// Opening describes the provider to make.
type Opening struct {
	Spec string
	Dir  string // the working directory of its programs
	// Sandbox is the policy of the run that the provider works for.
	Sandbox run.Sandbox
	// Options are the provider's options in the run. Only a probe uses them.
	Options setup.Options
	Log     io.Writer // receives the standard error of its programs
}

// Config configures the activities of a worker. Every member except Forget,
// Sandbox and Toolchains is required.
type Config struct {
	Runs   *rundir.Store
	Open   OpenProvider
	Redact *redact.Redactor
	// Agents holds the agents of the providers that Open makes.
	Agents AgentPool
	// Survey returns the manifests of the agents on this machine.
	Survey func(context.Context) []agent.Manifest
	// Probe reports why a provider cannot work on this machine; nil: nothing is known against it. It calls no
	// model.
	Probe func(context.Context, Opening) error
	// Forget removes an agent's session from the registry of citizens. It is nil if no session is
	// ever in the registry.
	Forget func(context.Context, dispatch.GardenID) error
	// Sandbox decides whether the programs of a run may start, and where. The zero Sandbox refuses all.
	Sandbox Sandbox
	// LookupEnv finds the variables that a run lets through to its checks.
	LookupEnv func(string) (string, bool)
	// Toolchains are directories that checks in the box see besides the toolchains of the tools that they name.
	Toolchains []string
	// Notify holds the channels by which the worker notifies people about runs.
	Notify []run.Channel
}

// AgentPool knows the agents that wait for decisions.
type AgentPool interface {
	// Stop ends the agents whose slot's name begins with slot.
	Stop(slot string)
}

// New refuses an incomplete configuration.
func New(c Config) (*Activities, error) {
	if c.Runs == nil || c.Open == nil || c.Redact == nil || c.LookupEnv == nil || c.Agents == nil || c.Survey == nil || c.Probe == nil {
		return nil, errors.New("activities: the configuration is incomplete")
	}
	return &Activities{
		notify: c.Notify, runs: c.Runs, open: c.Open, redact: c.Redact, env: c.LookupEnv, agents: c.Agents, survey: c.Survey, probe: c.Probe, forget: c.Forget, sandbox: c.Sandbox, tools: toolchain.New(c.LookupEnv, c.Toolchains...),
		workspaces: &workspaces{dir: c.Runs.Workspace, openAt: workspace.Open, open: map[run.ID]*held{}},
		mirrors:    remote.Mirrors{Dir: rundir.Mirrors(c.Runs.Dir())},
	}, nil
}

// ArtifactError is the type of the error about an artifact that is gone or was altered. Provider
// failures have the provider's error code as their type.
const ArtifactError = run.CodeArtifact
