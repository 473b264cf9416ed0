package webui_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// TestTheWebUIShowsTheWork looks at the pages around a run's details: what an activity is doing, what the history says
// of it, and the list of the runs that wait.
func TestTheWebUIShowsTheWork(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1440, 1200)
	s := newFixture(t, greetGo)
	b.enter(s)
	dir := t.TempDir()
	agent, open := filepath.Join(dir, "agent"), filepath.Join(dir, "open")
	script := "#!/bin/sh\ncat > /dev/null\necho '# The plan so far'\nuntil [ -e " + open + " ]; do sleep 0.1; done\necho and the rest\n"
	if err := proctest.WriteProgram(agent, script); err != nil {
		t.Fatal(err)
	}
	in := s.input("Work for a while", s.replay(map[string]string{"execute-1": greeting("a comma", `"Hello " + name`, `"Hello, " + name`)}), "true")
	in.Providers.Planner = "command:" + agent
	page := s.begin(in)

	b.openDetails(page, "Planning")
	b.open(page + "/pending-activities")
	b.awaitText("# The plan so far")
	b.keep("1-heartbeat")
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "the run asks for an approval", func() bool { return s.state(in.RunID).Status == run.AwaitingApproval })
	b.open(page + "/history")
	b.awaitText("execute 1: " + in.Providers.Developer)
	b.keep("2-history")

	list := s.ui + "/namespaces/default/workflows?query="
	b.open(list + url.QueryEscape(`RatchetStatus="awaiting_approval" AND RatchetRepository="`+s.repo+`"`))
	b.awaitText(in.RunID.WorkflowID())
	b.keep("3-list")
	b.open(list + url.QueryEscape(`RatchetPhase="plan"`))
	b.awaitText("No Workflows")
}
