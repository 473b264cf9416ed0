// Package proc runs one program and ends it together with everything it started: when the program
// ends, when the deadline passes, when the context is canceled, and when we ourselves are killed.
//
// On Linux a process of package supervisor keeps that promise, as any user and in any container. It
// also ends daemons that left the session and the process group. There are two exceptions.
// Processes that belong to another user and that we may not kill stay: [Result.Left] counts them. A
// program may kill its own supervisor first ([ErrLost]): use a PID namespace against a hostile
// program. On other systems Run ends only the program's process group, and package keeper ends it when
// we are killed. A descendant that leaves the group stays.
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

// DefaultGrace is the time between SIGTERM and SIGKILL of a Command without a Grace
// (docs/contracts/run.md, 12).
const DefaultGrace = 500 * time.Millisecond

// Command is one program to run.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is looked up in the PATH of
	// Env. A relative path starts at Dir.
	Argv []string
	// Dir is the working directory; empty means ours.
	Dir string
	// Env is the whole environment as NAME=value; nothing is inherited, nil means none. See [Environ].
	Env []string
	// Stdin is the input of the program; nil means an empty input. A reader that is not a file is
	// read until the program ends. Run does not wait for a Read that is in progress then.
	Stdin io.Reader
	// Stdout and Stderr receive the output; nil discards it. Where both are the same pointer, the
	// two streams share one pipe and keep their order. A Write must return: Run waits for it. Once a
	// Write fails, the program's writes fail too.
	Stdout, Stderr io.Writer
	// Grace is the time between SIGTERM and SIGKILL; zero means DefaultGrace.
	Grace time.Duration
	// Box is the boundary that the program runs inside of; nil means none. The files of Stdin, Stdout
	// and Stderr do not reach a program in a box: it gets pipes.
	Box Box
	// Started, unless nil, is called with the id of the process that ends last, once that process
	// runs: the program's supervisor where there is one.
	Started func(pid int)
}

// End is the reason why a program ended.
type End string

// The ends. A program that ends by itself while it is being stopped still counts as stopped.
const (
	Exited   End = "exited"   // by itself, or by a signal that was not ours
	Deadline End = "deadline" // the context's deadline passed
	Canceled End = "canceled" // the context was canceled
)

// Result describes the end of a program.
type Result struct {
	ExitCode int    // -1 when a signal ended it
	Signal   string // that signal, such as SIGKILL; empty otherwise
	End      End
	Left     int // processes that could not be ended, because they belong to another user
	// Cause names the limit of the box that the program ran into, such as "memory limit 2 GiB". It may
	// be set although the program exited with 0. It is empty where no limit was reached.
	Cause string
}

// The causes of a [StartError] that callers tell apart, and the loss of a supervisor.
var (
	ErrNotFound      = errors.New("no such program")
	ErrNotExecutable = errors.New("not an executable program")
	// ErrLost means that a supervisor was killed or stopped, or did not end as it reported. Nothing
	// is known of the program, and the program itself may have done this.
	ErrLost = errors.New("its supervisor was lost")
)

// StartError reports why a program never ran. It wraps [ErrNotFound] or [ErrNotExecutable] where
// one of these is the cause.
type StartError struct {
	Program string
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %s: %v", e.Program, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Run runs c and returns when the program and all its descendants are gone. A program that failed,
// or that was ended because ctx was done, is a Result and no error. The error is a [StartError]
// when the program never ran, a [BoxError] when its box could not be set up around it, and wraps
// [ErrLost] when its end could not be learned. A second call runs the program again.
//
// When ctx is done the program has c.Grace to end after SIGTERM, and is killed then. Run returns as
// soon as all processes are gone. It returns thirteen seconds after the grace in any case, even if a
// process cannot be killed or holds the output. The output is whole up to the end of the program.
func Run(ctx context.Context, c Command) (Result, error) {
	if err := c.validate(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	path, err := LookPath(c.Argv[0], c.Dir, c.Env)
	if err != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Box == nil {
		return runFed(ctx, c, path, nil)
	}
	c, inside, err := encloseCommand(c, path)
	if err != nil {
		return Result{}, err
	}
	defer inside.Close()
	return inside.judgeEnd(runFed(ctx, c, inside.Argv[0], inside.Enclosure))
}

// runFed runs the file at path with the input of c.
func runFed(ctx context.Context, c Command, path string, inside *Enclosure) (Result, error) {
	stdin, stop, err := feedFile(c.Stdin)
	if err != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	defer stop()
	return run(ctx, c, path, stdin, inside)
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

// feedFile returns a file for the program to read r from. stop closes our files and does not wait for a
// Read that hangs. The Wait of os/exec would wait for it, and feedFile replaces os/exec here for that
// reason.
func feedFile(r io.Reader) (child *os.File, stop func(), err error) {
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

// endOf returns the End for a ctx that is done.
func endOf(ctx context.Context) End {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Deadline
	}
	return Canceled
}
