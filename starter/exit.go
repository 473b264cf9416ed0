package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

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

// numberError matches what the parser of a flag says of a text that is no number, or no duration.
var numberError = regexp.MustCompile(`: (?:strconv\.\w+: parsing .*|time: .*)$`)

// explainUsage names the fault of a command line that cobra does not understand, and the remedy.
func explainUsage(root, at *cobra.Command, args []string, err error) error {
	text := err.Error()
	if found := numberError.FindString(text); found != "" {
		want := "want a whole number"
		switch {
		case strings.HasPrefix(found, ": time:"):
			want = "want a time such as 90s, 10m or 2h"
		case strings.Contains(found, "ParseFloat"):
			want = "want a number"
		case strings.Contains(found, "ParseBool"):
			want = "want true or false"
		}
		text = strings.TrimSuffix(text, found) + ": " + want
	}
	if strings.HasPrefix(text, "unknown command") && at == root && len(args) > 0 {
		root.SuggestionsMinimumDistance = min(2, len(args[0])/2) // to half of a short word everything is near
		if names := root.SuggestionsFor(args[0]); len(names) > 0 {
			text += ", did you mean " + strings.Join(names, " or ") + "?"
			return usageErrorf("%s See `%s --help`", text, at.CommandPath())
		}
	}
	return usageErrorf("%s: see `%s --help`", text, at.CommandPath())
}

// complaintOf returns the error as one line for the user. It is empty for an error that needs no
// message.
func complaintOf(err error) string {
	if err == nil {
		return ""
	}
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
