package pi

import (
	"time"
)

// pausePoll is the interval at which a pausing pi is asked whether it still works.
const pausePoll = 200 * time.Millisecond

// pause is the time after a run of pi's loop, which may be the last of the turn.
// Pi reports the last with agent_settled; versions before 0.80.4 never do, and are
// asked instead. If pi makes another run by itself, it begins it at once, or
// reports the step before it.
type pause struct {
	id      string // of the command that asks
	waiting bool
	working bool // pi has reported that it repeats a request, or shortens the conversation
	timer   *time.Timer
}

// pauseID begins the ids of the commands that ask.
const pauseID = "rest-"

// endPause ends the pause.
func (r *pause) endPause() {
	r.waiting, r.working = false, false
	if r.timer != nil {
		r.timer.Stop()
	}
}

// beginPause handles the end of a run.
func (s *session) beginPause(t *turn) {
	if s.settles || !t.begun || t.end != nil {
		return
	}
	t.pause.endPause()
	t.pause.waiting = true
	s.pollSoon(t)
}

func (s *session) pollSoon(t *turn) {
	t.pause.timer = time.AfterFunc(pausePoll, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == t && t.pause.waiting {
			s.postFrame(command{ID: t.pause.id, Type: "get_state"})
		}
	})
}

// takePollAnswer handles pi's answer. The turn has ended if pi does not work and
// has reported nothing that continues the turn. An answer that comes too late is
// ignored.
func (s *session) takePollAnswer(t *turn, r response) {
	if t == nil || r.ID != t.pause.id || !t.pause.waiting {
		return
	}
	if !r.Success || t.pause.working || decodeLenient[state](r.Data).Running {
		s.pollSoon(t)
		return
	}
	t.pause.endPause()
	s.endUnlessSteered(t)
}

// noteNotice handles a notice that pi will continue by itself, or no longer will.
func (t *turn) noteNotice(notice string) {
	switch notice {
	case "auto_retry_start", "compaction_start":
		t.pause.working = true
	case "auto_retry_end", "compaction_end":
		t.pause.working = false
	}
}
