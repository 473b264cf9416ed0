package proc

import (
	"errors"
	"io"
	"os"
	"reflect"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxDrain is more than a pipe holds, in bytes. A process that we could not end, and that writes without an end,
// holds no output up for longer.
const maxDrain = 16 << 20

// output carries the output of one program to the writers of its command. Nothing that the program wrote
// before its end is lost, however late we read: awaitWriters takes all that the pipes hold, and has no time limit.
type output struct {
	stdout, stderr io.Writer // what os/exec gives to the program: files, or nil
	pipes          []pipe
	copies         sync.WaitGroup
}

// pipe leads from the program to a writer.
type pipe struct {
	ours, theirs *os.File
	to           io.Writer
}

// openOutput makes the pipes that the command needs. A writer that is a file needs none.
func openOutput(c Command) (*output, error) {
	var o output
	var err error
	o.stdout, err = o.connect(c.Stdout)
	switch {
	case err != nil:
	case c.sharesOutput():
		o.stderr = o.stdout
	default:
		o.stderr, err = o.connect(c.Stderr)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return &o, nil
}

// sharesOutput reports whether both streams go to one writer.
func (c Command) sharesOutput() bool {
	return c.Stderr != nil && reflect.ValueOf(c.Stderr).Comparable() && c.Stderr == c.Stdout
}

func (o *output) connect(to io.Writer) (io.Writer, error) {
	if _, isFile := to.(*os.File); isFile || to == nil {
		return to, nil
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.pipes = append(o.pipes, pipe{ours, theirs, to})
	return theirs, nil
}

// begin copies until awaitWriters. The program has started, with its ends of the pipes.
func (o *output) begin() {
	for _, p := range o.pipes {
		p.theirs.Close()
		o.copies.Go(p.copy)
	}
}

// awaitWriters returns once the writers have what the pipes hold. The program and all that it started are gone,
// but for processes that we cannot end: awaitWriters does not wait for them, though they may hold the pipes open.
func (o *output) awaitWriters() {
	for _, p := range o.pipes {
		p.ours.SetReadDeadline(time.Now())
	}
	o.copies.Wait()
	o.close()
}

func (o *output) close() {
	for _, p := range o.pipes {
		p.theirs.Close()
		p.ours.Close()
	}
}

// copy copies until all ends of the program are closed, or awaitWriters was called. Where the writer fails, the
// program's next write fails too.
func (p pipe) copy() {
	defer p.ours.Close()
	chunk := make([]byte, 32<<10)
	for {
		n, err := p.ours.Read(chunk)
		if !p.give(chunk[:n]) {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.drainRest(chunk)
		}
		if err != nil {
			return
		}
	}
}

// drainRest copies the rest that is in the pipe. It does not wait for more.
func (p pipe) drainRest(chunk []byte) {
	p.ours.SetReadDeadline(time.Time{}) // else no read would be tried
	raw, err := p.ours.SyscallConn()
	if err != nil {
		return
	}
	for drained := 0; drained < maxDrain; {
		var n int
		var readErr error
		err := raw.Read(func(fd uintptr) bool {
			n, readErr = unix.Read(int(fd), chunk)
			return true
		})
		switch {
		case err == nil && readErr == unix.EINTR:
		case err != nil || n <= 0 || !p.give(chunk[:n]):
			return
		default:
			drained += n
		}
	}
}

func (p pipe) give(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	_, err := p.to.Write(b)
	return err == nil
}
