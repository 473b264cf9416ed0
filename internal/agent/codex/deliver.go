package codex

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

var (
	_ agent.Watched  = (*session)(nil)
	_ agent.Modelled = (*session)(nil)
)

// Thread implements agent.Watched. It reads the last turns and then the status: a turn that begins in between is in the
// status, and one that ends there is in the turns still, so that neither passes for rest.
func (s *session) Thread(ctx context.Context) (agent.Thread, error) {
	turns, err := s.listTurns(ctx)
	if isRefused(err) {
		return s.readAllTurns(ctx)
	}
	if err != nil {
		return agent.Thread{}, err
	}
	return s.readThread(ctx, false, turns)
}

// readAllTurns reads the thread together with all of its turns, for a client that cannot list them. A client refuses
// that for a thread without a turn, which is therefore read alone.
func (s *session) readAllTurns(ctx context.Context) (agent.Thread, error) {
	t, err := s.readThread(ctx, true, nil)
	if isRefused(err) {
		return s.readThread(ctx, false, nil)
	}
	return t, err
}

// isRefused reports whether the client does not know the request, or not yet (CLIENT.md, 14).
func isRefused(err error) bool {
	var e *rpcError
	return errors.As(err, &e) && (e.Code == methodNotFound || e.Code == invalidRequest && !isUnknownThread(e))
}

// listTurns returns the last turns of the thread, the oldest first. Their items are whole: a summary leaves out every
// message but the first, and so the marker of a steer.
func (s *session) listTurns(ctx context.Context) (turns []wireTurn, err error) {
	params := object{"threadId": s.ID(), "limit": keptTurns, "sortDirection": "desc", "itemsView": fullItems}
	err = s.conn.callServer(ctx, "thread/turns/list", params, func(result json.RawMessage) error {
		var page struct {
			Data *[]wireTurn `json:"data"`
		}
		if err := json.Unmarshal(result, &page); err != nil || page.Data == nil {
			return badRequest("unexpected answer of codex about the turns of its thread, %.80q: %v", result, err)
		}
		turns = *page.Data
		if slices.ContainsFunc(turns, func(w wireTurn) bool { return w.View != "" && w.View != fullItems }) {
			return badRequest("codex was asked for whole turns of its thread and returned parts: %.80q", result)
		}
		return nil
	})
	slices.Reverse(turns)
	return turns, err
}

const fullItems = "full"

