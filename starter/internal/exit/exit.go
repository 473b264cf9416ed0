// Package exit holds the exit codes of the program, and the errors that choose one.
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Exit codes, as README.md lists them.
const (
	Done        = 0
	Failed      = 1 // failed or refused
	Usage       = 2
	Approval    = 3 // the run awaits approval
	Input       = 4 // the run awaits input
	Canceled    = 5
	Unreachable = 6 // the engine cannot be reached, or was lost
	Interrupted = 130
)

// StatusError ends a command with the exit code of the run's status. The command has already
// printed everything.
type StatusError struct{ Status run.Status }

func (e *StatusError) Error() string { return "the run is " + string(e.Status) }

// Code returns the exit code for the error of a command.
func Code(err error) int {
	if stands, ok := errors.AsType[*StatusError](err); ok {
		return codeOfStatus(stands.Status)
	}
	if child, ok := errors.AsType[*ChildError](err); ok {
		return child.Code
	}
	if _, ok := errors.AsType[*usage.Error](err); ok {
		return Usage
	}
	if _, ok := errors.AsType[*temporalclient.Unreachable](err); ok || runs.Lost(err) {
		return Unreachable
	}
	switch {
	case err == nil:
		return Done
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Failed
}

func codeOfStatus(s run.Status) int {
	switch s {
	case run.Completed:
		return Done
	case run.AwaitingApproval:
		return Approval
	case run.AwaitingInput:
		return Input
	case run.Canceled:
		return Canceled
	}
	return Failed
}

// Complaint returns the error as one line for the user. It is empty for an error that needs no
// message.
func Complaint(err error) string {
	if err == nil {
		return ""
	}
	if _, said := errors.AsType[*ChildError](err); said {
		return ""
	}
	if _, said := errors.AsType[*StatusError](err); said || errors.Is(err, context.Canceled) {
		return ""
	}
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return "starter: " + display.Line(strings.Join(lines, "; "))
}

// ChildError ends a command with the exit code of a child that has said why on the standard error.
type ChildError struct{ Code int }

func (e *ChildError) Error() string { return fmt.Sprintf("it ended with exit code %d", e.Code) }
