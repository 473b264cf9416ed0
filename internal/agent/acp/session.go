package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// session is one conversation, with a process of its own.
type session struct {
	child    *child.Child
	wire     *wire
	events   *agent.Queue
	patience time.Duration
	readOnly bool
	allowed  []string // tools that need no permission
	refused  []string // tools that are always denied
	habits   habits
	id       string       // does not change once the session is returned to the caller
	unchosen agent.Choice // by which it would continue without a choice; does not change either

	turns sync.WaitGroup // prompts that wait for their answer
	gone  chan struct{}  // closed when the process has ended and the last event is put

	mu        sync.Mutex
	preface   string // goes before the first message
	entered   bool   // updates before that are history
	storied   bool   // the history holds a message
	stopping  bool
	turn      *turn             // in progress
	cancelled <-chan struct{}   // closed when the agent has the last interrupt
	requests  []*waitingRequest // that wait for a decision
	bill      bill
	context   agent.Context
}

func newSession(c *child.Child, o agent.Options, patience time.Duration) *session {
	s := &session{
		child: c, events: agent.NewQueue(), patience: patience,
		readOnly: o.Sandbox == agent.ReadOnly, allowed: o.Tools, refused: o.NoTools,
		gone: make(chan struct{}),
		bill: bill{carried: o.Resume != ""},
	}
	c.Pace(s.events)
	s.wire = newWire(c, s)
	return s
}

// acceptSession sets the session's id and begins to take its updates.
func (s *session) acceptSession(resumed, named string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id = named; s.id == "" {
		s.id = resumed
	}
	s.entered = true
	s.events.Put(agent.Started{SessionID: s.id, Resumed: resumed != ""})
}

func (s *session) ID() string                 { return s.id }
func (s *session) PID() int                   { return s.child.PID() }
func (s *session) Alive() bool                { return s.child.Alive() && !s.wire.isOver() }
func (s *session) Events() <-chan agent.Event { return s.events.C() }

var _ agent.Defaulted = (*session)(nil)

// Default implements agent.Defaulted.
func (s *session) Default() agent.Choice { return s.unchosen }

// Send implements agent.Session.
func (s *session) Send(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping || !s.Alive():
		return agent.ErrGone
	case s.turn != nil:
		return agent.ErrBusy
	}
	blocks := []sdk.ContentBlock{sdk.TextBlock(text)}
	if s.preface != "" {
		blocks = slices.Insert(blocks, 0, sdk.TextBlock(s.preface))
		s.preface = ""
	}
	t, before := newTurn(), s.cancelled
	s.turn = t
	s.turns.Go(func() {
		if before != nil {
			<-before // the cancellation of the last turn must not end this one
		}
		// The turn outlives ctx, and its answer is always waited for: giving up the
		// call would drop it (CLIENT.md, 1).
		answer, err := callAgent[answer](context.Background(), s.wire, sdk.AgentMethodSessionPrompt, sdk.PromptRequest{SessionId: sdk.SessionId(s.id), Prompt: blocks})
		if !errors.Is(err, errOver) { // otherwise an Exit event follows
			s.finishTurn(t, answer, err)
		}
	})
	return nil
}

// noteSent records that the prompt was written. An agent can end a turn before its whole prompt is written, so the note
// may be about the previous turn.
func (s *session) noteSent(method string) {
	if method != sdk.AgentMethodSessionPrompt {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.markSent()
	}
}

// Interrupt implements agent.Session.
func (s *session) Interrupt(ctx context.Context) error {
	s.mu.Lock()
	s.interruptTurn()
	told := s.cancelled
	s.mu.Unlock()
	return waitUntil(ctx, told)
}

