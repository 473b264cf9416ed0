// Package pi is the adapter to pi. A session is one process in its RPC mode, with
// JSON lines on its standard input and output (CLIENT.md, 1 to 4;
// docs/contracts/dispatch.md, 10). Pi itself asks for no permission. An extension
// of ours, the gate, makes every call of a tool wait for our answer, and no
// session whose calls need a permission starts without it. That is the only
// sandbox. A call that was allowed reaches everything that the user reaches, and
// the network.
//
// The options Mode, Network, Servers and MaxOutputTokens have no counterpart. A
// Model is a pattern in the form of pi's own flag, best provider/id. Without one,
// a new session gets pi's default, and a resumed session keeps its model or does
// not start.
package pi

import (
	"context"
	"fmt"
	"regexp"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Config says which pi to run, which of our variables it sees, and which
// extensions it loads.
type Config struct {
	// Argv is the program and its leading arguments: a script after its
	// interpreter, or flags of the user's extensions. A program without a slash is
	// searched for on the PATH of Environ; empty means pi.
	Argv []string
	// Environ is our own environment, NAME=value. Pi sees a small part of it (see
	// piEnviron) and the variables that Allow names, such as the credentials of a
	// cloud that serves the model.
	Environ []string
	Allow   []string
	Trust   Trust
	// Sandbox is the boundary around pi.
	Sandbox child.Sandbox
}

// Trust says whose extensions, skills, prompt templates and settings pi loads. An
// extension is a program that runs without a permission, with all rights. AGENTS.md
// and CLAUDE.md are always read, because they are only text.
type Trust string

// The degrees of trust. With the zero Trust pi loads nothing but the gate and the
// user's own settings: that is for an agent that works by itself in a repository
// of any origin. The others are for the user's own sessions, which may not work
// without the user's extensions.
const (
	TrustNobody  Trust = ""
	TrustUser    Trust = "user"    // the user's installation, and a project's if the user has decided so before
	TrustProject Trust = "project" // the user's installation, and the project's
)

type adapter struct {
	Config

	manifests child.Manifests
}

// New returns the adapter. It starts nothing.
func New(c Config) agent.Adapter {
	return &adapter{Config: c}
}

func (*adapter) Kind() agent.Kind { return setup.Pi }

func (a *adapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := a.startSession(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.checkState(ctx); err != nil {
		s.Abandon()
		return nil, err
	}
	return s, nil
}

// startSession runs pi, which does not take input yet.
func (a *adapter) startSession(ctx context.Context, o agent.Options, extra ...string) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	argv, err := a.findProgram()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	if err := checkOptions(a.Trust, o); err != nil {
		return nil, err
	}
	files, err := lendFiles(o)
	if err != nil {
		return nil, err
	}
	argv = append(append(argv, a.Trust.piArgs(o, files)...), extra...)
	enclosed, err := a.Sandbox.Enclose(clientNeeds(argv, a.piEnviron(o)), o)
	if err != nil {
		files.removeFiles()
		return nil, err
	}
	c, err := child.Start(ctx, child.Spec{Argv: argv, Dir: o.Dir, Env: enclosed.Env, Box: enclosed.Box, Log: o.Log})
	if err != nil {
		files.removeFiles()
		return nil, err
	}
	s := newSession(c, o, files)
	s.mu.Lock()
	s.trust, s.sandbox = a.Trust, a.Sandbox
	s.mu.Unlock()
	return s, nil
}

// sessionID matches the ids that pi accepts for a session.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// checkOptions returns an error if no pi can work with o.
func checkOptions(t Trust, o agent.Options) error {
	if t != TrustNobody && t != TrustUser && t != TrustProject {
		return badRequest("unknown trust %q", t)
	}
	if o.Sandbox != agent.ReadOnly && o.Sandbox != agent.WorkspaceWrite && o.Sandbox != agent.FullAccess {
		return badRequest("unknown sandbox %q", o.Sandbox)
	}
	if err := o.CheckDir(); err != nil {
		return err
	}
	if o.Resume != "" && !sessionID.MatchString(o.Resume) {
		return agent.ErrNoSession
	}
	return nil
}

func badRequest(format string, args ...any) *failure.Error {
	return newError(failure.BadRequest, false, format, args...)
}
