package pi

import (
	"fmt"
	"time"
)

// restPoll is how often a pi that rests is asked whether it still works.
const restPoll = 200 * time.Millisecond

// rest is the time after a run of pi's loop, which may be the turn's last. Pi
// tells when it is by agent_settled; one before 0.80.4 never does. It is asked
// then: of the runs that it makes by itself it begins the next at once, or tells
// what comes before it.
type rest struct {
	id     string // of the command that asks
	on     bool
	goesOn bool // pi has told that it repeats a request, or shortens the conversation
	timer  *time.Timer
}

// restID begins the ids of the commands that ask.
const restID = "rest-"

func newRest(n int) rest { return rest{id: fmt.Sprintf("%s%d", restID, n)} }

// end ends the rest.
func (r *rest) end() {
	r.on, r.goesOn = false, false
	if r.timer != nil {
		r.timer.Stop()
	}
}

// rests takes the end of a run.
func (s *session) rests(t *turn) {
	if s.settles || !t.begun || t.end != nil {
		return
	}
	t.rest.end()
	t.rest.on = true
	s.askSoon(t)
}

func (s *session) askSoon(t *turn) {
	t.rest.timer = time.AfterFunc(restPoll, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == t && t.rest.on {
			s.post(command{ID: t.rest.id, Type: "get_state"})
		}
	})
}

// takeRest takes the answer to whether pi still works. The turn has settled when
// it does not, and nothing was told that will have it go on. An answer that comes
// too late says nothing.
func (s *session) takeRest(t *turn, r response) {
	if t == nil || r.ID != t.rest.id || !t.rest.on {
		return
	}
	if !r.Success || t.rest.goesOn || read[state](r.Data).Running {
		s.askSoon(t)
		return
	}
	t.rest.end()
	s.settled(t)
}

// goesOn takes a notice that pi will go on by itself, or will not after all.
func (t *turn) goesOn(notice string) {
	switch notice {
	case "auto_retry_start", "compaction_start":
		t.rest.goesOn = true
	case "auto_retry_end", "compaction_end":
		t.rest.goesOn = false
	}
}
