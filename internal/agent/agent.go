// Package agent defines the interface to coding agents that keep sessions of
// their own: Claude Code, Codex, Pi, ACP agents and an OpenClaw gateway. An
// [Adapter] starts or resumes a [Session]. A session takes one turn at a time
// and reports it as a stream of typed events. The package decides nothing and
// stores nothing: the caller decides who may use which tool, and keeps what a
// resume needs. The adapters are its sub-packages; package agenttest holds the
// tests that each of them must pass.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Kind names an adapter in provider specs and records.
type Kind = setup.Kind

// Adapter is one way to talk to agents. It is safe for concurrent use.
type Adapter interface {
	Kind() Kind

	// Start begins or resumes a session, and returns once the agent takes input.
	// Ctx bounds the start alone: the session lives until Stop, or until its
	// process ends. A start that fails leaves no process behind.
	//
	// The error is ErrNoSession if the agent does not know the session that
	// o.Resume names, ErrUnavailable if there is no agent to start, a
	// *failure.Error for an error that the agent reported, and ctx.Err() if ctx
	// ended first. A client that learns only from the first turn whether the
	// session is known reports ErrNoSession in that turn instead.
	Start(ctx context.Context, o Options) (Session, error)

	// Manifest returns a description of the agent. It never fails: the manifest
	// says why an agent cannot work. Manifest returns no later than ctx ends.
	Manifest(ctx context.Context) Manifest
}

// Versioner is an adapter whose client is a program of this machine that says its
// version without beginning a session.
type Versioner interface {
	Adapter

	// Version returns the version of the client's program. The error says that there
	// is no program, or that it does not say its version while ctx lasts.
	Version(ctx context.Context) (string, error)
}

// Prober is an adapter whose client keeps a list of its running sessions,
// including sessions that it did not start for us.
type Prober interface {
	Adapter

	// Running reports whether a process holds the session with that id. It
	// disturbs no process. An error means that this cannot be known, and neither
	// answer follows from it: an older client, for one, keeps no such list. The error is ErrNoList if
	// no client that keeps one has ever run here.
	Running(id string) (bool, error)
}

// Modelled is a session whose client keeps the model that the session had last, and reports it: resumed without a choice,
// it continues with a model that was chosen for one start alone.
type Modelled interface {
	Session

	// Model returns the model in the form of Choice. It is empty if the client did not report it.
	Model() string
}

// Defaulted is a session whose client reports at its start by which model and mode it has the session without a choice,
// and resumes the session by those that it had last.
type Defaulted interface {
	Session

	// Default returns them in the form of Choice. For a new session they are the agent's own, whatever was chosen for the
	// start; for one that was resumed they are those that it had last. A member is empty if the client did not report it.
	Default() Choice
}

// Steerer is a session whose agent takes messages into the current turn.
type Steerer interface {
	Session

	// Steer gives the current turn another user message, which the agent reads
	// before the turn ends. It returns ErrNoTurn if no turn is in progress. After an
	// error the message was not taken, unless the error is ctx.Err().
	Steer(ctx context.Context, text string) error
}

// Session is one conversation with an agent. Its methods may be called from
// several goroutines.
type Session interface {
	// ID returns the agent's own id of the session, by which the session is
	// resumed; it is empty until it is known. It may change: the last Started
	// event counts.
	ID() string

	// PID returns the id of the process that ends when the session does. It is
	// zero if the session has no process of ours, as with a gateway.
	PID() int

	// Alive reports whether the session takes input: its process runs, is not
	// being ended, and reads.
	Alive() bool

	// Events returns the channel of the session's events, in order. The channel
	// never blocks the agent. It is closed after the last event: an Exit if the
	// process ended by itself, any event if Stop ended it.
	Events() <-chan Event

	// Send begins a turn with a user message. It returns ErrBusy while a turn is
	// in progress, and ErrGone if the session no longer takes input. Later errors
	// are in the Turn event that ends the turn.
	Send(ctx context.Context, text string) error

	// Decide answers a permission request. It returns ErrNotPending if no request
	// is pending under the id: it was answered, withdrawn, or never asked.
	Decide(ctx context.Context, d PermissionDecision) error

	// Interrupt ends the current turn, whose Turn event then says Interrupted.
	// Between turns it does nothing.
	Interrupt(ctx context.Context) error

	// Stop ends the session's process and all processes that it started, and
	// returns when they are gone. It ends them in good order while ctx lasts, and
	// by force afterwards. The session can be resumed. A second Stop does nothing.
	Stop(ctx context.Context) error
}

