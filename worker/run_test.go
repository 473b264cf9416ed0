package main

import (
	"os"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// TestRunOnARealServer takes one run through a real engine, a real worker
// process and a real repository.
func TestRunOnARealServer(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	w := s.spawn()
	provider := s.replay(map[string]string{
		"plan-1": planText, "execute-1": appending("", "one"), "fix-2": appending("one", "two"),
	})
	in := s.input(provider)
	in.Checks = []string{"grep -q two log.txt"}
	var res workflows.RunResult
	if err := s.start(in).Get(t.Context(), &res); err != nil {
		t.Fatalf("%v\n%s", err, w.out)
	}
	if res.Status != run.Completed || res.Commits != 2 || res.Stat.Added != 2 {
		t.Errorf("result %+v", res)
	}
	if got := s.git("-C", s.repo, "show", res.Branch+":log.txt"); got != "one\ntwo" {
		t.Errorf("log.txt is %q", got)
	}
	if got := s.git("-C", s.repo, "status", "--porcelain"); got != "" {
		t.Errorf("the user's checkout changed: %s", got)
	}
	snapshot, err := s.runs.Run(in.RunID).Rebuild()
	if err != nil || snapshot.State.Status != run.Completed {
		t.Errorf("the record: %v", err)
	}
	if _, err := os.Stat(s.runs.Workspace(in.RunID)); !os.IsNotExist(err) {
		t.Errorf("the worktree is still there: %v", err)
	}
}
