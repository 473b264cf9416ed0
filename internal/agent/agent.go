// Package agent is the seam to coding agents that keep sessions of their own:
// Claude Code, Codex, ACP agents, an OpenClaw gateway. An [Adapter] starts a
// [Session] or goes on with one; a session takes one turn at a time and tells
// what happens as a stream of typed events. The package decides nothing and
// stores nothing: who may use which tool, and what is kept for a resume, is up
// to the caller. The adapters are its sub-packages; package agenttest holds
// what each of them must pass.
package agent

import (
	"context"
	"errors"
	"io"
)

// Kind names an adapter, as provider specs and records do.
type Kind string

// The kinds.
const (
	Claude   Kind = "claude"
	Codex    Kind = "codex"
	ACP      Kind = "acp"
	OpenClaw Kind = "openclaw"
	Pi       Kind = "pi"
)

// Adapter is one way to talk to agents. It is safe for concurrent use.
type Adapter interface {
	Kind() Kind

	// Start begins a session, or goes on with one, and returns once the agent
	// takes input. Ctx bounds the start alone: the session lives until Stop, or
	// until its process ends. A start that fails leaves no process behind.
	//
	// The error is ErrNoSession when o.Resume names a session that the agent does
	// not know, ErrUnavailable when there is no agent to start, a
	// *provider.Error for what the agent said, and ctx.Err() when ctx ended first.
	// A client that learns only from the first turn whether the session is known
	// reports ErrNoSession in that turn instead.
	Start(ctx context.Context, o Options) (Session, error)

	// Manifest says what is there. It never fails: what keeps the agent from
	// working is in the manifest. It returns when ctx ends, at the latest.
	Manifest(ctx context.Context) Manifest
}

// Prober is an adapter whose client keeps account of its sessions that run,
// whoever started them.
type Prober interface {
	Adapter

	// Running says whether a process holds the session of that id. It disturbs
	// none. An error says that nobody can tell, and neither answer follows from
	// it: an older client keeps no such account, for one.
	Running(id string) (bool, error)
}

// Steerer is a session whose agent takes messages into the turn under way.
type Steerer interface {
	Session

	// Steer gives the turn under way another user message, which the agent takes
	// up before the turn ends. ErrNoTurn when none is under way: the message was
	// not taken, and neither was it after any other error but that of ctx.
	Steer(ctx context.Context, text string) error
}

// Session is one conversation with an agent. Its methods may be called from
// several goroutines.
type Session interface {
	// ID is the agent's own id of the session, by which it is resumed; empty
	// until it is known. It may change: the last Started event counts.
	ID() string

	// PID is the process that ends when the session does; zero when there is
	// none of ours, as with a gateway.
	PID() int

	// Alive says whether the session takes input: its process runs, is not being
	// ended, and reads.
	Alive() bool

	// Events are what happens, in order. The channel never blocks the agent, and
	// is closed after the last event: an Exit when the process ended by itself,
	// whatever there was when Stop ended it.
	Events() <-chan Event

	// Send begins a turn with a user message. ErrBusy while one is under way,
	// ErrGone when the session no longer takes input. What goes wrong later is
	// in the Turn event that ends the turn.
	Send(ctx context.Context, text string) error

	// Decide answers a permission request. ErrNotPending when none is pending
	// under the id: it was answered, withdrawn, or never asked.
	Decide(ctx context.Context, d Decision) error

	// Interrupt ends the turn under way, whose Turn event then says Interrupted.
	// Without one it does nothing.
	Interrupt(ctx context.Context) error

	// Stop ends the session's process and all that it started, and returns when
	// they are gone: in good order while ctx lasts, by force afterwards. The
	// session can be resumed. A second Stop does nothing.
	Stop(ctx context.Context) error
}

// What callers branch on.
var (
	ErrNoSession   = errors.New("the agent knows no such session")
	ErrUnavailable = errors.New("the agent is not available")
	ErrBusy        = errors.New("a turn is under way")
	ErrGone        = errors.New("the session has ended")
	ErrNotPending  = errors.New("no permission request is pending under that id")
	ErrNoTurn      = errors.New("no turn is under way")
)

// Sandbox is how far the agent's tools may reach. Adapters map it to what
// their agent has; Manifest says how strong that is.
type Sandbox string

// The sandboxes. The zero Sandbox is refused.
const (
	ReadOnly       Sandbox = "read-only"
	WorkspaceWrite Sandbox = "workspace-write"
	FullAccess     Sandbox = "full-access"
)

// Choice is what can be chosen for a session and overridden for one start of
// it: empty members leave it to the agent.
type Choice struct {
	Model string `json:"model,omitempty"`
	Mode  string `json:"mode,omitempty"` // an id of the agent's manifest
}

// Over returns c with what it leaves empty taken from below.
func (c Choice) Over(below Choice) Choice {
	if c.Model == "" {
		c.Model = below.Model
	}
	if c.Mode == "" {
		c.Mode = below.Mode
	}
	return c
}

// Options say how a session runs. Members that an agent has no counterpart for
// are ignored, except Dir and Sandbox.
type Options struct {
	// Dir is the working directory, absolute. A missing one is refused.
	Dir string
	// Resume is the id of a session to go on with; empty begins a new one.
	Resume string
	// Sticky is the choice of the session, Override that of this start alone:
	// it wins field by field. See Choice.
	Sticky, Override Choice

	Sandbox Sandbox
	// Network lets the agent's tools reach the network, where the agent can
	// tell the difference.
	Network bool

	System    string   // joins the agent's system prompt
	Dirs      []string // further directories that it may use
	Tools     []string // tools that need no permission, in the agent's own words
	NoTools   []string // tools that it may not use
	MCPConfig string   // file with MCP servers, in the form that the agent takes
	// UserServers lets the session have the MCP servers of the user's own
	// configuration as well. They may do in the user's name what no sandbox of
	// the session bounds.
	UserServers bool

	// MaxOutputTokens bounds one answer of the model; zero is the agent's own
	// bound. See Ladder.
	MaxOutputTokens int
	// Env are further variables, NAME=value, which win over the adapter's own.
	Env []string
	// Log gets what the agent writes to its standard error; nil discards it.
	Log io.Writer
}

// Choice is what counts for this start.
func (o Options) Choice() Choice { return o.Override.Over(o.Sticky) }
