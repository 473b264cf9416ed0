// Package claude is the adapter to Claude Code. A session is one process of its
// CLI, with JSON lines on its standard input and output
// (CLIENT.md). The client's permissions are the only
// sandbox. The settings of the repository in which the agent works do not affect
// them; rules of the machine's user do, within the sandbox.
//
// A turn is the work that one Send began. Work that would outlast the turn, or
// begin by itself, is switched off.
package claude

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Config says which client to run, and which of our variables it sees.
type Config struct {
	// Binary is the client's program: a path, or a name that is searched for on
	// the PATH of Environ; empty means claude.
	Binary string
	// Environ is our own environment, NAME=value. The client sees a small part of
	// it (see clientEnviron) and the variables that Allow names, such as the
	// credentials of a cloud that serves the model.
	Environ []string
	Allow   []string
	// Sandbox is the boundary around the client.
	Sandbox child.Sandbox
}

// Resumed are the options for resuming a session of the user's own without a person. Every request that needs a person is
// denied. The session can edit files of its working directory, run the commands that the user's settings allow, and use the
// user's MCP servers.
var Resumed = agent.Options{Sandbox: agent.WorkspaceWrite, UserServers: true, Sticky: agent.Choice{Mode: "acceptEdits"}}

type adapter struct {
	Config

	manifests child.Manifests
}

// New returns the adapter. It starts nothing.
func New(c Config) agent.Adapter {
	return &adapter{Config: c}
}

func (*adapter) Kind() agent.Kind { return setup.Claude }

func (a *adapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, _, err := a.startSession(ctx, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// startSession returns once the client has answered initialize. The client then
// takes input, and has found the session to resume (CLIENT.md, 8).
func (a *adapter) startSession(ctx context.Context, o agent.Options) (*session, greeting, error) {
	if err := ctx.Err(); err != nil {
		return nil, greeting{}, err
	}
	binary, err := a.findBinary()
	if err != nil {
		return nil, greeting{}, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	if err := checkOptions(o); err != nil {
		return nil, greeting{}, err
	}
	env := a.clientEnviron(o)
	if o.Servers, err = a.Sandbox.AllServers(o, child.ParseEnviron(env)["PATH"]); err != nil {
		return nil, greeting{}, err
	}
	fresh := uuid.NewString()
	argv, err := clientArgs(o, fresh)
	if err != nil {
		return nil, greeting{}, err
	}
	kept := projects(a.Sandbox.HostPath(o, filepath.Join(configDir(env), "projects")))
	if o.Resume != "" && kept.lacksUserMessage(ctx, o.Resume) {
		return nil, greeting{}, agent.ErrNoSession
	}
	argv = append([]string{binary}, argv...)
	enclosed, err := a.Sandbox.Enclose(clientNeeds(argv, env), o)
	if err != nil {
		return nil, greeting{}, err
	}
	c, err := child.Start(ctx, child.Spec{Argv: argv, Dir: o.Dir, Env: enclosed.Env, Box: enclosed.Box, Log: o.Log})
	if err != nil {
		return nil, greeting{}, err
	}
	s := newSession(c, o, fresh, kept)
	g, err := s.awaitGreeting(ctx)
	if err != nil {
		s.Abandon()
		return nil, greeting{}, err
	}
	return s, g, nil
}

// checkOptions returns an error if no client can work with o.
func checkOptions(o agent.Options) error {
	if err := o.CheckDir(); err != nil {
		return err
	}
	// The client would take any other text for a title, and might resume a session
	// with that title.
	if o.Resume != "" && uuid.Validate(o.Resume) != nil {
		return agent.ErrNoSession
	}
	return nil
}

func badRequest(format string, args ...any) *failure.Error {
	return newError(failure.BadRequest, false, format, args...)
}
