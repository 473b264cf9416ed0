package agent

import (
	"encoding/json"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Event is the closed sum of what a session tells.
type Event interface{ event() }

// The events.
type (
	// Started says that the agent has named the session, as early as it does.
	// It is told again when the id changes.
	Started struct {
		SessionID string
		Resumed   bool
	}

	// Text is a piece of what the assistant says. The pieces of a turn add up
	// to the whole without repetition.
	Text struct{ Text string }

	// ToolUse is a tool call, told once: when its input is whole, or when a
	// permission is asked for it.
	ToolUse struct {
		CallID string
		Tool   string // in the agent's words: Bash, shell, apply_patch
		Input  json.RawMessage
	}

	// ToolResult is what a tool gave. A denied call has one too.
	ToolResult struct {
		CallID string
		Output string
		Error  bool
	}

	// Permission is a tool call that waits for a Decision.
	Permission struct {
		CallID string
		Tool   string
		Input  json.RawMessage
		// Title is the call in one line, where the agent has one.
		Title string
		// Reason is why it asks; Dir is where the tool would run.
		Reason, Dir string
		// Paths are the files that it would touch, where that is known; Edit says
		// that to change them is all it does.
		Paths []string
		Edit  bool
	}

	// Withdrawn says that a permission request no longer waits: the turn ended,
	// or the agent took it back.
	Withdrawn struct{ CallID string }

	// Usage is what the turn has used so far; see Turn for the final figures.
	Usage struct {
		Tokens  Tokens
		Context Context
	}

	// Budget warns that the context nears the limit past which the agent has no
	// room for an answer. Step is the rung of Ladder for the next start.
	Budget struct {
		Used, Warn, Hard int
		MaxOutput, Step  int
	}

	// Turn ends a turn. Exactly one comes for each Send that returned nil, unless
	// the process ended first: then Exit takes its place.
	Turn struct {
		Status TurnStatus
		// Text is the assistant's last message of the turn, whole.
		Text   string
		Tokens Tokens
		// Cost is the price of this turn as the agent reckons it; nil: not known.
		Cost    *run.Micros
		Took    time.Duration
		Context Context
		// Err says why a failed turn failed: a *provider.Error, or ErrNoSession.
		Err error
	}

	// Notice is anything else that has a name: a retry, a compaction, a warning.
	// Stall says that nothing got ahead: who watches for progress does not
	// count it.
	Notice struct {
		Name  string
		Data  json.RawMessage
		Stall bool
	}

	// Raw is a frame that the adapter has no better event for. It is for
	// diagnosis: nothing may depend on one.
	Raw struct{ Frame json.RawMessage }

	// Exit says that the session's process ended by itself, or by somebody
	// else's hand: never after Stop.
	Exit struct {
		Code   int // -1 when a signal ended it
		Signal string
		Stderr string // its end
	}
)

func (Started) event()    {}
func (Text) event()       {}
func (ToolUse) event()    {}
func (ToolResult) event() {}
func (Permission) event() {}
func (Withdrawn) event()  {}
func (Usage) event()      {}
func (Budget) event()     {}
func (Turn) event()       {}
func (Notice) event()     {}
func (Raw) event()        {}
func (Exit) event()       {}

// TurnStatus says how a turn ended.
type TurnStatus string

// The ways in which a turn ends. Aborting a permission request interrupts.
const (
	Completed   TurnStatus = "completed"
	Interrupted TurnStatus = "interrupted"
	Failed      TurnStatus = "failed"
)

// Tokens are the tokens of a turn. Input counts all of it: Cached is the part
// of Input that was read from a cache.
type Tokens struct {
	Input, Output, Cached int64
}

// Context says how full the model's window is; zero members are not known.
type Context struct {
	Used, Total int
}

// Verdict answers a permission request.
type Verdict string

// The verdicts. AllowSession allows later calls of the same kind as well where
// the agent keeps that within the session; elsewhere it is Allow. Abort denies
// and ends the turn.
const (
	Allow        Verdict = "allow"
	AllowSession Verdict = "allow_session"
	Deny         Verdict = "deny"
	Abort        Verdict = "abort"
)

// Decision settles one permission request.
type Decision struct {
	CallID  string
	Verdict Verdict
	Reason  string // told to the model where the agent can
}
