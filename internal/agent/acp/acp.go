// Package acp is the adapter to agents that speak the Agent Client Protocol on
// their standard input and output: opencode, Gemini CLI, the bridges to Claude
// Code and to Codex, and others (CLIENT.md, 1 to 4).
//
// The protocol has no reason for a denial, no bound on answers, and no reliable
// name of a tool: if an agent gives none, the kind of the call is its name, such
// as execute or edit. The adapter lends an agent neither files nor terminals. It
// reads messages leniently, member by member, because agents send more than the
// schema has, and less.
//
// An agent alone decides which calls need a permission, and the adapter controls
// nothing else: the tools that Options name count only if the agent asks, and the
// sandbox is soft. If the adapter knows how, it makes the agent ask about every
// change, regardless of the settings of the repository.
package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// DefaultPatience is the time in which an interrupted turn has to end. Agents took
// less than half a second (CLIENT.md, 2.2).
const DefaultPatience = 15 * time.Second

// Config says which agent to run.
type Config struct {
	// Argv is the agent's program and its arguments. A relative path of the
	// program counts from our own working directory.
	Argv []string
	// Environ is our own environment. The agent sees the variables of it that every
	// program needs, the variables of known agents, and those that Allow names.
	Environ []string
	Allow   []string
	// Sandbox is the boundary around the agent.
	Sandbox child.Sandbox
	// Greeting says how the agent is asked what it is.
	Greeting Greeting
	// Patience is the time in which an interrupted turn has to end; after it the
	// agent is ended. Zero means DefaultPatience.
	Patience time.Duration
}

type adapter struct {
	Config

	mu               sync.Mutex
	lastIntroduction *introduction // nil before the first
	offer            offer         // of the last session that was started
}

// New returns the adapter of one agent.
func New(c Config) agent.Adapter {
	if len(c.Argv) > 0 && strings.Contains(c.Argv[0], "/") {
		if path, err := filepath.Abs(c.Argv[0]); err == nil {
			c.Argv = append([]string{path}, c.Argv[1:]...)
		}
	}
	if c.Patience <= 0 {
		c.Patience = DefaultPatience
	}
	return &adapter{Config: c}
}

func (*adapter) Kind() agent.Kind { return setup.ACP }

// Start implements agent.Adapter. It starts a second time after one particular
// failure: the first sessions on a fresh home of opencode race for the migration
// of its database (CLIENT.md, 4).
func (a *adapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	if err := checkOptions(o); err != nil {
		return nil, err
	}
	s, err := a.startSession(ctx, o)
	if errors.Is(err, errMigration) {
		s, err = a.startSession(ctx, o)
	}
	if errors.Is(err, errMigration) {
		err = newError(failure.Unknown, true, err.Error())
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func checkOptions(o agent.Options) error {
	switch o.Sandbox {
	case agent.ReadOnly, agent.WorkspaceWrite, agent.FullAccess:
	default:
		return newError(failure.BadRequest, false, fmt.Sprintf("unknown sandbox %q", o.Sandbox))
	}
	info, err := os.Stat(o.Dir)
	if err == nil && (!filepath.IsAbs(o.Dir) || !info.IsDir()) {
		err = fmt.Errorf("%q is not the absolute path of a directory", o.Dir)
	}
	if err != nil {
		return newError(failure.BadRequest, false, "working directory: "+err.Error())
	}
	return nil
}

func (a *adapter) startSession(ctx context.Context, o agent.Options) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var err error
	if o.Servers, err = a.Sandbox.AllServers(o, child.ParseEnviron(a.agentEnviron(o))["PATH"]); err != nil {
		return nil, err
	}
	in, err := a.enclose(o)
	if err != nil {
		return nil, err
	}
	s, err := a.spawnAgent(ctx, in, o)
	if err != nil {
		return nil, err
	}
	// After ctx the child is ended, so that not even a write to an agent that does
	// not read lasts longer.
	still := context.AfterFunc(ctx, s.child.End)
	offer, err := s.openSession(ctx, o)
	if !still() {
		err = ctx.Err()
	}
	if err != nil {
		return nil, s.abandonStart(err)
	}
	a.mu.Lock()
	a.offer = offer
	a.mu.Unlock()
	go s.watchEnd()
	return s, nil
}

// CheckOptions implements agent.OptionChecker. The agent says only in a session which modes it has.
func (a *adapter) CheckOptions(ctx context.Context, o agent.Options) error {
	if _, err := child.FindServers(o.Servers, child.ParseEnviron(a.agentEnviron(o))["PATH"]); err != nil || len(o.Dirs)+len(o.ReadDirs) == 0 {
		return err
	}
	if !a.Greeting.admitted() { // the start of the session finds out
		return nil
	}
	if m := a.Manifest(ctx); m.Installed && !slices.Contains(m.Capabilities.Options, setup.DirsOption) {
		return newError(failure.BadRequest, false, m.Label+" does not support further directories")
	}
	return nil
}

func (a *adapter) spawnAgent(ctx context.Context, in enclosed, o agent.Options) (*session, error) {
	c, err := child.Start(ctx, child.Spec{Argv: in.argv, Dir: o.Dir, Env: in.Env, Box: in.Box, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return newSession(c, o, a.Patience), nil
}
