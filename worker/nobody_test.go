package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/nobody"
	"github.com/ratchet-dev/ratchet/workflows"
)

// asNobody reports whether this process is to run the test, which it does
// without privileges: engine, workers, and what their runs start belong to a
// user that is not root. A test of the superuser starts itself again for that.
// An attack is such a test:
//
//	if !asNobody(t) {
//		return
//	}
//	s := newFixture(t)
//	s.spawn()
//	in := s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")}))
//	in.Checks = []string{attack}
//	res := s.outcome(in)
func asNobody(t *testing.T) bool {
	t.Helper()
	return nobody.RunsWithEngine(t)
}

// outcome starts a run, waits for its end, and returns how it ended.
func (s *fixture) outcome(in run.Input) run.State {
	s.t.Helper()
	wr := s.start(in)
	failed := wr.Get(s.t.Context(), nil) // as a run that failed does
	state, err := answer[run.State](s, in.RunID, workflows.StateQuery)
	if err != nil {
		s.t.Fatalf("%v, after %v", err, failed)
	}
	return state
}

// checked is what became of the one check of a run in its first iteration.
func (s *fixture) checked(id run.ID) check.Result {
	s.t.Helper()
	b, _, err := s.runs.Run(id).Find("evaluate/iter-0001.json")
	var e activities.Evaluation
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err != nil || len(e.Checks) != 1 {
		s.t.Fatalf("%d checks, %v", len(e.Checks), err)
	}
	return e.Checks[0]
}

func TestARunHasNoPrivilegesHere(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	if !asNobody(t) {
		return
	}
	s := newFixture(t)
	s.spawn()
	in := s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")}))
	in.Checks = []string{"id -u; cat /proc/self/status; ! cat /etc/shadow"}
	if res := s.outcome(in); res.Status != run.Completed {
		t.Fatalf("%+v: %s", res, s.workers.list[0].out)
	}
	if got := s.checked(in.RunID); !strings.Contains(got.Head, "CapEff:\t0000000000000000") {
		t.Errorf("the check has capabilities: %+v", got)
	}
}
