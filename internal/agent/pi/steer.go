package pi

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

var _ agent.Steerer = (*session)(nil)

// steering holds the messages that a turn is given after its prompt. Pi queues
// them, and reads its queue before each request to the model. It may settle a
// moment before a message arrives, which would then stay queued until the next
// prompt.
type steering struct {
	asked    map[string]chan response // the commands without an answer, by id
	queued   bool                     // pi has queued a message
	settling bool                     // pi has settled, and its queue is being read
	limit    *time.Timer              // ends that
}

// clearing is the id of the command that empties pi's queue.
const clearing = "clear_queue"

// queue is pi's queue, as clear_queue returns it.
type queue struct {
	Steering []string `json:"steering"`
}

// Steer implements agent.Steerer.
func (s *session) Steer(ctx context.Context, text string) error {
	answer, err := s.sendSteer(child.GuardPrompt(text))
	if err != nil {
		return err
	}
	select {
	case r := <-answer:
		if !r.Success {
			return badRequest("pi did not take the message into its turn: %s", r.Error)
		}
		return nil
	case <-s.Over:
		return agent.ErrGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) sendSteer(text string) (<-chan response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	if t == nil || !t.begun || t.interrupted || t.steering.settling || t.end != nil {
		return nil, agent.ErrNoTurn
	}
	s.steers++
	id, answer := fmt.Sprintf("steer-%d", s.steers), make(chan response, 1)
	t.steering.asked[id] = answer
	s.postFrame(command{ID: id, Type: "steer", Message: &text})
	return answer, nil
}

// takeSteered handles the answer to a steer command.
func (s *session) takeSteered(t *turn, r response) {
	t.steering.asked[r.ID] <- r
	delete(t.steering.asked, r.ID)
	t.steering.queued = t.steering.queued || r.Success
	if t.steering.settling {
		s.lookIntoQueue(t)
	}
}

// endUnlessSteered ends a turn, unless pi's queue may hold a message.
func (s *session) endUnlessSteered(t *turn) {
	if !t.steering.queued && len(t.steering.asked) == 0 {
		s.endTurn(t)
		return
	}
	t.steering.settling = true
	t.steering.limit = time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == t && t.steering.settling {
			s.endTurn(t)
		}
	})
	s.lookIntoQueue(t)
}

func (s *session) lookIntoQueue(t *turn) {
	if len(t.steering.asked) == 0 {
		s.postFrame(command{ID: clearing, Type: clearing})
	}
}

// takeQueue continues a turn whose messages came too late for it.
func (s *session) takeQueue(t *turn, r response) {
	if !t.steering.settling || t.end != nil {
		return // the queue was emptied for an interrupt
	}
	t.steering.limit.Stop()
	t.steering.settling, t.steering.queued = false, false
	late := decodeLenient[queue](r.Data).Steering
	if len(late) == 0 || t.interrupted {
		s.endTurn(t)
		return
	}
	t.begun, t.accepted = false, false
	text := strings.Join(late, "\n\n")
	s.postFrame(command{ID: t.prompt, Type: "prompt", Message: &text})
}

// emptyQueue empties pi's queue before an abort, because pi would continue with it.
func (s *session) emptyQueue(t *turn) {
	if t.steering.queued || len(t.steering.asked) > 0 {
		s.postFrame(command{ID: clearing, Type: clearing})
	}
}