// readThread reads the thread. Its turns are in the answer if they are asked for, and otherwise the given ones.
func (s *session) readThread(ctx context.Context, ask bool, turns []wireTurn) (t agent.Thread, err error) {
	params := object{"threadId": s.ID(), "includeTurns": ask}
	err = s.conn.callServer(ctx, "thread/read", params, func(result json.RawMessage) error {
		var read struct {
			Thread wireThread `json:"thread"`
		}
		if err := json.Unmarshal(result, &read); err != nil {
			return badRequest("unexpected answer of codex about its thread, %.80q: %v", result, err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if read.Thread.ID != s.thread {
			return badRequest("codex was asked for thread %s and returned %s", s.thread, read.Thread.ID)
		}
		if !ask {
			read.Thread.Turns = turns
		}
		t = s.view.joinRead(read.Thread)
		return nil
	})
	return t, err
}

// delivered is the answer to a delivery.
type delivered struct {
	turn string
	err  error
}

// Deliver implements agent.Watched.
func (s *session) Deliver(ctx context.Context, d agent.Delivery) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", notSent(delivery.NotSent, err)
	}
	answer, err := s.sendDelivery(d)
	if err != nil {
		return "", err
	}
	select {
	case a := <-answer:
		return a.turn, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func notSent(class delivery.Refusal, err error) error {
	return &agent.Refused{Class: class, Cause: err}
}

// sendDelivery writes the request. An error says that nothing was written.
func (s *session) sendDelivery(d agent.Delivery) (<-chan delivered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.Child.Alive():
		return nil, notSent(delivery.NotSent, agent.ErrGone)
	case d.Text == "" || d.Marker == "":
		return nil, notSent(delivery.Permanent, badRequest("a result without a text or a marker"))
	case d.Expected == "" && (s.turn != nil || s.running.id != ""):
		return nil, notSent(delivery.Benign, agent.ErrBusy)
	case d.Expected != "" && s.running.id != d.Expected:
		return nil, notSent(delivery.Benign, agent.ErrNoTurn)
	}
	answer := make(chan delivered, 1)
	begin := s.steerCall
	if d.Expected == "" {
		begin = s.startCall
	}
	if err := s.conn.beginCall(begin(d, answer)); err != nil {
		s.forgetDelivery(d.Marker)
		return nil, notSent(delivery.NotSent, err)
	}
	failpoint.Hit("delivery.sent")
	return answer, nil
}

// messageParams is a message in the client's form. Nothing else goes with a delivery: what a request overrides
// holds for the later turns of the thread too, and for the turn that it may join.
func (s *session) messageParams(d agent.Delivery) object {
	return object{
		"threadId": s.thread, "clientUserMessageId": d.Marker,
		"input": []object{{"type": "text", "text": d.Text, "text_elements": []object{}}},
	}
}

func (s *session) steerCall(d agent.Delivery, answer chan<- delivered) *pendingCall {
	params := s.messageParams(d)
	params["expectedTurnId"] = d.Expected
	return &pendingCall{method: "turn/steer", params: params, once: true, done: func(raw json.RawMessage, err error) {
		var took struct {
			Turn string `json:"turnId"`
		}
		answer <- deliveredAs(raw, err, &took, &took.Turn)
	}}
}

// startCall begins a turn of the session's own, which ends as the turn of a Send does.
func (s *session) startCall(d agent.Delivery, answer chan<- delivered) *pendingCall {
	t := newTurn(d.Marker)
	t.delivery = true
	s.turn = t
	return &pendingCall{method: "turn/start", params: s.messageParams(d), once: true, done: func(raw json.RawMessage, err error) {
		var took struct {
			Turn wireTurn `json:"turn"`
		}
		a := deliveredAs(raw, err, &took, &took.Turn.ID)
		s.mu.Lock()
		defer s.mu.Unlock()
		var refused *agent.Refused
		if errors.As(a.err, &refused) {
			s.forgetDelivery(d.Marker)
		} else if a.err == nil && s.turn == t {
			s.nameTurn(t, a.turn)
		}
		answer <- a
	}}
}

// forgetDelivery forgets a turn that did not begin.
func (s *session) forgetDelivery(marker string) {
	if t := s.turn; t != nil && t.delivery && t.message == marker {
		s.turn = nil
		close(t.ended)
	}
}

// deliveredAs reads an answer. An answer that names no turn leaves open what happened.
func deliveredAs(raw json.RawMessage, err error, took any, turn *string) delivered {
	var e *rpcError
	switch {
	case errors.As(err, &e):
		return delivered{err: notSent(classOf(e), refusalError(e))}
	case err != nil:
		return delivered{err: err}
	case json.Unmarshal(raw, took) != nil || *turn == "":
		return delivered{err: unknownOutcome("codex accepted a message without naming its turn: %.80q", raw)}
	}
	return delivered{turn: *turn}
}

// classOf reads the structure of a refusal first and its text second (CLIENT.md, 5).
func classOf(e *rpcError) delivery.Refusal {
	var data struct {
		Info map[string]json.RawMessage `json:"codexErrorInfo"`
	}
	json.Unmarshal(e.Data, &data) // members of another type stay empty
	_, unsteerable := data.Info["activeTurnNotSteerable"]
	switch {
	case unsteerable:
		return delivery.Benign
	case e.Code == overloaded:
		return delivery.Busy
	case isUnknownThread(e):
		return delivery.Lost
	case e.Code == invalidRequest && (e.says("no active turn to steer") || e.says("expected active turn id")),
		e.Code == internalError && e.says("ActiveTurnNotSteerable"):
		return delivery.Benign
	}
	return delivery.Permanent
}
