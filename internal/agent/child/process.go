package child

import (
	"errors"
	"io"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Process is what the sessions of Claude Code, Codex and pi share: the program, its events, and the end of both.
type Process struct {
	Child *Child
	Queue *agent.Queue
	Over  chan struct{} // the session closes it after the last event

	stopping sync.Once
}

// NewProcess returns the process of a session. No line of the program must have been read.
func NewProcess(c *Child) *Process {
	p := &Process{Child: c, Queue: agent.NewQueue(), Over: make(chan struct{})}
	c.Pace(p.Queue)
	return p
}

func (p *Process) PID() int                   { return p.Child.PID() }
func (p *Process) Alive() bool                { return p.Child.Alive() }
func (p *Process) Events() <-chan agent.Event { return p.Queue.C() }

// StopAfter ends the program once windDown has let it end in good order.
func (p *Process) StopAfter(windDown func()) error {
	p.stopping.Do(func() {
		p.Child.ExpectEnd()
		windDown()
		p.Child.End()
		<-p.Over
	})
	return nil
}

// Abandon ends a session whose start failed.
func (p *Process) Abandon() {
	p.Queue.Drop()
	p.Child.End()
	<-p.Over
}

// ReadLines passes each line to take, and returns how the program ended. It ends a program whose output cannot be read.
func (c *Child) ReadLines(take func(line []byte)) (e agent.Exit, unexpected bool) {
	for {
		line, err := c.ReadLine()
		switch {
		case err == nil:
			take(line)
		case errors.Is(err, io.EOF):
			<-c.Done()
			return c.Exit()
		default:
			_, gone := c.Exit()
			alive := c.Alive()
			c.End()
			return agent.Exit{Code: -1, Stderr: err.Error()}, alive || gone
		}
	}
}

// Outbox writes lines in their order, from a queue: no caller waits for a program that does not read.
type Outbox struct {
	child *Child
	wake  chan struct{}

	mu    sync.Mutex
	lines [][]byte // nil closes the program's input
}

// NewOutbox returns an outbox that lasts as long as the program.
func NewOutbox(c *Child) *Outbox {
	o := &Outbox{child: c, wake: make(chan struct{}, 1)}
	go o.writeLines()
	return o
}

// Put adds a line; nil closes the program's input.
func (o *Outbox) Put(line []byte) {
	o.mu.Lock()
	o.lines = append(o.lines, line)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// writeLines writes the queued lines. An error does not matter: it means that the program has ended, which its reader sees.
func (o *Outbox) writeLines() {
	for {
		select {
		case <-o.wake:
		case <-o.child.Done():
			return
		}
		o.mu.Lock()
		lines := o.lines
		o.lines = nil
		o.mu.Unlock()
		for _, line := range lines {
			if line == nil {
				o.child.CloseStdin()
			} else {
				o.child.WriteLine(line)
			}
		}
	}
}
