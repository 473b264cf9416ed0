package pi

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

var _ agent.Steerer = (*session)(nil)

// steering is what a turn is given besides its prompt. Pi queues it, looks into
// its queue before each request to the model, and may settle a moment before
// something gets there: it would lie there until the next prompt.
type steering struct {
	asked    map[string]chan response // not answered yet, by id of the command
	queued   bool                     // pi has queued something
	settling bool                     // it has settled, and its queue is looked at
	limit    *time.Timer              // until when
}

// clearing is the id of the command that empties pi's queue.
const clearing = "clear_queue"

// queue is pi's, as clear_queue gives it back.
type queue struct {
	Steering []string `json:"steering"`
}

// Steer implements agent.Steerer.
func (s *session) Steer(ctx context.Context, text string) error {
	answer, err := s.steer(guarded(text))
	if err != nil {
		return err
	}
	select {
	case r := <-answer:
		if !r.Success {
			return bad("pi did not take the message into its turn: %s", r.Error)
		}
		return nil
	case <-s.over:
		return agent.ErrGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) steer(text string) (<-chan response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	if t == nil || !t.begun || t.interrupted || t.steering.settling || t.end != nil {
		return nil, agent.ErrNoTurn
	}
	s.steers++
	id, answer := fmt.Sprintf("steer-%d", s.steers), make(chan response, 1)
	t.steering.asked[id] = answer
	s.post(command{ID: id, Type: "steer", Message: &text})
	return answer, nil
}

// takeSteered takes the answer to a steer.
func (s *session) takeSteered(t *turn, r response) {
	t.steering.asked[r.ID] <- r
	delete(t.steering.asked, r.ID)
	t.steering.queued = t.steering.queued || r.Success
	if t.steering.settling {
		s.lookIntoQueue(t)
	}
}

// settled ends a turn, unless something may lie in pi's queue.
func (s *session) settled(t *turn) {
	if !t.steering.queued && len(t.steering.asked) == 0 {
		s.settle(t)
		return
	}
	t.steering.settling = true
	t.steering.limit = time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == t && t.steering.settling {
			s.settle(t)
		}
	})
	s.lookIntoQueue(t)
}

func (s *session) lookIntoQueue(t *turn) {
	if len(t.steering.asked) == 0 {
		s.post(command{ID: clearing, Type: clearing})
	}
}

// takeQueue goes on with a turn whose steering came too late for it.
func (s *session) takeQueue(t *turn, r response) {
	if !t.steering.settling || t.end != nil {
		return // it was emptied for an interrupt
	}
	t.steering.limit.Stop()
	t.steering.settling, t.steering.queued = false, false
	late := read[queue](r.Data).Steering
	if len(late) == 0 || t.interrupted {
		s.settle(t)
		return
	}
	t.begun, t.accepted = false, false
	text := strings.Join(late, "\n\n")
	s.post(command{ID: t.prompt, Type: "prompt", Message: &text})
}

// drop empties pi's queue before an abort, which would go on with it.
func (s *session) drop(t *turn) {
	if t.steering.queued || len(t.steering.asked) > 0 {
		s.post(command{ID: clearing, Type: clearing})
	}
}
