package acp

import (
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// enclosed is an agent with its boundary.
type enclosed struct {
	child.Enclosed
	argv []string
}

// enclose returns the boundary around the agent.
func (a *adapter) enclose(o agent.Options) (enclosed, error) {
	env := a.agentEnviron(o)
	argv, err := a.findArgv(a.Sandbox, env)
	if err != nil {
		return enclosed{}, err
	}
	in, err := a.Sandbox.Enclose(clientNeeds(argv, env), o)
	return enclosed{in, argv}, err
}

// encloseGreeting returns the boundary around an agent that is only asked what it is. In a box it has neither what it keeps
// nor a network.
func (a *adapter) encloseGreeting(o agent.Options) (enclosed, error) {
	sandbox, env := child.Sandbox{Box: a.Greeting.Box, Toolchains: a.Sandbox.Toolchains}, a.agentEnviron(o)
	if sandbox.Held() {
		env = child.BuildEnviron(child.ParseEnviron(a.Environ), append(a.Allow[:len(a.Allow):len(a.Allow)], "PATH", "USER", "LANG", "TERM"), []string{"LC_"}, map[string]string{"HOME": "/tmp"})
	}
	argv, err := a.findArgv(sandbox, env)
	if err != nil {
		return enclosed{}, err
	}
	in, err := sandbox.Enclose(child.Client{Argv: argv, Env: env}, o)
	return enclosed{in, argv}, err
}

// findArgv returns the command line of the agent, for a box with the absolute path of its program.
func (a *adapter) findArgv(sandbox child.Sandbox, env []string) ([]string, error) {
	argv := slices.Clone(a.Argv)
	if !sandbox.Held() {
		return argv, nil
	}
	path, err := child.FindProgram(argv[0], child.ParseEnviron(env)["PATH"])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	argv[0] = path
	return argv, nil
}
