package openclaw

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Send begins a turn. A message that may have arrived although ctx has ended
// is aborted again. What else runs in the session gives way: the message would
// be mixed into it.
func (s *session) Send(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, message, err := s.begin(text)
	if err != nil {
		return err
	}
	err = s.conn.call(ctx, "chat.send", object{
		"sessionKey": s.ID(), "message": message, "idempotencyKey": t.run, "deliver": false, "queueMode": "interrupt",
		"expectedPermissionMode": orNull(s.terms.mode),
	}, nil)
	close(t.answered)
	if err != nil && ctx.Err() != nil {
		_ = s.halt(ctx) // ctx.Err() is what there is to say
	}
	if err != nil && s.dropped(t) {
		s.withdraw()
		return classify(err)
	}
	return nil
}

func (s *session) begin(text string) (t *turn, message string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.alive():
		return nil, "", agent.ErrGone
	case s.turn != nil:
		return nil, "", agent.ErrBusy
	}
	t = newTurn(uuid.NewString(), s.system)
	s.turn, s.system = t, ""
	return t, plain(s.terms.dir, t.system, text), nil
}

// dropped takes back a turn that did not begin; one that has ended meanwhile
// did.
func (s *session) dropped(t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == t && !t.ending {
		s.turn, s.system = nil, t.system
	}
	return !t.ending
}

// Decide answers a request. The gateway has no words for a reason, and none
// for a session: AllowSession allows this once.
func (s *session) Decide(ctx context.Context, d agent.PermissionDecision) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answer, ok := answers[d.Verdict]
	if !ok {
		return refuse("verdict %q: want allow, allow_session, deny or abort", d.Verdict)
	}
	id, ok := s.asks.take(d.CallID)
	if !ok {
		return agent.ErrNotPending
	}
	err := s.answer(ctx, id, answer)
	if r, ok := errors.AsType[*refusal](err); ok && r.gone() {
		err = agent.ErrNotPending
	}
	if err == nil || errors.Is(err, agent.ErrNotPending) {
		s.asks.settled(id)
		return err
	}
	s.asks.back(id)
	return classify(err)
}

// answers are the gateway's words for verdicts. To abort, the run is aborted:
// the gateway then denies what the run asked. To deny first would let the model
// go on, perhaps to the end of the turn, before the abort comes.
var answers = map[agent.PermissionVerdict]string{
	agent.Allow: "allow-once", agent.AllowSession: "allow-once", agent.Deny: "deny", agent.Abort: "",
}

func (s *session) answer(ctx context.Context, id, word string) error {
	if word == "" {
		return s.halt(ctx)
	}
	return s.conn.call(ctx, "exec.approval.resolve", object{"id": id, "decision": word}, nil)
}

func (s *session) Interrupt(ctx context.Context) error { return classify(s.halt(ctx)) }

// halt aborts the run under way, also when ctx has ended: then it does not
// wait to hear of it.
func (s *session) halt(ctx context.Context) error {
	t := s.underway()
	if t == nil {
		return nil
	}
	select {
	case <-t.answered: // the gateway knows the run
	case <-ctx.Done():
	case <-s.conn.done:
	}
	return s.conn.call(ctx, "chat.abort", object{"sessionKey": s.ID(), "runId": t.run}, nil)
}

// underway is the turn that has not ended.
func (s *session) underway() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn.ending {
		return nil
	}
	return s.turn
}

// Stop aborts what runs and leaves. The session stays with the gateway. An
// error says that the run may go on there.
func (s *session) Stop(ctx context.Context) error {
	s.mu.Lock()
	first, t := !s.stopped, s.turn
	s.stopped = true
	s.mu.Unlock()
	if !first {
		<-s.done
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.halt(patient)
	if t != nil && err == nil {
		select {
		case <-t.over:
		case <-patient.Done():
		case <-s.conn.done:
		}
	}
	s.conn.close(patient)
	<-s.done
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("the turn may go on in the gateway: %w", classify(err))
}
