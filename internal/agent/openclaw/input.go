package openclaw

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Send begins a turn. If ctx ends first, a message that may have arrived is aborted
// again. Another run of the session is interrupted, because the message would be
// mixed into it.
func (s *session) Send(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, message, err := s.beginTurn(text)
	if err != nil {
		return err
	}
	err = s.conn.callGateway(ctx, "chat.send", object{
		"sessionKey": s.ID(), "message": message, "idempotencyKey": t.run, "deliver": false, "queueMode": "interrupt",
		"expectedPermissionMode": orNull(s.terms.mode),
	}, nil)
	close(t.answered)
	if err != nil && ctx.Err() != nil {
		_ = s.abortRun(ctx) // the caller gets ctx.Err() in any case
	}
	if err != nil && s.dropTurn(t) {
		s.withdrawAll()
		return classifyError(err)
	}
	return nil
}

func (s *session) beginTurn(text string) (t *turn, message string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.isAlive():
		return nil, "", agent.ErrGone
	case s.turn != nil:
		return nil, "", agent.ErrBusy
	}
	t = newTurn(uuid.NewString(), s.system)
	s.turn, s.system = t, ""
	return t, plainMessage(s.terms.dir, t.system, text), nil
}

// dropTurn takes back a turn that did not begin. A turn that has ended meanwhile did
// begin.
func (s *session) dropTurn(t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == t && !t.ending {
		s.turn, s.system = nil, t.system
	}
	return !t.ending
}

// Decide answers a request. The gateway takes no reason, and has no decision for a
// session: AllowSession allows this call once.
func (s *session) Decide(ctx context.Context, d agent.PermissionDecision) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answer, ok := verdictWords[d.Verdict]
	if !ok {
		return badRequest("verdict %q: want allow, allow_session, deny or abort", d.Verdict)
	}
	id, ok := s.approvals.beginDecision(d.CallID)
	if !ok {
		return agent.ErrNotPending
	}
	err := s.sendVerdict(ctx, id, answer)
	if r, ok := errors.AsType[*refusal](err); ok && r.isGone() {
		err = agent.ErrNotPending
	}
	if err == nil || errors.Is(err, agent.ErrNotPending) {
		s.approvals.removeRequest(id)
		return err
	}
	s.approvals.cancelDecision(id)
	return classifyError(err)
}

// verdictWords holds the gateway's words for verdicts. Abort has none, because it
// aborts the run: the gateway then denies the run's requests. If we denied first,
// the model could continue, perhaps to the end of the turn, before the abort comes.
var verdictWords = map[agent.PermissionVerdict]string{
	agent.Allow: "allow-once", agent.AllowSession: "allow-once", agent.Deny: "deny", agent.Abort: "",
}

func (s *session) sendVerdict(ctx context.Context, id, word string) error {
	if word == "" {
		return s.abortRun(ctx)
	}
	return s.conn.callGateway(ctx, "exec.approval.resolve", object{"id": id, "decision": word}, nil)
}

func (s *session) Interrupt(ctx context.Context) error { return classifyError(s.abortRun(ctx)) }

// abortRun aborts the run in progress, even if ctx has ended: then it does not wait
// for the answer.
func (s *session) abortRun(ctx context.Context) error {
	t := s.currentTurn()
	if t == nil {
		return nil
	}
	select {
	case <-t.answered: // the gateway knows the run
	case <-ctx.Done():
	case <-s.conn.done:
	}
	return s.conn.callGateway(ctx, "chat.abort", object{"sessionKey": s.ID(), "runId": t.run}, nil)
}

// currentTurn returns the turn that has not ended; nil if there is none.
func (s *session) currentTurn() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn.ending {
		return nil
	}
	return s.turn
}

// Stop aborts the run in progress and closes the connection. The session stays with
// the gateway. An error says that the run may continue there.
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
	err := s.abortRun(patient)
	if t != nil && err == nil {
		select {
		case <-t.over:
		case <-patient.Done():
		case <-s.conn.done:
		}
	}
	s.conn.closeConn(patient)
	<-s.done
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("the turn may continue in the gateway: %w", classifyError(err))
}
