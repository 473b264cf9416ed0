package session_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// another is another session of the same worker.
func (s *stage) another() *stage {
	return &stage{Engine: s.Engine, t: s.t, fake: s.fake, runs: s.runs, queue: s.queue, repo: s.repo}
}

// TestNoMoreAgentsLiveThanMay has more sessions speak than agents may live. Idle ones make room; each answers, twice.
func TestNoMoreAgentsLiveThanMay(t *testing.T) {
	t.Parallel()
	const most, sessions = 2, 5
	s := newStage(temporaltest.Shared(t), t, t, func(c *activities.Config) { c.Most = most })
	var over atomic.Int64
	s.fake.Refuse = func(agent.Options) error {
		if n := s.fake.Living(); n >= most {
			over.Store(int64(n + 1))
		}
		return nil
	}
	var all []*stage
	for range sessions {
		one := s.another()
		one.begin(session.Input{})
		all = append(all, one)
	}
	for round := range 2 {
		for _, one := range all {
			one.say(fmt.Sprint("m", round), "[[say:here]]")
		}
		for _, one := range all {
			one.answer(fmt.Sprint("m", round), session.Completed, "here")
		}
	}
	if n := over.Load(); n > 0 {
		t.Errorf("%d agents lived at once", n)
	}
	if n := len(s.fake.Starts()); n < 2*sessions-most {
		t.Errorf("%d starts: none made room", n)
	}
	for _, one := range all {
		one.must(sessionflow.RetireUpdate, sessionflow.By{})
		if err := one.Client.GetWorkflow(t.Context(), one.id.WorkflowID(), "").Get(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
}