// waitUntil waits for done while ctx lasts; a nil channel counts as done.
func waitUntil(ctx context.Context, done <-chan struct{}) error {
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// interruptTurn gives the turn up and has the agent informed. From then on the end
// of the turn counts as our doing, and an agent that does not end it is ended. The
// caller holds the lock.
func (s *session) interruptTurn() {
	t := s.turn
	if t == nil || t.interrupted {
		return
	}
	t.interrupted = true
	waiting := s.withdrawRequests("the turn was interrupted")
	t.limit = time.AfterFunc(s.patience, func() {
		s.finishTurn(t, answer{}, nil)
		s.wire.failWith(errors.New("the agent continued a turn that was interrupted"))
	})
	told := make(chan struct{})
	s.cancelled = told
	go func() {
		defer close(told)
		s.sendCancel(t)
		// Some agents take an answer that comes first for a denial, and continue the turn.
		cancelAll(waiting)
	}()
}

// sendCancel tells the agent that a turn was given up. It does so after the prompt
// was sent, and only if the turn has not ended meanwhile. An error here ends the
// session.
func (s *session) sendCancel(t *turn) {
	select {
	case <-t.sent:
	case <-s.wire.conn.Done():
	}
	s.mu.Lock()
	over := s.turn != t
	s.mu.Unlock()
	if !over {
		s.wire.conn.SendNotification(context.Background(), sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: sdk.SessionId(s.id)})
	}
}

// The time limits of a stop in good order (CLIENT.md, 2.4).
const (
	turnTime = time.Second     // for the current turn
	stopTime = 3 * time.Second // for everything
)

// Stop implements agent.Session.
func (s *session) Stop(ctx context.Context) error {
	s.mu.Lock()
	first, t := !s.stopping, s.turn
	s.stopping = true
	s.interruptTurn()
	s.mu.Unlock()
	if !first {
		<-s.gone
		return nil
	}
	s.child.ExpectEnd()
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	if t != nil {
		short, enough := context.WithTimeout(ctx, turnTime)
		waitUntil(short, t.ended) // lets the agent store its work
		enough()
	}
	s.child.CloseStdin()
	s.child.WaitForEnd(ctx)
	s.child.End() // also ends processes that a wrapper left behind, such as the native claude
	<-s.gone
	return nil
}

// watchEnd waits for the end of the session and reports it.
func (s *session) watchEnd() {
	defer close(s.gone)
	select {
	case <-s.wire.conn.Done():
	case <-s.wire.failed:
	}
	cause := s.wire.failureCause()
	if (cause == nil || cause == errDeaf) && s.waitForExit() {
		<-s.wire.conn.Done() // reads the last messages
	}
	exit, itself := s.child.Exit()
	s.child.End()
	<-s.wire.conn.Done()
	s.turns.Wait()
	s.closeEvents(exit, itself, cause)
}

// closeEvents puts the last event: none after Stop. If we ended the agent because
// its connection failed, cause says why.
func (s *session) closeEvents(exit agent.Exit, itself bool, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancelAll(s.withdrawRequests("the session ended"))
	if t := s.turn; t != nil {
		t.markEnded()
		s.turn = nil
	}
	if s.stopping {
		s.events.Close(nil)
		return
	}
	if !itself {
		cause = cmp.Or(cause, errSilent)
		exit = agent.Exit{Code: -1, Stderr: strings.TrimSpace(s.child.Stderr() + "\n" + cause.Error())}
	}
	s.events.Close(exit)
}

// takeUpdate handles an update of the agent.
func (s *session) takeUpdate(params json.RawMessage) {
	var n struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	var u update
	decodeLenient(params, &n)
	decodeLenient(n.Update, &u)
	s.mu.Lock()
	defer s.mu.Unlock()
	ours := n.SessionID == s.id || !s.entered
	switch {
	case u.Kind == "usage_update" && ours:
		s.takeUsage(n.Update)
	case !s.entered: // session/load repeats the history before its answer
		s.storied = s.storied || strings.HasSuffix(u.Kind, "_message_chunk")
	case !s.handleUpdate(u, ours, n.Update):
		s.events.Put(agent.Raw{Frame: params})
	}
}
