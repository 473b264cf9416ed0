package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/runs"
)

// The exit codes, as README.md lists them.
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

// usageError is a command line that cannot be obeyed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// statusError ends a command with the exit code of where the run stands. All
// there is to say has been said.
type statusError struct{ status run.Status }

func (e *statusError) Error() string { return "the run is " + string(e.status) }

// codeOf is the exit code of what a command ended in.
func codeOf(err error) int {
	if stands, ok := errors.AsType[*statusError](err); ok {
		return codeOfStatus(stands.status)
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

// withDisk adds to the loss of the engine that its disk is full, when it is: the
// engine then answers nothing in time.
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

// complaint is the one line that an error is shown as; empty for one that
// needs no words.
func complaint(err error) string {
	if _, said := errors.AsType[*statusError](err); said || errors.Is(err, context.Canceled) {
		return ""
	}
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return "starter: " + patch.Display(strings.Join(lines, "; "))
}
