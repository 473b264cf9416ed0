package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Box is a boundary around programs. Package box makes it.
type Box interface {
	// Enclose prepares one program inside the box. argv begins with the program's path, dir may be
	// empty, and env is the whole environment.
	Enclose(argv []string, dir string, env []string) (*Enclosure, error)
}

// Enclosure is a program that starts another one inside a box.
type Enclosure struct {
	Argv  []string   // begins with the path; its environment is empty
	Files []*os.File // its descriptors from 3 on
	Limits
	// Ended derives the end of the program inside from the exit code of Argv: the limit that it reached,
	// or an error when it never ran.
	Ended func(exitCode int) (cause string, err error)
	// Close releases what the enclosure holds. Nothing may run in it any more.
	Close func()
}

// Limits are what the kernel holds a program to. The zero value holds it to nothing.
type Limits struct {
	Group    *os.File      // the directory of a control group (version 2), or nil
	Tasks    [][2]*os.File // files tasks of control groups (version 1): the group to enter, and our own
	FileSize int64         // of each file that it writes, in bytes; zero means no limit
}

// BoxError reports that a box could not be set up around a program. The program did not run.
type BoxError struct {
	Program string
	Err     error
}

func (e *BoxError) Error() string { return fmt.Sprintf("sandbox of %s: %v", e.Program, e.Err) }

// Unwrap returns the cause.
func (e *BoxError) Unwrap() error { return e.Err }

// maxSetupText bounds what an enclosure says when it cannot start the program, in bytes.
const maxSetupText = 1 << 10

// boxed is a command in its enclosure.
type boxed struct {
	*Enclosure
	program string    // as the command names it
	said    *HeadTail // standard error, to which the enclosure writes too
}

// encloseCommand puts the program at path into the command's box. The command that it returns starts the
// enclosure.
func encloseCommand(c Command, path string) (Command, *boxed, error) {
	inside, err := c.Box.Enclose(append([]string{path}, c.Argv[1:]...), c.Dir, c.Env)
	if err != nil {
		return c, nil, &BoxError{Program: c.Argv[0], Err: err}
	}
	b := &boxed{Enclosure: inside, program: c.Argv[0], said: NewHeadTail(maxSetupText, 0)}
	c.Argv, c.Env = inside.Argv, []string{}
	if c.Stdin != nil {
		c.Stdin = struct{ io.Reader }{c.Stdin}
	}
	shared := c.sharesOutput()
	c.Stderr = &alsoTo{w: c.Stderr, kept: b.said}
	if shared {
		c.Stdout = c.Stderr
	} else if c.Stdout != nil {
		c.Stdout = struct{ io.Writer }{c.Stdout}
	}
	return c, b, nil
}

// judgeEnd returns the end of the program inside by the end of its enclosure.
func (b *boxed) judgeEnd(r Result, err error) (Result, error) {
	if startErr, ok := errors.AsType[*StartError](err); ok {
		return r, &BoxError{Program: b.program, Err: startErr.Err}
	}
	if err != nil {
		return r, err
	}
	cause, ended := b.Ended(r.ExitCode)
	switch {
	case r.End != Exited:
	case r.Signal != "" && cause == "":
		ended = fmt.Errorf("%s was ended by %s", b.Argv[0], r.Signal)
	case r.Signal == "" && ended != nil:
		if text := strings.TrimSpace(b.said.String()); text != "" {
			ended = fmt.Errorf("%w: %s", ended, text)
		}
	default:
		ended = nil
	}
	if r.End == Exited && ended != nil {
		return Result{}, &BoxError{Program: b.program, Err: ended}
	}
	r.Cause = cause
	return signalled(r), nil
}

// alsoTo writes to w, which may be nil, and keeps the beginning.
type alsoTo struct {
	w    io.Writer
	kept *HeadTail
}

func (a *alsoTo) Write(p []byte) (int, error) {
	a.kept.Write(p)
	if a.w == nil {
		return len(p), nil
	}
	return a.w.Write(p)
}
