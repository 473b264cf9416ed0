// Package child runs the program of an agent: its standard input and output
// are the session's wire, its standard error is kept for whoever asks why it
// ended. The program and all that it started end together, on every path
// (package proc).
package child

import (
	"bufio"
	"bytes"
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

// keptStderr is how much of the end of standard error is kept.
const keptStderr = 8 << 10

// ErrLine is a line over MaxLine.
var ErrLine = fmt.Errorf("a line of more than %d bytes", MaxLine)

// Spec is one program to run.
type Spec struct {
	Argv []string
	Dir  string
	Env  []string // whole: nothing is inherited
	// Log gets what it writes to standard error as it comes; nil discards it.
	Log io.Writer
	// Grace is the time between SIGTERM and SIGKILL; zero is the default of proc.
	Grace time.Duration
}

// Child is a program that runs.
type Child struct {
	in     *os.File
	out    *os.File
	lines  *bufio.Reader
	pid    int
	stderr *proc.HeadTail
	cancel context.CancelFunc
	done   chan struct{}

	writing sync.Mutex // one line at a time
	mu      sync.Mutex
	ended   bool // by us
	closed  bool // standard input
	result  proc.Result
	err     error
}

// Start runs the program. The end of ctx does not end it: End does. What keeps
// the program from running is agent.ErrUnavailable.
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
		in: in, out: out, lines: bufio.NewReaderSize(out, 64<<10), cancel: end,
		stderr: proc.NewHeadTail(0, keptStderr), done: make(chan struct{}),
	}
	var stderr io.Writer = c.stderr
	if s.Log != nil {
		stderr = io.MultiWriter(c.stderr, s.Log)
	}
	started := make(chan int, 1)
	go func() {
		defer close(c.done)
		result, err := proc.Run(ctx, proc.Command{
			Argv: s.Argv, Dir: s.Dir, Env: s.Env, Stdin: inR, Stdout: outW, Stderr: stderr, Grace: s.Grace,
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

// PID is the process that ends last; see proc.Command.
func (c *Child) PID() int { return c.pid }

// Done is closed when the program and all that it started are gone.
func (c *Child) Done() <-chan struct{} { return c.done }

// Alive says whether the program runs, is not being ended, and reads.
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

// Stdin is the program's standard input, for wires that frame by themselves.
func (c *Child) Stdin() io.WriteCloser { return stdin{c} }

// Stdout is its standard output, likewise. Do not mix with ReadLine.
func (c *Child) Stdout() io.Reader { return c.out }

// WriteLine writes one line. A program that is gone is agent.ErrGone.
func (c *Child) WriteLine(line []byte) error {
	_, err := stdin{c}.Write(append(bytes.TrimSuffix(line, []byte("\n")), '\n'))
	return err
}

// SendLine is WriteLine for as long as ctx lasts: a program that does not read
// could hold it up. What ctx cut off in the middle of a line has broken the
// wire: the input is closed then.
func (c *Child) SendLine(ctx context.Context, line []byte) error {
	stop := context.AfterFunc(ctx, func() { c.in.SetWriteDeadline(time.Now()) })
	err := c.WriteLine(line)
	if stop() {
		return err
	}
	c.in.SetWriteDeadline(time.Time{})
	if err != nil {
		c.CloseStdin()
		return ctx.Err()
	}
	return nil
}

// ReadLine returns the next line without its end, blank lines left out; io.EOF
// after the last, whose end may be missing. A line over MaxLine is ErrLine.
func (c *Child) ReadLine() ([]byte, error) {
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

// CloseStdin says that no more input comes.
func (c *Child) CloseStdin() error { return stdin{c}.Close() }

// Wait waits for the end of the program while ctx lasts, and says whether it
// came.
func (c *Child) Wait(ctx context.Context) bool {
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// End ends the program and all that it started, and returns when they are
// gone: SIGTERM, the grace, SIGKILL.
func (c *Child) End() {
	c.ExpectEnd()
	c.cancel()
	<-c.done
	c.closePipes()
}

// Expect marks the end that is coming as ours: Exit then reports none.
func (c *Child) ExpectEnd() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
	default:
		c.ended = true
	}
}

// Exit is how the program ended; ok is false while it runs, and when the end
// was ours.
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

// Stderr is the end of what the program wrote to standard error.
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
