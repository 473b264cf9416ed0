// Package pi is the adapter to pi: one process in its RPC mode a session, and
// JSON lines on its standard input and output (docs/contracts/pi.md, 1 to 4; docs/contracts/dispatch.md, 10). Pi asks for nothing by itself: an
// extension of ours, the gate, has every call of a tool wait for our word, and
// no session in which calls are to be asked about starts without it. That is
// all the sandbox there is. A call that was let through reaches whatever the
// user does, and the network.
//
// Of the options, Mode, Network, MCPConfig and MaxOutputTokens have no
// counterpart. A Model is a pattern as pi's own flag takes it, best
// provider/id; without one a fresh session gets pi's default, and one that is
// resumed goes on with the model that it has, or not at all.
package pi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// Config says which pi to run, what it may see of our environment, and what
// it loads.
type Config struct {
	// Argv is the program and its leading arguments: a script after its
	// interpreter, or flags of the user's extensions. A program without a slash is looked for on the PATH of
	// Environ; empty means pi.
	Argv []string
	// Environ is our own environment, NAME=value. Of it pi sees a small part
	// (see environ) and the variables that Allow names: the credentials of a
	// cloud that serves the model, for one.
	Environ []string
	Allow   []string
	Trust   Trust
}

// Trust says whose extensions, skills, prompt templates and settings pi loads.
// An extension is a program that runs unasked, with all rights. What AGENTS.md
// and CLAUDE.md say is heard in any case: it is only text.
type Trust string

// The degrees of trust. With the zero Trust pi loads nothing but the gate and
// the user's own settings: that is for an agent that works by itself in a
// repository of anybody's. The others are for a session of the user's own,
// which may not work without the user's extensions.
const (
	TrustNobody  Trust = ""
	TrustUser    Trust = "user"    // what the user has installed, and a project's where the user has decided so before
	TrustProject Trust = "project" // what the user has installed, and the project's
)

type adapter struct {
	Config

	manifests child.Manifests
}

// New makes the adapter. It starts nothing.
func New(c Config) agent.Adapter {
	return &adapter{Config: c}
}

func (*adapter) Kind() agent.Kind { return agent.Pi }

func (a *adapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := a.start(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.greet(ctx); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

// start runs pi, which does not take input yet.
func (a *adapter) start(ctx context.Context, o agent.Options, extra ...string) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	argv, err := a.program()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	if err := refuse(a.Trust, o); err != nil {
		return nil, err
	}
	files, err := lend(o)
	if err != nil {
		return nil, err
	}
	argv = append(append(argv, a.Trust.arguments(o, files)...), extra...)
	c, err := child.Start(ctx, child.Spec{Argv: argv, Dir: o.Dir, Env: a.environ(o), Log: o.Log})
	if err != nil {
		files.remove()
		return nil, err
	}
	return newSession(c, o, files), nil
}

// sessionID is what pi takes for the id of a session.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// refuse says what keeps any pi from working with o.
func refuse(t Trust, o agent.Options) error {
	if t != TrustNobody && t != TrustUser && t != TrustProject {
		return bad("no trust %q", t)
	}
	if o.Sandbox != agent.ReadOnly && o.Sandbox != agent.WorkspaceWrite && o.Sandbox != agent.FullAccess {
		return bad("no sandbox %q", o.Sandbox)
	}
	if !filepath.IsAbs(o.Dir) {
		return bad("the working directory %q is not absolute", o.Dir)
	}
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		return bad("there is no working directory %s", o.Dir)
	}
	if o.Resume != "" && !sessionID.MatchString(o.Resume) {
		return agent.ErrNoSession
	}
	return nil
}

func bad(format string, args ...any) *provider.Error {
	return failed(provider.BadRequest, false, format, args...)
}
