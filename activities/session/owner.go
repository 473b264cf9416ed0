package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/conduct"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// HandedError is the type of the error of a handover of which it is not known whether the agent has it.
const HandedError = "HandedUnknown"

// sendLimit bounds the time that an agent may take to read a message.
const sendLimit = 20 * time.Second

// Say gives the agent a message, which begins a turn. It is on disk before that the message is about to be
// given. A second call with the same message and part finds that and gives nothing.
func (o *Owner) Say(ctx context.Context, h Handover) (HandResult, error) {
	s, err := o.a.findProcess(h.Session, h.Epoch)
	if err != nil {
		return HandResult{Reason: err.Error()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	text := h.Text
	if h.Part > 0 {
		text = conduct.ResumePrompt("end with your answer to my last message", h.Decided)
	}
	return s.handOver(h, false, func() error { return s.Send(ctx, text) })
}

// handOver begins a turn: it keeps in the note that the message is about to be given, and calls give.
func (s *agentProcess) handOver(h Handover, delivery bool, give func() error) (HandResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.note
	if l := before.Last; l != nil && l.ID == h.ID && before.Part >= h.Part {
		return HandResult{Done: true}, nil
	}
	if s.over {
		return HandResult{Reason: agent.ErrGone.Error()}, nil
	}
	if s.Session == nil || s.turn != nil {
		return HandResult{Reason: agent.ErrBusy.Error()}, nil
	}
	t := &turn{Handover: h, delivery: delivery, tools: map[string]bool{}}
	if l := before.Last; l != nil && l.ID == h.ID && l.Stage != session.Closed {
		t.before = l.Used
	}
	s.note.Last, s.note.Part = &session.Handed{ID: h.ID, Stage: session.Begun, Used: t.before}, h.Part
	if err := s.note.keepIn(s.slot); err != nil {
		s.note = before
		return HandResult{}, report.Permanent(HandedError, err)
	}
	failpoint.Hit("session.before-say")
	s.turn, s.last = t, time.Now()
	err := give()
	failpoint.Hit("session.said")
	if errors.Is(err, agent.ErrBusy) || errors.Is(err, agent.ErrGone) {
		return s.takeBack(before, err)
	}
	if err != nil {
		return HandResult{}, report.Permanent(HandedError, err)
	}
	return HandResult{Done: true}, nil
}

// takeBack undoes a handover that surely gave nothing.
func (s *agentProcess) takeBack(before note, why error) (HandResult, error) {
	s.note, s.turn = before, nil
	if err := s.note.keepIn(s.slot); err != nil {
		return HandResult{}, report.Permanent(HandedError, err)
	}
	return HandResult{Reason: why.Error()}, nil
}

// Decide sends the agent the decision on a tool call. A call that no longer waits is not decided.
func (o *Owner) Decide(ctx context.Context, v Verdict) (HandResult, error) {
	s, err := o.a.findProcess(v.Session, v.Epoch)
	if err != nil {
		return HandResult{Reason: err.Error()}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, ok := s.takeAsk(v.Permit)
	if !ok || s.over {
		return HandResult{Reason: agent.ErrNotPending.Error()}, nil
	}
	s.note.Spent = append(s.note.Spent, v.Permit.Digest)
	if err := s.note.keepIn(s.slot); err != nil {
		return HandResult{}, report.Permanent(HandedError, err)
	}
	d := agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny, Reason: v.Permit.Reason}
	switch {
	case v.Permit.Allow && v.Permit.Session:
		d.Verdict = agent.AllowSession
	case v.Permit.Allow:
		d.Verdict = agent.Allow
	case v.Final:
		d.Verdict = agent.Abort
	}
	failpoint.Hit("session.before-decide")
	err = s.answerCall(ctx, d)
	failpoint.Hit("session.decided")
	s.last = time.Now()
	if errors.Is(err, agent.ErrNotPending) || errors.Is(err, agent.ErrGone) {
		return HandResult{Reason: err.Error()}, nil
	}
	if err != nil {
		return HandResult{}, report.Permanent(HandedError, err)
	}
	return HandResult{Done: true}, nil
}

// takeAsk removes the call that waits for the decision.
func (s *agentProcess) takeAsk(p run.Permit) (agent.Permission, bool) {
	if s.turn == nil {
		return agent.Permission{}, false
	}
	i := slices.IndexFunc(s.turn.asks, func(a agent.Permission) bool {
		return report.Summary(a.CallID) == p.CallID && conduct.DigestOf(a) == p.Digest
	})
	if i < 0 {
		return agent.Permission{}, false
	}
	asked := s.turn.asks[i]
	s.turn.asks = slices.Delete(s.turn.asks, i, i+1)
	return asked, true
}

// Interrupt ends the current turn, whose end then says so. Without a turn it does nothing.
func (o *Owner) Interrupt(ctx context.Context, r ProcessRef) (HandResult, error) {
	s, err := o.a.findProcess(r.Session, r.Epoch)
	if err != nil {
		return HandResult{Reason: err.Error()}, nil
	}
	s.mu.Lock()
	works := s.turn != nil
	s.mu.Unlock()
	if !works {
		return HandResult{Reason: agent.ErrNoTurn.Error()}, nil
	}
	if err := s.Session.Interrupt(ctx); err != nil {
		return HandResult{}, err
	}
	return HandResult{Done: true}, nil
}
