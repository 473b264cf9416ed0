package pi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// patience is how long Stop waits for pi to end a turn, and then itself, and
// the end of a turn for how full the window is.
const patience = 2 * time.Second

// session is one process of pi.
type session struct {
	child *child.Child
	queue *agent.Queue
	out   *outbox
	o     agent.Options
	files files

	over     chan struct{} // closed when the last frame has been read, and nothing is left
	stopping sync.Once

	mu      sync.Mutex
	id      string
	shut    bool // the gate is, as it has said itself
	calls   map[string]chan response
	model   model
	settles bool // this pi tells when it has settled
	turns   int
	steers  int
	turn    *turn // nil between turns
	asks    asks
	rules   rules
}

func newSession(c *child.Child, o agent.Options, f files) *session {
	s := &session{
		child: c, queue: agent.NewQueue(), out: newOutbox(c.WriteLine), o: o, files: f, over: make(chan struct{}),
		calls: map[string]chan response{}, asks: asks{}, rules: newRules(o),
	}
	go s.read()
	return s
}

func (s *session) PID() int                   { return s.child.PID() }
func (s *session) Alive() bool                { return s.child.Alive() }
func (s *session) Events() <-chan agent.Event { return s.queue.C() }

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

func (s *session) Send(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.child.Alive():
		return agent.ErrGone
	case s.turn != nil:
		return agent.ErrBusy
	}
	s.turns++
	s.turn = newTurn(s.turns)
	text = guarded(text)
	s.post(command{ID: s.turn.prompt, Type: "prompt", Message: &text})
	return nil
}

// guarded is a text that pi takes for a prompt: one that begins with a slash
// may be a command of an extension, and pi has one of its own.
func guarded(text string) string {
	if strings.HasPrefix(text, "/") {
		return " " + text
	}
	return text
}

func (s *session) Interrupt(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.interrupt()
	return nil
}

// interrupt ends the turn under way, and returns it.
func (s *session) interrupt() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.interrupted = true
		s.drop(s.turn)
		s.abort()
	}
	return s.turn
}

func (s *session) abort() { s.post(command{ID: "abort", Type: "abort"}) }

func (s *session) Stop(ctx context.Context) error {
	s.stopping.Do(func() {
		s.child.ExpectEnd()
		s.windDown(ctx)
		s.child.End()
		<-s.over
	})
	return nil
}

// windDown lets pi end in good order, as far as ctx lasts: what there was of an
// interrupted turn gets into the transcript.
func (s *session) windDown(ctx context.Context) {
	if t := s.interrupt(); t != nil {
		s.wait(ctx, t.ended)
	}
	s.child.CloseStdin() // a pi that is gone does not mind
	s.wait(ctx, s.child.Done())
}

// wait waits for an event as long as patience and ctx last and there is
// something to read.
func (s *session) wait(ctx context.Context, event <-chan struct{}) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-event:
	case <-timer.C:
	case <-ctx.Done():
	case <-s.over:
	}
}

// abandon ends a session that never started.
func (s *session) abandon() {
	s.queue.Drop()
	s.child.End()
	<-s.over
}

// post has a frame written; strings always marshal.
func (s *session) post(frame any) {
	line, _ := json.Marshal(frame)
	s.out.put(line)
}

// call asks pi for something outside of turns, and waits for the answer.
func (s *session) call(ctx context.Context, what string) (json.RawMessage, error) {
	answer := make(chan response, 1)
	s.mu.Lock()
	s.calls[what] = answer
	s.mu.Unlock()
	s.post(command{ID: what, Type: what})
	select {
	case r := <-answer:
		if !r.Success {
			return nil, bad("pi did not answer %s: %s", what, r.Error)
		}
		return r.Data, nil
	case <-s.over:
		e, _ := s.child.Exit()
		return nil, whyExit(e)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read takes frames until there are no more, and then tells the end.
func (s *session) read() {
	defer close(s.over)
	defer s.files.remove()
	for {
		line, err := s.child.ReadLine()
		if err == nil {
			s.take(line)
			continue
		}
		exit, unexpected := s.ended(err)
		s.out.close()
		s.finish(exit, unexpected)
		return
	}
}

// ended is how pi ended. One that said what nobody can read is ended here.
func (s *session) ended(err error) (e agent.Exit, unexpected bool) {
	if errors.Is(err, io.EOF) {
		<-s.child.Done()
		return s.child.Exit()
	}
	_, gone := s.child.Exit()
	alive := s.child.Alive()
	s.child.End()
	return agent.Exit{Code: -1, Stderr: err.Error()}, alive || gone
}
