// Package codex is the adapter to Codex. A session is one process of
// `codex app-server`, with JSON lines on its standard input and output, and no
// other client on the wire (CLIENT.md).
//
// A session's permissions are set at its start, again at each resume, and never
// by the repository in which it works: see thread.go. One turn runs at a time,
// because a turn that is started on a busy thread silently joins the running
// one; see turn.go.
package codex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Config says which client to run, and which of our variables it sees.
type Config struct {
	// Binary is the client's program: a path, or a name that is searched for on
	// the PATH of Environ; empty means codex.
	Binary string
	// Environ is our own environment, NAME=value. The client sees a small part of
	// it (see clientEnviron) and the variables that Allow names.
	Environ []string
	Allow   []string
	// Sandbox is the boundary around the client, in the place of the client's own.
	Sandbox child.Sandbox
}

// Resumed are the options for resuming a session of the user's own without a person. Every request that needs a person is
// denied. The session can do what the sandbox of Codex allows, including edits, and use the user's MCP servers.
var Resumed = agent.Options{Sandbox: agent.WorkspaceWrite, UserServers: true}

type adapter struct {
	Config

	manifests child.Manifests
}

// New returns the adapter. It starts nothing.
func New(c Config) agent.Adapter {
	return &adapter{Config: c}
}

func (*adapter) Kind() agent.Kind { return setup.Codex }

// handshakeLimit bounds the time in which one process opens its thread
// (CLIENT.md, 11). The client itself waits 15 s for a locked
// database.
const handshakeLimit = 30 * time.Second

// lockPauses are the pauses before the next client is started after one found
// its database locked (CLIENT.md, 11).
var lockPauses = []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}

func (a *adapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	binary, err := a.findBinary()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	if err := checkOptions(o); err != nil {
		return nil, err
	}
	if o.Servers, err = a.Sandbox.AllServers(o, child.ParseEnviron(a.clientEnviron(o.Env))["PATH"]); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		s, err := a.openSession(ctx, binary, o)
		if err == nil {
			return s, nil
		}
		if try == len(lockPauses) || !isDatabaseLocked(err) {
			return nil, err
		}
		select {
		case <-time.After(lockPauses[try]):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isDatabaseLocked reports whether a client did not start because another one
// held its database (CLIENT.md, 11).
func isDatabaseLocked(err error) bool {
	var e *failure.Error
	return errors.As(err, &e) &&
		(strings.Contains(e.Message, "database is locked") || strings.Contains(e.Message, "(code: 5)"))
}

// openSession starts one process and opens its thread.
func (a *adapter) openSession(ctx context.Context, binary string, o agent.Options) (*session, error) {
	env, scratch, err := a.scratchEnviron(o)
	if err != nil {
		return nil, err
	}
	o.Sandbox = sandboxOf(o) // the box holds what the mode has narrowed, too
	argv := []string{binary, "app-server", "-c", keepAnswers}
	enclosed, err := a.Sandbox.Enclose(clientNeeds(argv, env), o)
	if err != nil {
		os.RemoveAll(scratch)
		return nil, err
	}
	env = enclosed.Env
	c, err := child.Start(ctx, child.Spec{Argv: argv, Dir: o.Dir, Env: env, Box: enclosed.Box, Log: o.Log})
	if err != nil {
		os.RemoveAll(scratch)
		return nil, err
	}
	s := newSession(c, scratch)
	s.box, s.network = a.Sandbox, o.Network
	ctx, stop := context.WithTimeoutCause(ctx, handshakeLimit, errSlow)
	defer stop()
	if err := s.openThread(ctx, o, env); err != nil {
		s.Abandon()
		return nil, s.startError(ctx, err)
	}
	return s, nil
}

// scratchEnviron returns the environment of a session and a new directory for its
// temporary files: otherwise the sandbox would have to let tools write into the
// shared one. Dir is empty if the caller names a directory, and in a box, which has its own.
func (a *adapter) scratchEnviron(o agent.Options) (env []string, dir string, err error) {
	if a.Sandbox.Held() || child.ParseEnviron(o.Env)["TMPDIR"] != "" {
		return a.clientEnviron(o.Env), "", nil
	}
	dir, err = os.MkdirTemp(child.ParseEnviron(a.Environ)["TMPDIR"], "codex-")
	if err != nil {
		return nil, "", err
	}
	return a.clientEnviron(append([]string{"TMPDIR=" + dir}, o.Env...)), dir, nil
}

var errSlow = errors.New("codex did not start in time")

// startError returns the error of a start: the error of ctx if ctx ended it, and
// otherwise the error that the client reported.
func (s *session) startError(ctx context.Context, err error) error {
	var rpc *rpcError
	switch {
	case ctx.Err() != nil && context.Cause(ctx) == errSlow:
		return &failure.Error{Code: failure.Timeout, Message: errSlow.Error() + s.stderrTail(), Retriable: true}
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, agent.ErrGone):
		return s.exitError()
	case errors.As(err, &rpc):
		return refusalError(rpc)
	}
	return err
}

// exitError says how a client ended before it took input, or that it never ran.
func (s *session) exitError() error {
	exit, _ := s.Child.Exit()
	if exit.Code < 0 && exit.Signal == "" {
		return fmt.Errorf("%w: %s", agent.ErrUnavailable, exit.Stderr)
	}
	how := fmt.Sprintf("exit code %d", exit.Code)
	if exit.Signal != "" {
		how = exit.Signal
	}
	return &failure.Error{Code: failure.Unknown, Message: "codex ended at its start with " + how + s.stderrTail(), Retriable: true}
}

// stderrTail returns the end of the client's standard error as the end of a
// message.
func (s *session) stderrTail() string {
	const most = 800
	text := s.Child.Stderr()
	if text == "" {
		return ""
	}
	return ": " + strings.ToValidUTF8(text[max(len(text)-most, 0):], "")
}

// checkOptions returns an error if no client can work with o. The client itself
// would accept a directory that does not exist.
func checkOptions(o agent.Options) error {
	if err := o.CheckDir(); err != nil {
		return err
	}
	if sandboxModes[o.Sandbox] == "" {
		return badRequest("unknown sandbox %q", o.Sandbox)
	}
	return checkMode(o)
}

// CheckOptions implements agent.OptionChecker.
func (a *adapter) CheckOptions(_ context.Context, o agent.Options) error {
	if _, err := child.FindServers(o.Servers, child.ParseEnviron(a.clientEnviron(o.Env))["PATH"]); err != nil {
		return err
	}
	return checkMode(o)
}

func badRequest(format string, args ...any) *failure.Error {
	return &failure.Error{Code: failure.BadRequest, Message: fmt.Sprintf(format, args...)}
}
