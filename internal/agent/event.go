package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Event is an event of a session. The types below are all there are.
type Event interface{ isEvent() }

// The events.
type (
	// Started says that the agent has named the session. It comes as early as the
	// agent names it, and again when the id changes.
	Started struct {
		SessionID string
		Resumed   bool
	}

	// Text is a piece of the assistant's text. The pieces of a turn add up to the
	// whole without repetition.
	Text struct{ Text string }

	// ToolUse is a tool call. It comes once: when the call's input is whole, or
	// when a permission is asked for it.
	ToolUse struct {
		CallID string
		Tool   string // in the agent's words: Bash, shell, apply_patch
		Input  json.RawMessage
	}

	// ToolResult is the result of a tool call. A denied call has one too.
	ToolResult struct {
		CallID string
		Output string
		Error  bool
	}

	// Permission is a tool call that waits for a PermissionDecision.
	Permission struct {
		CallID string
		Tool   string
		Input  json.RawMessage
		// Title is the call in one line, if the agent gives one.
		Title string
		// Reason is the agent's reason to ask; Dir is the directory in which the
		// tool would run.
		Reason, Dir string
		// Paths are the files that the call would touch, if they are known. Edit
		// says that the call does nothing but change them.
		Paths []string
		Edit  bool
	}

	// Withdrawn says that a permission request no longer waits: the turn ended,
	// or the agent took it back.
	Withdrawn struct{ CallID string }

	// UsageUpdate holds the figures of the turn so far; Turn holds the final ones.
	UsageUpdate struct {
		Tokens  Tokens
		Context Context
	}

	// Budget warns that the context nears the limit past which the agent has no
	// room for an answer. Step is the rung for the next start; see AnswerTokens.
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
		// Cost is the price of this turn by the agent's account; nil means that it
		// is not known.
		Cost    *run.Micros
		Context Context
		// Err says why a failed turn failed: a *failure.Error, or ErrNoSession.
		Err error
	}

	// Notice is any other event that has a name: a retry, a compaction, a warning.
	// Stall says that the turn made no progress: a caller that watches for silence
	// must not count the notice as a sign of life.
	Notice struct {
		Name  string
		Data  json.RawMessage
		Stall bool
	}

	// Raw is a frame that the adapter has no better event for. It is for
	// diagnosis: nothing may depend on one.
	Raw struct{ Frame json.RawMessage }

	// Exit says that the session's process ended by itself, or that another
	// process ended it. It never comes after Stop.
	Exit struct {
		Code   int // -1 if a signal ended the process
		Signal string
		Stderr string // the end of its standard error
	}
)

func (Started) isEvent()     {}
func (Text) isEvent()        {}
func (ToolUse) isEvent()     {}
func (ToolResult) isEvent()  {}
func (Permission) isEvent()  {}
func (Withdrawn) isEvent()   {}
func (UsageUpdate) isEvent() {}
func (Budget) isEvent()      {}
func (Turn) isEvent()        {}
func (Notice) isEvent()      {}
func (Raw) isEvent()         {}
func (Exit) isEvent()        {}

// TurnStatus says how a turn ended.
type TurnStatus string

// The ways in which a turn ends. Aborting a permission request interrupts the
// turn.
const (
	Completed   TurnStatus = "completed"
	Interrupted TurnStatus = "interrupted"
	Failed      TurnStatus = "failed"
)

// Tokens counts the tokens of a turn. Input counts the whole input: Cached is
// the part of Input that was read from a cache.
type Tokens struct {
	Input, Output, Cached int64
}

// Context says how full the model's window is; a member is zero if it is not
// known.
type Context struct {
	Used, Total int
}

// PermissionVerdict allows or denies a tool call.
type PermissionVerdict string

// The verdicts. AllowSession also allows later calls of the same kind if the
// agent can keep that within the session; otherwise it is Allow. Abort denies
// and ends the turn.
const (
	Allow        PermissionVerdict = "allow"
	AllowSession PermissionVerdict = "allow_session"
	Deny         PermissionVerdict = "deny"
	Abort        PermissionVerdict = "abort"
)

// PermissionDecision answers one permission request.
type PermissionDecision struct {
	CallID  string
	Verdict PermissionVerdict
	Reason  string // passed to the model if the agent can
}

// Check returns the error of a decision that no session can take.
func (d PermissionDecision) Check(ctx context.Context) error {
	if !slices.Contains([]PermissionVerdict{Allow, AllowSession, Deny, Abort}, d.Verdict) {
		return fmt.Errorf("unknown verdict %q", d.Verdict)
	}
	return ctx.Err()
}