// The errors that callers branch on.
var (
	ErrNoSession   = errors.New("the agent does not know the session")
	ErrUnavailable = errors.New("the agent is not available")
	ErrBusy        = errors.New("a turn is in progress")
	ErrGone        = errors.New("the session has ended")
	ErrNotPending  = errors.New("no permission request is pending under that id")
	ErrNoTurn      = errors.New("no turn is in progress")
	ErrNoList      = errors.New("no client that lists its sessions has run here yet")
)

// Sandbox says how far the agent's tools may reach. Each adapter maps it to the
// means of its agent; Manifest says how strong they are.
type Sandbox string

// The sandboxes. The zero Sandbox is refused.
const (
	ReadOnly       Sandbox = "read-only"
	WorkspaceWrite Sandbox = "workspace-write"
	FullAccess     Sandbox = "full-access"
)

// Choice holds the settings that can be chosen for a session and overridden for one start of it.
type Choice = setup.Choice

// Options say how a session runs. An adapter ignores the members that its agent
// has no counterpart for, except Dir and Sandbox. A person's choice comes by
// AddSetup, after setup.Options.Validate has refused what does not reach the agent.
type Options struct {
	// Dir is the absolute path of the working directory. Start refuses a missing
	// directory.
	Dir string
	// Top is the top of the checkout that holds Dir, and Objects are directories outside of it that
	// git reads there. A box shows both. An empty Top means Dir.
	Top     string
	Objects []string
	// Home is a directory of the session's own. In a box, the client keeps there what a resume needs. If it is empty, that
	// ends with the process.
	Home string
	// Resume is the id of the session to resume; empty begins a new session.
	Resume string
	// Sticky is the choice for the session. Override is the choice for this start
	// alone, and wins field by field. See Choice.
	Sticky, Override Choice

	Sandbox Sandbox
	// Network lets the agent's tools reach the network, where the agent can
	// tell the difference.
	Network bool

	System   string   // joins the agent's system prompt
	Dirs     []string // further directories that it may change
	ReadDirs []string // further directories that it may only read
	Tools    []string // tools that need no permission, in the agent's own words
	NoTools  []string // tools that it may not use
	// Servers are MCP servers by name. The agent starts them; in a box, in its own.
	Servers map[string]setup.Server
	// Refused is called when the box refuses a target of the network for the first time; nil: no calls. It must not block.
	Refused func(target string)
	// Kit is what the agent's programs need in a box to build and to test.
	Kit Kit
	// Bridge is a server of ours for this session alone, which the agent has as one more MCP server; nil: none.
	Bridge *Bridge
	// UserServers lets the session have the MCP servers of the user's own
	// configuration as well. They may act in the user's name, and no sandbox of
	// the session bounds them.
	UserServers bool
	// NoMemory keeps what the client noted in earlier sessions out of this one. Each session of the user can write it.
	// Claude Code keeps it out of every session.
	NoMemory bool

	// MaxOutputTokens bounds one answer of the model; zero leaves the bound to the
	// agent. See AnswerTokens.
	MaxOutputTokens int
	// Env holds further variables, NAME=value, which win over the adapter's own.
	Env []string
	// Log gets the agent's standard error; nil discards it.
	Log io.Writer
}

// Bridge is a server that listens on a Unix socket. The agent starts a program that connects its standard input and
// output to the socket.
type Bridge struct {
	Name   string // of the MCP server
	Socket string // its path outside of a box
	// Tools are the names of its tools. The client asks no person about them: the server itself asks.
	Tools []string
}

// Choice returns the choice that counts for this start.
func (o Options) Choice() Choice { return o.Override.Over(o.Sticky) }

// CheckDir returns an error unless the directory of the options is an absolute path of a directory that exists.
func (o Options) CheckDir() error {
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() || !filepath.IsAbs(o.Dir) {
		return &failure.Error{Code: failure.BadRequest, Message: fmt.Sprintf("the working directory %q does not exist, or is not absolute", o.Dir)}
	}
	return nil
}
