package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// baselines returns the baselines of a run's record, in order.
func (s *fixture) baselines(id run.ID) (list []*run.Baseline) {
	s.t.Helper()
	events, err := s.runs.Run(id).Events()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		if p, ok := e.Payload.(run.PhaseStarted); ok && p.Baseline != nil {
			list = append(list, p.Baseline)
		}
	}
	return list
}

// question waits for a question of the run other than the one seen last.
func (s *fixture) question(r *scripted, seen string) run.PendingQuestion {
	s.t.Helper()
	var p run.Pending
	eventually.Holds(s.t, "a question", func() bool {
		var err error
		p, err = query[run.Pending](s, r.in.RunID, workflows.PendingQuery)
		return err == nil && p.Question != nil && p.Question.QuestionID != seen
	})
	return *p.Question
}

func (s *fixture) reply(r *scripted, q run.PendingQuestion, text string) {
	s.t.Helper()
	if err := s.signal(s.t.Context(), r.in.RunID, workflows.AnswerMessage, run.Reply{QuestionID: q.QuestionID, Text: text}); err != nil {
		s.t.Fatal(err)
	}
}

// TestABaselineIsAskedAboutBeforeAnybodyIsPaid has checks on the base commit that cannot run, and that never
// end, and gives each of the three answers.
func TestABaselineIsAskedAboutBeforeAnybodyIsPaid(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.spawn()
	line := edit{file: "log.txt", line: "one"}
	t.Run("a program is missing, then installed", func(t *testing.T) {
		tool := filepath.Join(t.TempDir(), "tool")
		r := s.follow(newScript(run.Never, tool+" log.txt").patch("execute-1", line), 0)
		s.start(r.in)
		q := s.question(r, "")
		if !strings.Contains(q.Question.Question, "a program is missing") || !strings.Contains(q.Question.Question, tool) {
			t.Errorf("asked %q", q.Question.Question)
		}
		if count, _, err := r.calls(); err != nil || len(count) != 0 {
			t.Errorf("calls before the answer: %v, %v", count, err)
		}
		s.reply(r, q, "again")
		next := s.question(r, q.QuestionID)
		if err := proctest.WriteProgram(tool, "#!/bin/sh\nexec grep -q one \"$1\"\n"); err != nil {
			t.Fatal(err)
		}
		s.reply(r, next, "again")
		s.finish(t.Context(), r)
		s.verify(t, r, 0)
		if list := s.baselines(r.in.RunID); len(list) != 3 || list[2].Problem != nil || len(list[2].Failed) != 1 || list[0].Report.Name == list[1].Report.Name {
			t.Errorf("%d baselines: %+v", len(list), list)
		}
	})
	t.Run("it never ends, and the run goes on without", func(t *testing.T) {
		r := s.follow(newScript(run.Never, "test -s log.txt || exec sleep 600").patch("execute-1", line), 0)
		r.in.Timeouts.Check = 2 * time.Second
		s.start(r.in)
		q := s.question(r, "")
		for _, words := range []string{"timed out after 2s, no output", "empty cache", "network", "waits for input"} {
			if !strings.Contains(q.Question.Question, words) {
				t.Errorf("%q says nothing of %q", q.Question.Question, words)
			}
		}
		if left := s.processes(string(r.in.RunID)); len(left) > 0 {
			t.Errorf("the check still runs: %v", left)
		}
		s.reply(r, q, "without")
		s.finish(t.Context(), r)
		s.verify(t, r, 0)
	})
	t.Run("it never ends, and the run is stopped", func(t *testing.T) {
		r := s.follow(newScript(run.Never, "exec sleep 600").patch("execute-1", line), 0)
		r.in.Timeouts.Check = time.Second
		wr := s.start(r.in)
		s.reply(r, s.question(r, ""), "stop")
		_ = wr.Get(t.Context(), nil) // that it was canceled is read below
		count, _, err := r.calls()
		if state := s.state(r); state.Status != run.Canceled || err != nil || len(count) != 0 {
			t.Errorf("%s with calls %v, %v", state.Status, count, err)
		}
	})
	s.verifyFixture(t)
}
