package codex

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// patience is how long Stop waits for the client to end a turn, and again to end
// itself. The client needs some 50 ms for either (CLIENT.md, 8).
const patience = 2 * time.Second

// session is one thread in one process of the client.
type session struct {
	*child.Process

	conn    *conn
	box     child.Sandbox // if it is held, the client keeps no sandbox of its own
	network bool          // its tools may reach the network
	scratch string        // directory for temporary files; empty: none of ours

	mu           sync.Mutex
	version      string        // of the client
	keepsAnswers bool          // the client says so of its configuration
	model        string        // of the thread, as it was opened
	thread       string        // id of the thread; empty until the client has named it
	earlyEvents  []agent.Event // events from before that
	running      runningTurn
	view         threadView
	turn         *turn    // our turn; nil between turns
	unmatched    wireTurn // the last turn that ended and was not known as ours
	calls        openCalls
	approvals    approvals
	total        threadTotal
	limits       limits
}

func newSession(c *child.Child, scratch string) *session {
	s := &session{
		Process: child.NewProcess(c), conn: newConn(c), scratch: scratch,
		calls: openCalls{}, approvals: approvals{pending: map[string]*approval{}, made: map[string]bool{}}, limits: limits{},
	}
	go s.readFrames()
	return s
}

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thread
}

// nameThread reports the thread's name before all other events.
func (s *session) nameThread(id string, resumed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thread = id
	s.total.known = !resumed
	s.Queue.Put(agent.Started{SessionID: id, Resumed: resumed})
	for _, e := range s.earlyEvents {
		s.Queue.Put(e)
	}
	s.earlyEvents = nil
}

// setAllows records what the thread's tools may do by the client's word.
func (s *session) setAllows(a *delivery.Allows) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.allows = a
}

// emitEvent adds an event.
func (s *session) emitEvent(e agent.Event) {
	if s.thread == "" {
		s.earlyEvents = append(s.earlyEvents, e)
		return
	}
	s.Queue.Put(e)
}

func (s *session) Send(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.Child.Alive():
		return agent.ErrGone
	case s.turn != nil || s.running.id != "":
		return agent.ErrBusy
	}
	t := newTurn(uuid.NewString())
	params := object{
		"threadId": s.thread, "clientUserMessageId": t.message,
		"input": []object{{"type": "text", "text": text, "text_elements": []object{}}},
	}
	if s.box.Held() {
		params["sandboxPolicy"] = turnSandbox(s.network)
	}
	err := s.conn.beginCall(&pendingCall{method: "turn/start", params: params, done: func(raw json.RawMessage, err error) {
		s.turnBegun(t, raw, err)
	}})
	if err == nil {
		s.turn = t
	}
	return err
}

func (s *session) Decide(ctx context.Context, d agent.PermissionDecision) error {
	if err := d.Check(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.approvals.pending[d.CallID]
	switch {
	case p == nil:
		return agent.ErrNotPending
	case !s.Child.Alive():
		return agent.ErrGone
	}
	delete(s.approvals.pending, d.CallID)
	if err := s.conn.sendObject(p.answerFrame(d)); err != nil {
		return err
	}
	if t := s.turn; d.Verdict == agent.Abort && !p.ends && t != nil && (p.turn == "" || p.turn == t.id) {
		s.interruptTurn(t)
	}
	return nil
}

func (s *session) Interrupt(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.interruptTurn(s.turn)
	}
	return nil
}

func (s *session) Stop(ctx context.Context) error {
	return s.StopAfter(func() { s.windDown(ctx) })
}

// windDown lets the client end in good order while ctx lasts. It cancels the
// waiting requests, each in the form of its family, and interrupts the turn. A
// client whose input ends also records an interrupted turn, but not the messages
// before it (CLIENT.md, 8).
func (s *session) windDown(ctx context.Context) {
	if t := s.abortPending(); t != nil {
		child.Await(ctx, patience, s.Over, t.ended)
	}
	s.conn.out.Put(nil) // closes its input, after all queued lines
	child.Await(ctx, patience, s.Over, s.Child.Done())
}

// abortPending aborts the pending requests and returns the current turn, which
// it interrupts.
func (s *session) abortPending() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.approvals.pending {
		s.conn.sendObject(p.answerFrame(agent.PermissionDecision{CallID: id, Verdict: agent.Abort}))
		s.withdrawApproval(id)
	}
	if s.turn != nil {
		s.interruptTurn(s.turn)
	}
	return s.turn
}

// readFrames takes frames until the last, and then reports the client's end.
func (s *session) readFrames() {
	defer close(s.Over)
	if s.scratch != "" {
		defer os.RemoveAll(s.scratch)
	}
	exit, unexpected := s.conn.readFrames(s.takeFrame)
	if unexpected {
		s.Queue.Close(exit)
		return
	}
	s.Queue.Close(nil)
}

// Model implements agent.Modelled.
func (s *session) Model() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}
