package pi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// patience bounds three waits: in Stop for pi to end a turn, and for pi to end
// itself; and at the end of a turn for the fill of the window.
const patience = 2 * time.Second

// session is one process of pi.
type session struct {
	*child.Process

	out   *child.Outbox
	o     agent.Options
	files lentFiles

	mu       sync.Mutex
	id       string
	gateShut bool                     // reported by the gate itself
	calls    map[string]chan response // that wait for an answer, by their ids
	asked    int                      // calls so far
	model    model
	turns    int
	steers   int
	turn     *turn // nil between turns
	owned    agent.Owned
	trust    Trust
	sandbox  child.Sandbox
	requests gateRequests
	rules    rules
}

func newSession(c *child.Child, o agent.Options, f lentFiles) *session {
	s := &session{
		Process: child.NewProcess(c), out: child.NewOutbox(c), o: o, files: f,
		calls: map[string]chan response{}, requests: gateRequests{}, rules: newRules(o),
	}
	go s.readFrames()
	return s
}

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Model implements agent.Modelled.
func (s *session) Model() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model.modelCode()
}

func (s *session) Send(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.beginTurn(text, "")
	return err
}

// beginTurn begins a turn with a message. The marker is empty unless the message is a delivery.
func (s *session) beginTurn(text, marker string) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.Child.Alive():
		return nil, agent.ErrGone
	case s.turn != nil:
		return nil, agent.ErrBusy
	}
	s.turns++
	s.turn = newTurn(s.turns)
	s.turn.id, s.turn.marker, s.turn.taken = cmp.Or(marker, uuid.NewString()), marker, make(chan struct{})
	s.owned.Begin(s.turn.id, marker)
	text = child.GuardPrompt(text)
	s.postFrame(command{ID: s.turn.prompt, Type: "prompt", Message: &text})
	return s.turn, nil
}

func (s *session) Interrupt(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.interruptTurn()
	return nil
}

// interruptTurn ends the current turn and returns it.
func (s *session) interruptTurn() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.interrupted = true
		s.emptyQueue(s.turn)
		s.sendAbort()
	}
	return s.turn
}

func (s *session) sendAbort() { s.postFrame(command{ID: "abort", Type: "abort"}) }

func (s *session) Stop(ctx context.Context) error {
	return s.StopAfter(func() { s.windDown(ctx) })
}

// windDown lets pi end in good order while ctx lasts. Pi writes the existing part
// of an interrupted turn into the transcript.
func (s *session) windDown(ctx context.Context) {
	if t := s.interruptTurn(); t != nil {
		child.Await(ctx, patience, s.Over, t.ended)
	}
	s.Child.CloseStdin() // fails harmlessly if pi has ended
	child.Await(ctx, patience, s.Over, s.Child.Done())
}

// postFrame queues a frame; strings always marshal.
func (s *session) postFrame(frame any) {
	line, _ := json.Marshal(frame)
	s.out.Put(line)
}

// callPi sends pi a command outside of turns, and waits for the answer. Each call has an id of its own: the answer to one
// that was given up is no answer to the next.
func (s *session) callPi(ctx context.Context, what string) (json.RawMessage, error) {
	answer := make(chan response, 1)
	s.mu.Lock()
	s.asked++
	id := fmt.Sprintf("%s-%d", what, s.asked)
	s.calls[id] = answer
	s.mu.Unlock()
	defer s.forgetCall(id)
	s.postFrame(command{ID: id, Type: what})
	select {
	case r := <-answer:
		if !r.Success {
			return nil, badRequest("pi did not answer %s: %s", what, r.Error)
		}
		return r.Data, nil
	case <-s.Over:
		e, _ := s.Child.Exit()
		return nil, startError(e)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *session) forgetCall(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// readFrames takes frames until the last, and then reports pi's end.
func (s *session) readFrames() {
	defer close(s.Over)
	defer s.files.removeFiles()
	s.finishSession(s.Child.ReadLines(s.takeFrame))
}
