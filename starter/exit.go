package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// Exit codes, as README.md lists them.
const (
	exitDone        = 0
	exitFailed      = 1 // failed or refused
	exitUsage       = 2
	exitApproval    = 3 // the run awaits approval
	exitInput       = 4 // the run awaits input
	exitCanceled    = 5
	exitUnreachable = 6 // the engine cannot be reached, or was lost
	exitInterrupted = 130
)

// usageError reports a command line that cannot be obeyed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// statusError ends a command with the exit code of the run's status. The command has already
// printed everything.
type statusError struct{ status run.Status }

func (e *statusError) Error() string { return "the run is " + string(e.status) }

// codeOf returns the exit code for the error of a command.
func codeOf(err error) int {
	if stands, ok := errors.AsType[*statusError](err); ok {
		return codeOfStatus(stands.status)
	}
	if child, ok := errors.AsType[*childError](err); ok {
		return child.code
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*temporalclient.Unreachable](err); ok || runs.Lost(err) {
		return exitUnreachable
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

func codeOfStatus(s run.Status) int {
	switch s {
	case run.Completed:
		return exitDone
	case run.AwaitingApproval:
		return exitApproval
	case run.AwaitingInput:
		return exitInput
	case run.Canceled:
		return exitCanceled
	}
	return exitFailed
}

// withDisk adds to the error of a lost engine that the engine's disk is full, when it is. With
// a full disk the engine answers nothing in time.
func (c *cli) withDisk(err error) error {
	if codeOf(err) != exitUnreachable {
		return err
	}
	f, unread := engine.ReadFile(c.runsDir)
	if unread != nil {
		return err
	}
	return engine.FullDisk(f.DB, err)
}

// complaintOf returns the error as one line for the user. It is empty for an error that needs no
// message.
func complaintOf(err error) string {
	if _, said := errors.AsType[*childError](err); said {
		return ""
	}
	if _, said := errors.AsType[*statusError](err); said || errors.Is(err, context.Canceled) {
		return ""
	}
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return "starter: " + display.Line(strings.Join(lines, "; "))
}
