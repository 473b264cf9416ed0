package catalog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/agent/openclaw"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/anthropic"
	"github.com/ratchet-dev/ratchet/internal/provider/command"
	"github.com/ratchet-dev/ratchet/internal/provider/openai"
	"github.com/ratchet-dev/ratchet/internal/provider/replay"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// The variables that name the programs of agents that are not on PATH.
const (
	ClaudeBinary = "CLAUDE_BIN"
	CodexBinary  = "CODEX_BIN"
)

// PiVariable names the variable that holds the command line of pi, if it is not pi on PATH.
const PiVariable = "RATCHET_PI"

// PiArgv returns the command line in PiVariable.
func PiArgv(environ []string) ([]string, error) {
	line, ok := lookupIn(environ)(PiVariable)
	if !ok || line == "" {
		return []string{"pi"}, nil
	}
	argv, err := shellquote.Split(line)
	if err == nil && len(argv) == 0 {
		err = errors.New("it names no program")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", PiVariable, err)
	}
	return argv, nil
}

// Validate reports, before a run is started, why the provider cannot work on this machine. Relative names
// count from dir. environ has the form of os.Environ.
func (s Spec) Validate(dir string, environ []string) error {
	lookup := lookupIn(environ)
	err := s.checkWhole()
	switch {
	case err != nil:
	case s.Kind == Command || s.Kind == ACP:
		err = command.Find(dir, s.Argv[0])
	case s.Kind == Replay:
		err = replay.Find(fromDir(dir, s.Dir))
	case s.Kind == Claude:
		err = command.Find(dir, programOf(lookup, ClaudeBinary, "claude"))
	case s.Kind == Codex:
		err = command.Find(dir, programOf(lookup, CodexBinary, "codex"))
	case s.Kind == Pi:
		var argv []string
		if argv, err = PiArgv(environ); err == nil {
			err = command.Find(dir, argv[0])
		}
	} // keys and addresses are the worker's
	if err != nil {
		return fmt.Errorf("provider %s: %w", s, err)
	}
	return nil
}

// checkWhole refuses a spec that Parse did not make.
func (s Spec) checkWhole() error {
	switch s.Kind {
	case Replay, Anthropic, OpenAI, Claude, Codex, OpenClaw, Pi, None:
		return nil
	case Command, ACP:
		if len(s.Argv) > 0 {
			return nil
		}
	}
	return fmt.Errorf("not a whole spec: use one of %s", specForms)
}

// programOf returns the program that variable names, or name if the variable is empty.
func programOf(lookup func(string) (string, bool), variable, name string) string {
	if path, ok := lookup(variable); ok && path != "" {
		return path
	}
	return name
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
	case None:
		return nil, errors.New("open provider none: it answers nothing")
	case Command:
		return command.New(command.Config{
			Argv: s.Argv, Dir: env.Dir, Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox, Redact: env.Redact, Log: env.Log,
		}), nil
	case Replay:
		return replay.New(fromDir(env.Dir, s.Dir), env.Redact), nil
	case Anthropic, OpenAI:
		p, err := s.openAPI(env)
		if err != nil {
			return nil, fmt.Errorf("open provider %s: %w", s, err)
		}
		return p, nil
	}
	return session.New(session.Config{
		Adapter: s.newAdapter(env), Choice: agent.Choice{Model: s.Model}, Pool: env.Agents, Host: env.Host, Redact: env.Redact, Log: env.Log,
		Places: env.places(),
	}), nil
}

func (e Env) places() session.Places {
	home, _ := lookupIn(e.Environ)("HOME")
	return session.Places{Home: home, State: e.State}
}

// openAPI returns the provider of a model API.
func (s Spec) openAPI(env Env) (provider.Provider, error) {
	lookup := lookupIn(env.Environ)
	prices, _ := lookup(PricesVariable)
	price, err := priceOf(prices, s.Model)
	if err != nil {
		return nil, err
	}
	if s.Kind == Anthropic {
		c, err := anthropic.FromEnv(lookup, s.Model)
		if err != nil {
			return nil, err
		}
		c.Redact, c.Price = env.Redact, price
		return anthropic.New(c), nil
	}
	c, err := openai.FromEnv(lookup, s.Model)
	if err != nil {
		return nil, err
	}
	c.Redact, c.Price = env.Redact, price
	return openai.New(c), nil
}

// newAdapter returns the adapter of an agent's spec.
func (s Spec) newAdapter(env Env) agent.Adapter {
	lookup := lookupIn(env.Environ)
	switch s.Kind {
	case Claude:
		return claude.New(claude.Config{Binary: programOf(lookup, ClaudeBinary, ""), Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox})
	case Codex:
		return codex.New(codex.Config{Binary: programOf(lookup, CodexBinary, ""), Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox})
	case ACP:
		argv := append([]string{inDir(env.Dir, s.Argv[0])}, s.Argv[1:]...)
		return acp.New(acp.Config{Argv: argv, Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox, Greeting: env.Greeting})
	case Pi:
		argv, _ := PiArgv(env.Environ) // a value that cannot be read was refused before the run; otherwise pi on PATH
		return pi.New(pi.Config{Argv: argv, Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox})
	}
	c := openclaw.Config{Environ: env.Environ}
	if env.State != "" {
		c.KeyFile = filepath.Join(env.State, "openclaw-device.key")
	}
	return openclaw.New(c)
}

// NewAdapter returns the adapter of a spec whose provider is an agent.
func NewAdapter(text string, env Env) (agent.Adapter, error) {
	spec, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return spec.newAdapter(env), nil
}

// NewAdapters returns the adapters of the agents that this machine may have. Of ACP agents it returns the
// ones whose programs are well known.
func NewAdapters(env Env) []agent.Adapter {
	var list []agent.Adapter
	for _, text := range []string{"claude", "codex", "acp:opencode acp", "acp:gemini --acp", "openclaw", "pi"} {
		if a, err := NewAdapter(text, env); err == nil {
			list = append(list, a)
		}
	}
	return list
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
