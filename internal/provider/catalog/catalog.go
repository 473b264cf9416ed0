package catalog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/command"
	"github.com/ratchet-dev/ratchet/internal/provider/replay"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Validate reports, before a run is started, why the provider cannot work on this machine. Relative names
// count from dir. environ has the form of os.Environ.
func (s Spec) Validate(dir string, environ []string) error {
	err := s.checkWhole()
	switch {
	case err != nil:
	case s.Kind == setup.Replay:
		err = replay.Find(fromDir(dir, s.Dir))
	case len(s.Argv) > 0:
		err = command.Find(dir, s.Argv[0])
	case registry[s.Kind].argv != nil:
		var argv []string
		if argv, err = registry[s.Kind].argv(environ); err == nil {
			err = command.Find(dir, argv[0])
		}
		if errors.Is(err, command.ErrNotOnPath) {
			err = fmt.Errorf("%w in %s, in the worker's environment", err, registry[s.Kind].variable)
		}
	} // keys and addresses are the worker's
	if err != nil {
		return fmt.Errorf("provider %s: %w", s, err)
	}
	return nil
}

// checkWhole refuses a spec that Parse did not make.
func (s Spec) checkWhole() error {
	if about := s.Kind.Traits(); about.Kind == "" || about.Rest == setup.Argv && len(s.Argv) == 0 {
		return fmt.Errorf("incomplete: use one of %s", specForms())
	}
	return nil
}

// Env holds everything that a worker gives to the providers that it opens.
type Env struct {
	// Dir is the directory in which programs run, and to which names are relative.
	Dir string
	// Environ is the worker's environment, in the form of os.Environ. Programs see
	// little of it (see command.Config), and the variables that Allow names.
	Environ []string
	Allow   []string
	// Sandbox is the boundary around programs. The gateway of OpenClaw runs outside of it.
	Sandbox child.Sandbox
	// Greeting says how agents of ACP are asked what they are.
	Greeting acp.Greeting
	// State is the directory for the state of adapters that must outlive the worker; empty: none.
	State string
	// Agents keeps the agents that wait for a decision.
	Agents *session.Pool
	// Host lets other sessions reach the sessions of agents; nil: none can.
	Host session.Host
	// Redact removes the worker's secrets from all texts of a provider.
	Redact *redact.Redactor
	// Log gets the standard error of programs; nil discards it.
	Log io.Writer
}

// Open returns the provider. It starts nothing.
func (s Spec) Open(env Env) (provider.Provider, error) {
	if err := s.checkWhole(); err != nil {
		return nil, fmt.Errorf("open provider %s: %w", s, err)
	}
	switch s.Kind {
	case setup.None:
		return nil, errors.New("open provider none: it cannot answer")
	case setup.Command:
		return command.New(command.Config{
			Argv: s.Argv, Dir: env.Dir, Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox, Redact: env.Redact, Log: env.Log,
		}), nil
	case setup.Replay:
		return replay.New(fromDir(env.Dir, s.Dir), env.Redact), nil
	}
	if registry[s.Kind].api != nil {
		p, err := s.openAPI(env)
		if err != nil {
			return nil, fmt.Errorf("open provider %s: %w", s, err)
		}
		return p, nil
	}
	return session.New(session.Config{
		Adapter: registry[s.Kind].adapter(s, env), Choice: agent.Choice{Model: s.Model}, Pool: env.Agents, Host: env.Host, Redact: env.Redact, Log: env.Log,
		Places: env.places(),
	}), nil
}

func (e Env) places() session.Places {
	home, _ := lookupIn(e.Environ)("HOME")
	return session.Places{Home: home, State: e.State}
}

// openAPI returns the provider of a model API.
func (s Spec) openAPI(env Env) (provider.Provider, error) {
	prices, _ := lookupIn(env.Environ)(PricesVariable)
	price, err := priceOf(prices, s.Model)
	if err != nil {
		return nil, err
	}
	return registry[s.Kind].api(s, env, price)
}

// NewAdapter returns the adapter of a spec whose provider is an agent.
func NewAdapter(text string, env Env) (agent.Adapter, error) {
	spec, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if !spec.Agent() {
		return nil, fmt.Errorf("provider %s is not an agent: it has no sessions", text)
	}
	return registry[spec.Kind].adapter(spec, env), nil
}

// inDir returns a program named by a relative path, relative to dir.
func inDir(dir, program string) string {
	if strings.Contains(program, "/") {
		return fromDir(dir, program)
	}
	return program
}

// fromDir returns name relative to dir, unless it is absolute.
func fromDir(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// lookupIn returns a function that finds a variable. If two entries have the same name, the last counts.
func lookupIn(environ []string) func(string) (string, bool) {
	return func(name string) (value string, ok bool) {
		for _, entry := range environ {
			if n, v, _ := strings.Cut(entry, "="); n == name {
				value, ok = v, true
			}
		}
		return value, ok
	}
}
