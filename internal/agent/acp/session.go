package acp

import (
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
	allowed  []string // tools that are not asked about
	refused  []string // tools that are always denied
	habits   habits
	id       string // fixed before the session is anyone else's

	turns sync.WaitGroup // prompts that wait for their answer
	gone  chan struct{}  // closed when the process and the last event are out

	mu        sync.Mutex
	preface   string // goes before the first message
	entered   bool   // updates before that are history
	stopping  bool
	turn      *turn           // under way
	cancelled <-chan struct{} // closed when the agent was told of the last interrupt
	asks      []*ask          // that wait for a decision
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
	s.wire = connect(c, s)
	return s
}

// enterAs begins to take updates for what happens now.
func (s *session) enterAs(resumed, named string) {
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
func (s *session) Alive() bool                { return s.child.Alive() && !s.wire.over() }
func (s *session) Events() <-chan agent.Event { return s.events.C() }

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
			<-before // what was to end the last turn must not end this one
		}
		// The turn outlives ctx, and its answer is waited for whatever happens: to
		// give up the call would drop it (docs/contracts/acp.md, 1).
		answer, err := call[answer](context.Background(), s.wire, sdk.AgentMethodSessionPrompt, sdk.PromptRequest{SessionId: sdk.SessionId(s.id), Prompt: blocks})
		if !errors.Is(err, errOver) { // or what comes is Exit
			s.finish(t, answer, err)
		}
	})
	return nil
}

// sent hears what was written.
func (s *session) sent(method string) {
	if method != sdk.AgentMethodSessionPrompt {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		close(s.turn.sent)
	}
}

// Interrupt implements agent.Session.
func (s *session) Interrupt(ctx context.Context) error {
	s.mu.Lock()
	s.interrupt()
	told := s.cancelled
	s.mu.Unlock()
	return until(ctx, told)
}

// until waits for done while ctx lasts; nil is done.
func until(ctx context.Context, done <-chan struct{}) error {
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

// interrupt gives the turn up and has the agent told: from here on it is our
// doing that the turn ends, and an agent that does not end it is ended. The
// caller holds the lock.
func (s *session) interrupt() {
	t := s.turn
	if t == nil || t.interrupted {
		return
	}
	t.interrupted = true
	waiting := s.withdraw("the turn was interrupted")
	t.limit = time.AfterFunc(s.patience, func() {
		s.finish(t, answer{}, nil)
		s.wire.fail(errors.New("the agent went on with a turn that was interrupted"))
	})
	told := make(chan struct{})
	s.cancelled = told
	go func() {
		defer close(told)
		s.cancel(t)
		// Some take an answer that comes first for a denial, and go on with it.
		cancelAll(waiting)
	}()
}

// cancel tells the agent that a turn was given up: after the prompt itself, and
// unless it has ended meanwhile. What goes wrong here ends the session.
func (s *session) cancel(t *turn) {
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

// The times of a stop in good order (docs/contracts/acp.md, 2.4).
const (
	turnTime = time.Second     // for the turn under way
	stopTime = 3 * time.Second // for all
)

// Stop implements agent.Session.
func (s *session) Stop(ctx context.Context) error {
	s.mu.Lock()
	first, t := !s.stopping, s.turn
	s.stopping = true
	s.interrupt()
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
		until(short, t.ended) // so that the agent has kept what it did
		enough()
	}
	s.child.CloseStdin()
	s.child.Wait(ctx)
	s.child.End() // sweeps what a wrapper left behind, such as the native claude
	<-s.gone
	return nil
}

// watch sees the session to its end.
func (s *session) watch() {
	defer close(s.gone)
	select {
	case <-s.wire.conn.Done():
	case <-s.wire.failed:
	}
	cause := s.wire.why()
	if (cause == nil || cause == errDeaf) && s.settle() {
		<-s.wire.conn.Done() // what it said last
	}
	exit, itself := s.child.Exit()
	s.child.End()
	<-s.wire.conn.Done()
	s.turns.Wait()
	s.close(exit, itself, cause)
}

// close puts the last event: none after Stop. Where the agent was ended because
// no more could be had from it, cause says why.
func (s *session) close(exit agent.Exit, itself bool, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancelAll(s.withdraw("the session ended"))
	if t := s.turn; t != nil {
		t.stop()
		s.turn = nil
	}
	if s.stopping {
		s.events.Close(nil)
		return
	}
	if !itself {
		if cause == nil {
			cause = errSilent
		}
		exit = agent.Exit{Code: -1, Stderr: strings.TrimSpace(s.child.Stderr() + "\n" + cause.Error())}
	}
	s.events.Close(exit)
}

// update takes what the agent tells.
func (s *session) update(params json.RawMessage) {
	var n struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	var u update
	read(params, &n)
	read(n.Update, &u)
	s.mu.Lock()
	defer s.mu.Unlock()
	ours := n.SessionID == s.id || !s.entered
	switch {
	case u.Kind == "usage_update" && ours:
		s.usage(n.Update)
	case !s.entered: // session/load tells the history once more, before its answer
	case !s.take(u, ours, n.Update):
		s.events.Put(agent.Raw{Frame: params})
	}
}
