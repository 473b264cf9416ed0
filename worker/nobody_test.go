package main

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/nobody"
	"github.com/ratchet-dev/ratchet/internal/run"
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
//	s := newSite(t)
//	s.spawn()
//	in := s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")}))
//	in.Checks = []string{attack}
//	res := s.outcome(in)
func asNobody(t *testing.T) bool {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the embedded engine: not with -short")
	}
	program, err := engine.Program(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return nobody.Runs(t, nobody.Lent{Variable: engine.ProgramVariable, Path: program})
}

// outcome starts a run and waits for its end.
func (s *site) outcome(in run.Input) (res workflows.RunResult) {
	s.t.Helper()
	if err := s.start(in).Get(s.t.Context(), &res); err != nil {
		s.t.Fatal(err)
	}
	return res
}

// evaluation is the report of the checks that a run keeps, as JSON.
func (s *site) evaluation(id run.ID, iteration string) string {
	s.t.Helper()
	b, _, err := s.runs.Run(id).Find("evaluate/iter-" + iteration + ".json")
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func TestARunHasNoPrivilegesHere(t *testing.T) {
	if !asNobody(t) {
		return
	}
	s := newSite(t)
	s.spawn()
	in := s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")}))
	in.Checks = []string{"id -u; cat /proc/self/status; ! cat /etc/shadow"}
	if res := s.outcome(in); res.Status != run.Completed {
		t.Fatalf("%+v: %s", res, s.staff.workers[0].out)
	}
	if report := s.evaluation(in.RunID, "0001"); !strings.Contains(report, `CapEff:\t0000000000000000`) {
		t.Errorf("the check has capabilities: %s", report)
	}
}
