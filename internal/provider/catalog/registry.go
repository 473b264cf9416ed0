package catalog

import (
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/agent/openclaw"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/anthropic"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/openai"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// entry is what the package of a provider or an agent registers, beside the traits in package setup. Members that a kind
// has no use for are nil.
type entry struct {
	// argv returns the command line of the client that an environment names.
	argv func(environ []string) ([]string, error)
	// variable names the program of that client, if it is not on PATH.
	variable string
	// adapter returns the adapter of an agent.
	adapter func(Spec, Env) agent.Adapter
	// api opens the provider of a model API, whose key is in the variable key.
	api func(s Spec, env Env, price chat.Price) (provider.Provider, error)
	key string
	// backend is the product whose sessions of the user a dispatch resumes by resume, if the operator says so.
	backend dispatch.Backend
	resume  agent.Options
}

// registry holds the kinds that packages of their own serve. No other code of ours asks for one of them by name.
var registry = map[Kind]entry{
	setup.Anthropic: {key: anthropic.KeyVariable, api: func(s Spec, env Env, price chat.Price) (provider.Provider, error) {
		c, err := anthropic.FromEnv(lookupIn(env.Environ), s.Model)
		if err != nil {
			return nil, err
		}
		c.Redact, c.Price = env.Redact, price
		return anthropic.New(c), nil
	}},
	setup.OpenAI: {key: openai.KeyVariable, api: func(s Spec, env Env, price chat.Price) (provider.Provider, error) {
		c, err := openai.FromEnv(lookupIn(env.Environ), s.Model)
		if err != nil {
			return nil, err
		}
		c.Redact, c.Price = env.Redact, price
		return openai.New(c), nil
	}},
	setup.Claude: {
		argv: claude.Argv, variable: claude.BinaryVariable, backend: dispatch.ClaudeCode, resume: claude.Resumed,
		adapter: func(_ Spec, env Env) agent.Adapter {
			argv, _ := claude.Argv(env.Environ)
			return claude.New(claude.Config{Binary: argv[0], Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox})
		},
	},
	setup.Codex: {
		argv: codex.Argv, variable: codex.BinaryVariable, backend: dispatch.Codex, resume: codex.Resumed,
		adapter: func(_ Spec, env Env) agent.Adapter {
			argv, _ := codex.Argv(env.Environ)
			return codex.New(codex.Config{Binary: argv[0], Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox})
		},
	},
	setup.ACP: {adapter: func(s Spec, env Env) agent.Adapter {
		argv := append([]string{inDir(env.Dir, s.Argv[0])}, s.Argv[1:]...)
		return acp.New(acp.Config{Argv: argv, Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox, Greeting: env.Greeting})
	}},
	setup.OpenClaw: {adapter: func(_ Spec, env Env) agent.Adapter {
		c := openclaw.Config{Environ: env.Environ}
		if env.State != "" {
			c.KeyFile = filepath.Join(env.State, openclaw.KeyName)
		}
		return openclaw.New(c)
	}},
	setup.Pi: {argv: pi.Argv, variable: pi.ArgvVariable, adapter: func(_ Spec, env Env) agent.Adapter {
		argv, _ := pi.Argv(env.Environ) // a value that cannot be read was refused before the run; otherwise pi on PATH
		return pi.New(pi.Config{Argv: argv, Environ: env.Environ, Allow: env.Allow, Sandbox: env.Sandbox})
	}},
}

// Keys returns the variables that hold keys of model APIs.
func Keys() (names []string) {
	for _, t := range setup.Kinds(func(t setup.Traits) bool { return registry[t.Kind].key != "" }) {
		names = append(names, registry[t.Kind].key)
	}
	return names
}

// Resumable is a backend of dispatches whose sessions of the user are resumed where the operator says so.
type Resumable struct {
	Kind    Kind
	Backend dispatch.Backend
	Options agent.Options
	Adapter agent.Adapter
}

// Resumables returns the backends whose sessions this machine can resume.
func Resumables(env Env) (list []Resumable) {
	for _, t := range setup.Kinds(func(t setup.Traits) bool { return registry[t.Kind].backend != "" }) {
		e := registry[t.Kind]
		list = append(list, Resumable{t.Kind, e.backend, e.resume, e.adapter(Spec{Kind: t.Kind}, env)})
	}
	return list
}

// NewAdapters returns the adapters of the agents that this machine may have. Of ACP agents it returns the
// ones whose programs are well known.
func NewAdapters(env Env) []agent.Adapter {
	var list []agent.Adapter
	for _, t := range setup.Kinds(func(t setup.Traits) bool { return t.Agent }) {
		specs := []Spec{{Kind: t.Kind}}
		if t.Rest == setup.Argv {
			specs = nil
			for _, p := range acp.Programs {
				specs = append(specs, Spec{Kind: t.Kind, Argv: p.Argv})
			}
		}
		for _, s := range specs {
			list = append(list, registry[t.Kind].adapter(s, env))
		}
	}
	return list
}

// Foreign returns why the settings of a repository may not choose the provider: its program, its arguments or its answers
// would be the repository's choice, or nothing would hold it. It is empty if they may.
func (s Spec) Foreign() string {
	if s.Kind == setup.ACP && containedProgram(s.Argv[0]).String() == s.String() {
		return ""
	}
	return s.Kind.Traits().Foreign
}

// SpecOf returns the spec by which the settings of a repository may name an agent that was found; false: they may not.
func SpecOf(m agent.Manifest) (Spec, bool) {
	s := Spec{Kind: m.Kind}
	if m.Kind == setup.ACP {
		s = containedProgram(filepath.Base(m.Binary))
	}
	return s, s.Kind != "" && s.Foreign() == ""
}

// containedProgram returns the spec of a well known program of ACP to which a repository's settings allow nothing.
func containedProgram(name string) Spec {
	for _, p := range acp.Programs {
		if p.Contained && p.Argv[0] == name {
			return Spec{Kind: setup.ACP, Argv: p.Argv}
		}
	}
	return Spec{}
}
