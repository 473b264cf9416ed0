package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// The errors that a caller can act on. An *Error matches at most one of them.
var (
	ErrMissing       = errors.New("git is not installed: install git " + Minimum + " or later")
	ErrTooOld        = errors.New("git is too old: install git " + Minimum + " or later")
	ErrNotRepository = errors.New("not a git repository")
	ErrRevision      = errors.New("no such revision")
	ErrObject        = errors.New("object is missing from the repository")
	ErrOutput        = errors.New("git wrote too much")
)

// Error reports a git that could not be run, did not end in time, or failed.
type Error struct {
	Command string // the name of git's command, such as update-ref
	Exit    int    // -1 when it did not end by itself
	Stderr  string // the start of its standard error, at most 4 KiB
	Err     error
}

func (e *Error) Error() string {
	if line := complaintOf(e.Stderr); line != "" {
		return fmt.Sprintf("git %s: %s", e.Command, line)
	}
	return fmt.Sprintf("git %s: %v", e.Command, e.Err)
}

// Unwrap returns the cause: one of the errors above, the context's error, or the way in which the
// process ended.
func (e *Error) Unwrap() error { return e.Err }

// complaintOf returns the first line of stderr that is not mere advice.
func complaintOf(stderr string) string {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, word := range []string{"fatal: ", "error: "} {
			if s, ok := strings.CutPrefix(line, word); ok {
				return s
			}
		}
	}
	return strings.TrimSpace(stderr)
}

func failedError(ctx context.Context, args []string, stderr string, cause error) error {
	e := &Error{Command: args[0], Exit: -1, Stderr: stderr, Err: cause}
	if exit, ok := errors.AsType[*exec.ExitError](cause); ok {
		e.Exit = exit.ExitCode()
	}
	switch {
	case errors.Is(cause, exec.ErrNotFound):
		e.Err = ErrMissing
	case ctx.Err() != nil:
		e.Err, e.Stderr = context.Cause(ctx), ""
	default:
		if kind := classifyComplaint(stderr); kind != nil {
			e.Err = kind
		}
	}
	return e
}

// classifyComplaint recognizes git's complaints by their words in the C locale. It returns nil for any
// other.
func classifyComplaint(stderr string) error {
	for _, c := range []struct {
		words string
		err   error
	}{
		{"not a git repository", ErrNotRepository},
		{"unknown revision", ErrRevision},
		{"Needed a single revision", ErrRevision},
		{"ambiguous argument", ErrRevision},
		{"bad object", ErrObject},
		{"unable to read sha1 file", ErrObject},
		{"unable to read tree", ErrObject},
		{"lazy fetching disabled", ErrObject},
		{"from promisor remote", ErrObject},
		{"loose object ", ErrObject}, // is corrupt
		{"object file ", ErrObject},  // is empty
		{"unable to unpack ", ErrObject},
		{"failed to unpack tree object", ErrObject},
		{"not a tree object", ErrObject},
		{"Could not read ", ErrObject},
	} {
		if strings.Contains(stderr, c.words) {
			return c.err
		}
	}
	return nil
}

// ExitCode returns the code that git ended with, and -1 when err is not the error of a git that
// ended by itself.
func ExitCode(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Exit
	}
	return -1
}
