// Package acp is the adapter to agents that speak the Agent Client Protocol on
// their standard input and output: opencode, Gemini CLI, the bridges to Claude
// Code and to Codex, and others (docs/contracts/acp.md, 1 to 4).
//
// The protocol has no reason for a denial, no bound on answers, and no reliable
// name of a tool: where an agent gives none, the kind of the call is its name,
// such as execute or edit. The adapter lends an agent neither files nor
// terminals. What comes in is read leniently, member by member, because agents
// send more than the schema has, and less.
//
// An agent decides by itself what it asks about, and nothing else is in the
// adapter's hands: the tools that Options name count where it asks, and the
// sandbox is soft. Where the adapter knows how, it has the agent ask about all
// that changes something, whatever the settings of the repository say.
package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// DefaultPatience is how long an interrupted turn has to end. Agents took less
// than half a second (docs/contracts/acp.md, 2.2).
const DefaultPatience = 15 * time.Second

// Config says which agent to run.
type Config struct {
	// Argv is the agent's program and its arguments. A relative path of the
	// program counts from our own working directory.
	Argv []string
	// Environ is our own environment. Of it the agent sees what every program
	// needs, the variables of the agents that we know, and what Allow names.
	Environ []string
	Allow   []string
	// Patience is how long an interrupted turn has to end before the agent is
	// ended in its place; zero means DefaultPatience.
	Patience time.Duration
}

type adapter struct {
	Config

	mu    sync.Mutex
	met   *introduction // the last; nil before the first
	offer offer         // of the last session that was started
}

// New makes the adapter of one agent.
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

func (*adapter) Kind() agent.Kind { return agent.ACP }

// Start implements agent.Adapter. One failure is met with a second start: the
// first sessions on one fresh home of opencode race for the migration of its
// database (docs/contracts/acp.md, 4).
func (a *adapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	if err := check(o); err != nil {
		return nil, err
	}
	s, err := a.start(ctx, o)
	if errors.Is(err, errMigration) {
		s, err = a.start(ctx, o)
	}
	if errors.Is(err, errMigration) {
		err = failure(provider.Unknown, true, err.Error())
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func check(o agent.Options) error {
	switch o.Sandbox {
	case agent.ReadOnly, agent.WorkspaceWrite, agent.FullAccess:
	default:
		return failure(provider.BadRequest, false, fmt.Sprintf("no sandbox %q", o.Sandbox))
	}
	info, err := os.Stat(o.Dir)
	if err == nil && (!filepath.IsAbs(o.Dir) || !info.IsDir()) {
		err = fmt.Errorf("%q is no absolute path of a directory", o.Dir)
	}
	if err != nil {
		return failure(provider.BadRequest, false, "working directory: "+err.Error())
	}
	return nil
}

func (a *adapter) start(ctx context.Context, o agent.Options) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := a.spawn(ctx, o)
	if err != nil {
		return nil, err
	}
	// Not even a write to an agent that does not read outlasts ctx.
	still := context.AfterFunc(ctx, s.child.End)
	offer, err := s.begin(ctx, o)
	if !still() {
		err = ctx.Err()
	}
	if err != nil {
		return nil, s.abandon(err)
	}
	a.mu.Lock()
	a.offer = offer
	a.mu.Unlock()
	go s.watch()
	return s, nil
}

func (a *adapter) spawn(ctx context.Context, o agent.Options) (*session, error) {
	c, err := child.Start(ctx, child.Spec{Argv: a.Argv, Dir: o.Dir, Env: a.environ(o), Log: o.Log})
	if err != nil {
		return nil, err
	}
	return newSession(c, o, a.Patience), nil
}
