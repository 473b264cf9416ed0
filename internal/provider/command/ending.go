package command

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// ending describes a program that has ended, or never ran.
type ending struct {
	program string
	result  proc.Result
	err     error         // of proc.Run; result is empty then
	flooded bool          // it printed more than MaxOutput
	timeout time.Duration // the limit that it had
	said    string        // its standard error, shortened
}

// classifyEnding returns the meaning of the ending for a retry (docs/contracts/run.md, 13); nil is
// success. The caller has ruled out that its own context ended the program.
func classifyEnding(e ending) *failure.Error {
	fail := func(code failure.Code, retriable bool, format string, args ...any) *failure.Error {
		message := fmt.Sprintf(format, args...)
		if e.said != "" {
			message += ": " + e.said
		}
		return &failure.Error{Code: code, Message: message, Retriable: retriable}
	}
	r := e.result
	unboxed, notBoxed := errors.AsType[*proc.BoxError](e.err)
	switch {
	case notBoxed:
		return fail(failure.BadRequest, false, "%v", unboxed)
	case errors.Is(e.err, proc.ErrNotFound):
		return fail(failure.BadRequest, false, "no program %s: install it where the worker runs, or name another", e.program)
	case errors.Is(e.err, proc.ErrNotExecutable):
		return fail(failure.BadRequest, false, "%v: make it executable, or name its interpreter first", e.err)
	case errors.Is(e.err, fs.ErrNotExist):
		return fail(failure.BadRequest, false, "%v", e.err)
	case e.flooded:
		return fail(failure.BadRequest, false, "%s printed more than %d bytes and was ended", e.program, MaxOutput)
	case e.err != nil: // no process could be started, or its supervisor was killed
		return fail(failure.Unknown, true, "%v", e.err)
	case r.End == proc.Deadline:
		return fail(failure.Timeout, true, "%s was ended after %v", e.program, e.timeout)
	case r.End != proc.Exited:
		return fail(failure.Unknown, true, "%s was ended", e.program)
	case r.Signal != "":
		return fail(failure.Unknown, true, "%s was killed by %s", e.program, r.Signal)
	case r.ExitCode != 0:
		return fail(failure.Unknown, true, "%s ended with exit code %d", e.program, r.ExitCode)
	}
	return nil
}
