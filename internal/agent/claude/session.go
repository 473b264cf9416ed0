package claude

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

const (
	// patience is how long Stop waits for the client to end a turn, and again to
	// end itself (CLIENT.md, 12).
	patience = 2 * time.Second
	// transcribed is how long after a result the last lines may be missing from
	// the transcript (CLIENT.md, 8).
	transcribed = 100 * time.Millisecond
)

// session is one process of the client.
type session struct {
	*child.Process

	o agent.Options

	greetResults chan greetResult // gets one value

	mu          sync.Mutex
	id          identity
	turn        *turn         // nil between turns
	repeat      chan struct{} // closed when the last repeated interrupt is written; nil: none was
	owned       agent.Owned
	lastEnd     time.Time
	permissions permissions
	meter       meter
	limit       time.Time // until when the subscription is used up
}

func newSession(c *child.Child, o agent.Options, fresh string, p projects) *session {
	s := &session{
		Process: child.NewProcess(c), o: o, greetResults: make(chan greetResult, 1),
		id: identity{id: fresh, projects: p}, permissions: permissions{waiting: map[string]permissionRequest{}, allowed: map[string]bool{}},
	}
	if o.Resume != "" {
		s.id.id, s.id.resumed = o.Resume, true
	}
	go s.readFrames()
	return s
}

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id.id
}

// Model implements agent.Modelled. The client reports it as a turn begins.
func (s *session) Model() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meter.model
}

func (s *session) Send(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id := uuid.NewString()
	t, err := s.beginTurn(text, id, false)
	if err != nil {
		return err
	}
	if err = s.sendPrompt(ctx, text, id); err != nil {
		s.forgetTurn(t)
	}
	return err
}

// sendPrompt writes a message, which the client repeats by its id.
func (s *session) sendPrompt(ctx context.Context, text, id string) error {
	if err := s.awaitRepeat(ctx); err != nil {
		return err
	}
	return s.writeFrameWithin(ctx, userFrame{Type: "user", Message: userMessage{"user", child.GuardPrompt(text)}, UUID: id})
}

func (s *session) beginTurn(text, id string, delivery bool) (*turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.Child.Alive():
		return nil, agent.ErrGone
	case s.turn != nil:
		return nil, agent.ErrBusy
	}
	s.turn = newTurn(text)
	s.turn.id, s.turn.delivery, s.turn.taken = id, delivery, make(chan struct{})
	marker := ""
	if delivery {
		marker = id
	}
	s.owned.Begin(id, marker)
	return s.turn, nil
}

// forgetTurn removes a turn whose message did not reach the client.
func (s *session) forgetTurn(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == t {
		s.turn = nil
		s.owned.Forget(t.id)
	}
}

func (s *session) Interrupt(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.markInterrupted() == nil {
		return nil
	}
	return s.sendInterrupt()
}

// markInterrupted marks the current turn as interrupted and returns it.
func (s *session) markInterrupted() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.interrupted = true
	}
	return s.turn
}

func (s *session) sendInterrupt() error { return s.sendRequest("interrupt") }

// repeatInterrupt sends an interrupt again, under the lock of the session. The next prompt waits for it, because it would
// end the turn of that prompt.
func (s *session) repeatInterrupt() {
	sent := make(chan struct{})
	s.repeat = sent
	go func() {
		defer close(sent)
		_ = s.sendInterrupt() // the client may have ended
	}()
}

func (s *session) awaitRepeat(ctx context.Context) error {
	s.mu.Lock()
	sent := s.repeat
	s.mu.Unlock()
	if sent == nil {
		return nil
	}
	select {
	case <-sent:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) Stop(ctx context.Context) error {
	return s.StopAfter(func() { s.windDown(ctx) })
}

// windDown lets the client end in good order while ctx lasts. The client writes
// the end of an interrupted turn into the transcript, and ends the commands that
// it runs (CLIENT.md, 12).
func (s *session) windDown(ctx context.Context) {
	if t := s.markInterrupted(); t != nil {
		go s.sendInterrupt() // would block if the client no longer reads
		child.Await(ctx, patience, s.Over, t.ended)
	}
	child.Await(ctx, time.Until(s.transcriptDone()), s.Over, nil)
	s.Child.CloseStdin() // fails harmlessly if the client has ended
	child.Await(ctx, patience, s.Over, s.Child.Done())
}

// transcriptDone returns the time at which the transcript is complete.
func (s *session) transcriptDone() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastEnd.Add(transcribed)
}

// sendRequest sends the client a control request.
func (s *session) sendRequest(subtype string) error {
	body, err := json.Marshal(frameHead{Subtype: subtype})
	if err != nil {
		return err
	}
	return s.writeFrame(controlFrame{Type: "control_request", RequestID: uuid.NewString(), Request: body})
}

func (s *session) writeFrame(frame any) error { return s.writeFrameWithin(context.Background(), frame) }

func (s *session) writeFrameWithin(ctx context.Context, frame any) error {
	line, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return s.Child.SendLine(ctx, line)
}

// readFrames takes frames until the last, and then reports the client's end.
func (s *session) readFrames() {
	defer close(s.Over)
	s.finishSession(s.Child.ReadLines(s.takeFrame))
}
