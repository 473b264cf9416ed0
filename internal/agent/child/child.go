// Package child runs the program of an agent. The program's standard input and
// output are the session's wire; its standard error is kept to explain why it
// ended. The program and all processes that it started end together, on every
// path (package proc).
package child

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// MaxLine bounds one line of a wire, in bytes. Lines of hundreds of kilobytes
// are usual.
const MaxLine = 64 << 20

// keptStderr bounds the end of standard error that is kept.
const keptStderr = 8 << 10

// ErrLine is the error of a line that is longer than MaxLine.
var ErrLine = fmt.Errorf("a line of more than %d bytes", MaxLine)

// Spec describes a program to run.
type Spec struct {
	Argv []string
	Dir  string
	Env  []string // the whole environment: nothing is inherited
	// Log gets the program's standard error as it comes; nil discards it.
	Log io.Writer
	// Box is the boundary around the program; nil is none.
	Box proc.Box
	// Grace is the time between SIGTERM and SIGKILL; zero means the default of proc.
	Grace time.Duration
}

// Child is a running program.
type Child struct {
	in     *os.File
	out    *os.File
	lines  *bufio.Reader
	pid    int
	stderr *proc.HeadTail
	grace  time.Duration
	cancel context.CancelFunc
	done   chan struct{}
	unread *agent.Queue  // see Pace
	enough chan struct{} // closed when the end of the program is expected

	writing sync.Mutex // one line at a time
	mu      sync.Mutex
	ended   bool // we ended the program
	closed  bool // its standard input is closed
	result  proc.Result
	err     error
}

// Start runs the program. The end of ctx does not end it; End does. The error is
// agent.ErrUnavailable if the program cannot run.
func Start(ctx context.Context, s Spec) (*Child, error) {
	inR, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		in.Close()
		return nil, err
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Child{
		in: in, out: out, lines: bufio.NewReaderSize(out, 64<<10), cancel: end, grace: cmp.Or(s.Grace, proc.DefaultGrace),
		stderr: proc.NewHeadTail(0, keptStderr), done: make(chan struct{}), enough: make(chan struct{}),
	}
	var stderr io.Writer = c.stderr
	if s.Log != nil {
		stderr = io.MultiWriter(c.stderr, s.Log)
	}
	started := make(chan int, 1)
	go func() {
		defer close(c.done)
		result, err := proc.Run(ctx, proc.Command{
			Argv: s.Argv, Dir: s.Dir, Env: s.Env, Stdin: inR, Stdout: outW, Stderr: stderr, Grace: s.Grace, Box: s.Box,
			Started: func(pid int) { started <- pid },
		})
		inR.Close()
		outW.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.result, c.err = result, err
	}()
	select {
	case c.pid = <-started:
		return c, nil
	case <-c.done:
		c.closePipes()
		return nil, fmt.Errorf("%w: %w", agent.ErrUnavailable, c.err)
	}
}

// PID returns the id of the process that ends last; see proc.Command.
func (c *Child) PID() int { return c.pid }

// Done returns a channel that is closed when the program and all processes that
// it started have ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Alive reports whether the program runs, is not being ended, and reads.
func (c *Child) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return false
	default:
		return !c.ended && !c.closed
	}
}

// Stdin returns the program's standard input, for wires that frame by themselves.
func (c *Child) Stdin() io.WriteCloser { return stdin{c} }

// WriteLine writes one line. It returns agent.ErrGone if the program has ended.
func (c *Child) WriteLine(line []byte) error {
	_, err := stdin{c}.Write(append(bytes.TrimSuffix(line, []byte("\n")), '\n'))
	return err
}

// SendLine is WriteLine for as long as ctx lasts, because a program that does not
// read could block it. A line that the end of ctx cut off in the middle has
// broken the wire: the input is closed then.
func (c *Child) SendLine(ctx context.Context, line []byte) error {
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.in.SetWriteDeadline(time.Now())
		close(late)
	})
	err := c.WriteLine(line)
	if stop() {
		return err
	}
	<-late // else it would be set after it is taken back, and no later line could be written
	c.in.SetWriteDeadline(time.Time{})
	if err != nil {
		c.CloseStdin()
		return ctx.Err()
	}
	return nil
}

// Pace makes ReadLine wait while the queue has no room for events, unless the program is to end. A program that writes
// faster than its events are read then waits. Call it before the first ReadLine.
func (c *Child) Pace(q *agent.Queue) { c.unread = q }

// ReadLine returns the next line without its end. It skips blank lines. It
// returns io.EOF after the last line, whose end may be missing, and ErrLine for a
// line that is longer than MaxLine.
func (c *Child) ReadLine() ([]byte, error) {
	if c.unread != nil {
		c.unread.AwaitRoom(c.enough)
	}
	for {
		line, err := c.readRawLine()
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (c *Child) readRawLine() ([]byte, error) {
	var line []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		if line = append(line, part...); len(line) > MaxLine {
			return nil, ErrLine
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
		return line, err
	}
}

// CloseStdin ends the program's input.
func (c *Child) CloseStdin() error { return stdin{c}.Close() }

// Wait waits for the end of the program while ctx lasts, and reports whether it
// has ended.
func (c *Child) WaitForEnd(ctx context.Context) bool {
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// lastWords is the time after the grace in which the output of a program that we
// end is still read.
const lastWords = 2 * time.Second

// Await waits for an event, at most for d, while ctx lasts and until over is closed.
func Await(ctx context.Context, d time.Duration, over, event <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-event:
	case <-timer.C:
	case <-ctx.Done():
	case <-over:
	}
}

// GuardPrompt returns a text that a client takes for a prompt: one that begins with a slash may be a command.
func GuardPrompt(text string) string {
	if strings.HasPrefix(text, "/") {
		return " " + text
	}
	return text
}

// End ends the program and all processes that it started, and returns when they
// have ended. It sends SIGTERM, waits for the grace, and sends SIGKILL. Output that
// is not read then is lost.
func (c *Child) End() {
	c.ExpectEnd()
	c.cancel()
	unread := time.AfterFunc(c.grace+lastWords, func() { c.out.Close() }) // in a box, Run waits for the reader
	defer unread.Stop()
	<-c.done
	c.closePipes()
}

// ExpectEnd marks the coming end as ours: Exit then reports none.
func (c *Child) ExpectEnd() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.enough:
	default:
		close(c.enough)
	}
	select {
	case <-c.done:
	default:
		c.ended = true
	}
}

// Exit returns how the program ended; ok is false while it runs, and if we ended
// it.
func (c *Child) Exit() (e agent.Exit, ok bool) {
	select {
	case <-c.done:
	default:
		return agent.Exit{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e = agent.Exit{Code: c.result.ExitCode, Signal: c.result.Signal, Stderr: c.Stderr()}
	if c.err != nil {
		e.Code, e.Stderr = -1, strings.TrimSpace(e.Stderr+"\n"+c.err.Error())
	}
	return e, !c.ended
}

// Stderr returns the end of the program's standard error.
func (c *Child) Stderr() string { return strings.TrimSpace(c.stderr.String()) }

func (c *Child) closePipes() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.in.Close()
	c.out.Close()
}

type stdin struct{ c *Child }

func (w stdin) Write(p []byte) (int, error) {
	w.c.writing.Lock()
	defer w.c.writing.Unlock()
	n, err := w.c.in.Write(p)
	if err != nil {
		return n, fmt.Errorf("%w: %w", agent.ErrGone, err)
	}
	return n, nil
}

func (w stdin) Close() error {
	w.c.mu.Lock()
	w.c.closed = true
	w.c.mu.Unlock()
	return w.c.in.Close()
}
