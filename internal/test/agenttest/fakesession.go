package agenttest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// fakeWindow is the context window of the fake's model.
const fakeWindow = 200_000

// cutOff is the result of a call that was not made, or not to its end.
const cutOff = "[interrupted: the outcome of this call is not known]"

// fakeSession is one session of a Fake, which runs its turns one at a time.
type fakeSession struct {
	fake  *Fake
	id    string
	o     agent.Options
	past  *past
	queue *agent.Queue

	mu      sync.Mutex
	gone    bool
	turn    *fakeTurn       // nil when idle
	granted map[string]bool // tools, for the session
}

func newFakeSession(f *Fake, id string, o agent.Options) *fakeSession {
	s := &fakeSession{fake: f, id: id, o: o, past: f.past[id], queue: agent.NewQueue(), granted: map[string]bool{}}
	for _, tool := range o.Tools {
		s.granted[tool] = true
	}
	return s
}

func (s *fakeSession) ID() string                 { return s.id }
func (s *fakeSession) PID() int                   { return 0 }
func (s *fakeSession) Events() <-chan agent.Event { return s.queue.C() }

func (s *fakeSession) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.gone
}

func (s *fakeSession) Send(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return agent.ErrGone
	case s.turn != nil:
		return agent.ErrBusy
	}
	s.beginTurn(text, "")
	return nil
}

func (s *fakeSession) Decide(_ context.Context, d agent.PermissionDecision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn.pending == "" || s.turn.pending != d.CallID {
		return agent.ErrNotPending
	}
	s.turn.pending = ""
	s.turn.decided <- d
	return nil
}

func (s *fakeSession) Interrupt(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.interrupt()
	}
	return nil
}

func (s *fakeSession) Stop(context.Context) error {
	s.endSession()
	s.queue.Drop()
	s.fake.forgetSession(s)
	return nil
}

// endSession ends the session; its turn, if there is one, puts no more events.
func (s *fakeSession) endSession() {
	s.mu.Lock()
	s.gone = true
	turn := s.turn
	s.mu.Unlock()
	if turn != nil {
		turn.interrupt()
		<-turn.done
	}
}

// putEvent puts an event, unless the session has been ended.
func (s *fakeSession) putEvent(e agent.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		s.queue.Put(e)
	}
}

func (s *fakeSession) keepMessage(m fakemodel.Message) {
	s.past.mu.Lock()
	defer s.past.mu.Unlock()
	s.past.messages = append(s.past.messages, m)
}

func (s *fakeSession) newRequest() fakemodel.Request {
	s.past.mu.Lock()
	defer s.past.mu.Unlock()
	q := fakemodel.Request{Model: s.o.Choice().Model, System: s.o.System, Messages: slices.Clone(s.past.messages)}
	for _, tool := range []string{"read", "run", "write"} {
		if !slices.Contains(s.o.NoTools, tool) {
			q.Tools = append(q.Tools, tool)
		}
	}
	return q
}

// fakeTurn is a turn in progress.
type fakeTurn struct {
	*fakeSession
	interrupt context.CancelFunc
	done      chan struct{}
	tokens    agent.Tokens

	id      string
	steered int    // messages that the model has not seen, under the session's lock
	pending string // the call that was asked about, under the session's lock
	decided chan agent.PermissionDecision
}

// errInterrupted ends an interrupted turn.
var errInterrupted = errors.New("interrupted")

func (t *fakeTurn) runTurn(ctx context.Context) {
	defer close(t.done)
	defer t.interrupt()
	turn := agent.Turn{Status: agent.Completed}
	turn.Text, turn.Err = t.answerPrompt(ctx)
	switch {
	case errors.Is(turn.Err, errInterrupted):
		turn.Status, turn.Err = agent.Interrupted, nil
	case turn.Err != nil:
		turn.Status = agent.Failed
	}
	cost := run.Micros(t.tokens.Input + t.tokens.Output)
	turn.Tokens, turn.Cost = t.tokens, &cost
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fakeSession.turn = nil; !t.gone {
		t.closeTurn(string(turn.Status))
		t.queue.Put(turn)
	}
}

// answerPrompt asks the model until it calls no more tools.
func (t *fakeTurn) answerPrompt(ctx context.Context) (string, error) {
	for {
		t.takeSteered()
		r := t.fake.Model.Reply(t.newRequest())
		if err := t.injectFault(ctx, r.Fault); err != nil {
			return "", err
		}
		said, err := t.sayReply(ctx, r)
		t.keepMessage(fakemodel.Message{Role: fakemodel.Assistant, Texts: []string{said}, Calls: r.Calls})
		if err != nil {
			return said, err
		}
		t.countUsage(r.Usage)
		if len(r.Calls) == 0 && t.takeSteered() {
			continue
		}
		if len(r.Calls) == 0 {
			return said, nil
		}
		if err := t.makeCalls(ctx, r.Calls); err != nil {
			return said, err
		}
	}
}

func (t *fakeTurn) injectFault(ctx context.Context, f *fakemodel.Fault) error {
	switch {
	case f == nil:
		return nil
	case f.Hang:
		<-ctx.Done()
		return errInterrupted
	case f.Drop:
		return &failure.Error{Code: failure.Unknown, Message: "the stream was cut off", Retriable: true}
	default:
		return failure.ClassifyHTTP(f.Status, http.Header{}, f.Body(), time.Now())
	}
}

func (t *fakeTurn) sayReply(ctx context.Context, r fakemodel.Reply) (said string, err error) {
	for _, piece := range r.Pieces {
		t.putEvent(agent.Text{Text: piece})
		said += piece
		if r.Pace == 0 {
			continue
		}
		select {
		case <-time.After(r.Pace):
		case <-ctx.Done():
			return said, errInterrupted
		}
	}
	return said, nil
}

// countUsage counts the tokens of a request, and warns when the ladder requires it.
func (t *fakeTurn) countUsage(u fakemodel.TokenCount) {
	t.tokens.Input += int64(u.Input)
	t.tokens.Output += int64(u.Output)
	t.tokens.Cached += int64(u.Cached)
	used := u.Input + u.Output
	t.putEvent(agent.UsageUpdate{Tokens: t.tokens, Context: agent.Context{Used: used, Total: fakeWindow}})
	rung := agent.RungOf(t.o.MaxOutputTokens)
	onLadder := agent.AnswerTokens(rung) == t.o.MaxOutputTokens
	if limits := agent.LimitsOf(rung, fakeWindow); onLadder && used >= limits.Warn {
		t.putEvent(agent.Budget{
			Used: used, Warn: limits.Warn, Hard: limits.Hard, MaxOutput: t.o.MaxOutputTokens, Step: agent.ClampRung(rung + 1),
		})
	}
}
