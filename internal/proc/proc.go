// Package proc runs one program and ends it together with everything it started: when the program ends, when the deadline
// passes, when the context is canceled, and when we ourselves are killed.
//
// On Linux a process of package supervisor holds that promise, as any user and in any container: daemons that left the
// session and the process group included. It knows two exceptions: processes that belong to somebody else and that we may not kill (they
// are counted in [Result.Left]), and a program that kills its own supervisor first ([ErrLost]); against a hostile program a
// PID namespace is the answer. On other systems only the program's process group is ended, a descendant that leaves the
// group stays, and nothing ends when we are killed.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// DefaultGrace is the time between SIGTERM and SIGKILL where a Command does not say (docs/contracts/run.md, 12).
const DefaultGrace = 500 * time.Millisecond

// Command is one program to run.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is looked for in the PATH of Env, one with a relative
	// path from Dir on.
	Argv []string
	// Dir is the working directory; empty means ours.
	Dir string
	// Env is the whole environment as NAME=value; nothing is inherited, nil means none. See [Environ].
	Env []string
	// Stdin is what the program reads; nil means an empty input. A reader that is not a file is read until the program ends,
	// and a Read that is under way then is left alone.
	Stdin io.Reader
	// Stdout and Stderr get the output; nil discards it. Where both are the same pointer, the two streams share one pipe and
	// keep their order. A Write must return: Run waits for it.
	Stdout, Stderr io.Writer
	// Grace is the time between SIGTERM and SIGKILL; zero means DefaultGrace.
	Grace time.Duration
	// Started, unless nil, is told the process that ends last, once it runs: the program's supervisor where there is one.
	Started func(pid int)
}

// End says what ended a program.
type End string

// The ends. A program that ends by itself while it is being stopped still counts as stopped.
const (
	Exited   End = "exited"   // by itself, or by a signal that was not ours
	Deadline End = "deadline" // the context's deadline passed
	Canceled End = "canceled" // the context was canceled
)

// Result is how a program ended.
type Result struct {
	ExitCode int    // -1 when a signal ended it
	Signal   string // that signal, such as SIGKILL; empty otherwise
	End      End
	Left     int // processes that could not be ended, because they belong to another user
}

// What callers tell apart in a [StartError], and the loss of a supervisor.
var (
	ErrNotFound      = errors.New("no such program")
	ErrNotExecutable = errors.New("not an executable program")
	// ErrLost means that a supervisor was killed or stopped, or did not end as it reported: nothing is known of the program,
	// and it may have done this itself.
	ErrLost = errors.New("its supervisor was lost")
)

// StartError says why a program never ran. It wraps [ErrNotFound] or [ErrNotExecutable] where it is one of these.
type StartError struct {
	Program string
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %s: %v", e.Program, e.Err) }

// Unwrap is the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Run runs c and returns when the program and all its descendants are gone. A program that failed, or that was ended because
// ctx was done, is a Result and no error. An error is a [StartError] when the program never ran, or wraps [ErrLost] when
// its end could not be learned; a second call runs the program again.
//
// When ctx is done the program has c.Grace to end after SIGTERM, and is killed then. Run returns as soon as all are gone,
// and seven seconds after the grace in any case, whoever cannot be killed or holds the output.
func Run(ctx context.Context, c Command) (Result, error) {
	if err := c.validate(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	path, err := lookPath(c.Argv[0], c.Dir, c.Env)
	if err != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	stdin, stop, err := feed(c.Stdin)
	if err != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	defer stop()
	return run(ctx, c, path, stdin)
}

func (c Command) validate() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return &StartError{Err: errors.New("no program named")}
	}
	hasNUL := func(s string) bool { return strings.ContainsRune(s, 0) }
	if slices.ContainsFunc(c.Argv, hasNUL) || slices.ContainsFunc(c.Env, hasNUL) {
		return &StartError{Program: c.Argv[0], Err: errors.New("a NUL byte in an argument or in the environment")}
	}
	if c.Dir == "" {
		return nil
	}
	info, err := os.Stat(c.Dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", c.Dir)
	}
	if err != nil {
		return &StartError{Program: c.Argv[0], Err: fmt.Errorf("working directory: %w", err)}
	}
	return nil
}

// feed makes a file for the program to read from. stop closes what is ours; it does not wait for a Read that hangs, which is
// why os/exec does not do this for us: its Wait would.
func feed(r io.Reader) (child *os.File, stop func(), err error) {
	switch file, isFile := r.(*os.File); {
	case r == nil:
		return nil, func() {}, nil
	case isFile:
		return file, func() {}, nil
	}
	child, ours, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("standard input: %w", err)
	}
	go func() {
		io.Copy(ours, r) // the program may stop reading whenever it likes
		ours.Close()
	}()
	return child, func() { child.Close(); ours.Close() }, nil
}

// endOf names why ctx is done.
func endOf(ctx context.Context) End {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Deadline
	}
	return Canceled
}
