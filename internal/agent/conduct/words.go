// Package conduct holds the rules for an agent's turns, also for turns that others began: which tool calls are
// allowed, the prompt after a turn was cut off, and the counting of usage.
package conduct

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ResumePrompt returns the message after a turn that was cut off. Until says what ends the turn. Decided
// is the decision on the permission that the turn waited for; nil if it waited for none.
func ResumePrompt(until string, decided *run.Permit) string {
	text := "You were cut off. Nothing is lost: the files are as you left them. Continue where you stopped, and " + until + "."
	switch {
	case decided == nil:
		return text
	case decided.Allow:
		return text + fmt.Sprintf("\n\nYour use of the tool %s is allowed: make the same call again.", decided.Tool)
	}
	return text + fmt.Sprintf("\n\nYour use of the tool %s is refused. Continue without it: %s", decided.Tool, decided.Reason)
}

// UsageOf returns the usage of the tokens. Its cost is not known.
func UsageOf(t agent.Tokens) run.Usage {
	t = t.Bounded()
	return run.Usage{InputTokens: t.Input, OutputTokens: t.Output, TotalTokens: t.Input + t.Output}
}

// ExitError returns the error of a turn in which the agent's process ended by itself.
func ExitError(e agent.Exit) error {
	return &failure.Error{Code: failure.Unknown, Message: "the agent ended in the middle of a turn " + HowEnded(e), Retriable: true}
}

// HowEnded says how a process ended, in brackets, and the end of its standard error.
func HowEnded(e agent.Exit) string {
	how := fmt.Sprintf("(exit code %d)", e.Code)
	if e.Signal != "" {
		how = "(" + e.Signal + ")"
	}
	if e.Stderr != "" {
		how += ": " + e.Stderr
	}
	return how
}
