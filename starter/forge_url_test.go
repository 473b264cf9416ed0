package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/schedule"
)

// TestForgeOnAURL opens a pull request, works on a ticket and fires a schedule for a repository that nobody has cloned.
func TestForgeOnAURL(t *testing.T) {
	need.Suite(t, need.CI)
	t.Chdir(t.TempDir())
	server := forgetest.New(t, forge.GitHub)
	clitest.Git(t, clitest.Repository(t), "push", "-q", server.Dir, "main")
	ca := server.UseTLS(t)
	t.Setenv("GIT_SSL_CAINFO", ca)
	gittest.UseHelper(t, "kim", forgetest.Token)
	token := filepath.Join(t.TempDir(), "token")
	clitest.Must(t, os.WriteFile(token, []byte(forgetest.Token), 0o600))
	b := bench{t, filepath.Join(t.TempDir(), "runs"), "", answers(t)}
	defer bringUp(t, b.runsDir, "--forge", "github:"+server.URL+"="+token, "--forge-ca", ca, "--forge-pace", "50ms")()
	flags := []string{"--repo", server.Remote(), "--provider", "replay:" + b.answers, "--check", passes, "--sandbox", "off"}
	t.Run("a pull request", func(t *testing.T) {
		b.T = t
		id := strings.TrimSpace(b.expect(0, append([]string{"run", "make it good", "--approve", "never", "--detach"}, flags...)...).out)
		b.await(id, run.Completed)
		for _, want := range []string{"pull request #1", "is up to date"} {
			if got := b.expect(0, "pr", id).out; !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		p := server.Pulls()[0]
		if head := server.Branch(p.Head); p.Draft || p.Base != "main" || gittest.Run(t, server.Dir, "show", head+":state.txt") != "good" || len(server.Statuses(head)) != 1 {
			t.Errorf("got %+v and statuses %+v, want a pull request that is ready, with one", p, server.Statuses(head))
		}
	})
	t.Run("a ticket", func(t *testing.T) {
		b.T = t
		server.AddIssue(forgetest.Issue{Number: 7, Title: "Make it good", Body: "It is bad.", Author: "ann"})
		b.expect(0, append([]string{"ticket", server.URL + "/acme/shop/issues/7", "--approve", "never"}, flags...)...)
		show := func() (v runs.TicketView) {
			if err := json.Unmarshal([]byte(b.expect(0, "ticket", "show", "7", "--json").out), &v); err != nil {
				t.Fatal(err)
			}
			return v
		}
		eventually.Holds(t, "the ticket waits with a pull request", func() bool { v := show(); return v.State.Step == ticket.Waiting && v.State.Pull == 2 })
		head := server.Branch(server.Pulls()[1].Head)
		server.SetChecks(head, forgetest.Check{Name: "build", Conclusion: "success"})
		server.Change(2, func(p *forgetest.Pull) { p.State, p.Merged = "closed", true })
		eventually.Holds(t, "the ticket is merged", func() bool { return show().State.End == ticket.Merged })
		if n := len(server.Comments(7)); n != 1 {
			t.Errorf("got %d comments, want 1", n)
		}
	})
	t.Run("a schedule", func(t *testing.T) {
		b.T = t
		b.expect(0, append([]string{"schedule", "create", "nightly", "Make it good", "--approve", "never", "--cron", "0 3 * * *"}, flags...)...)
		gittest.Run(t, server.Dir, "update-ref", "refs/heads/main", gittest.Run(t, server.Dir, "commit-tree", "-p", "main", "-m", "later", "main^{tree}"))
		b.expect(0, "schedule", "trigger", "nightly")
		var s schedule.Shown
		eventually.Holds(t, "the schedule has fired", func() bool {
			if err := json.Unmarshal([]byte(b.expect(0, "schedule", "show", "nightly", "--json").out), &s); err != nil {
				t.Fatal(err)
			}
			return len(s.Last) == 1 && b.starter("status", s.Last[0].RunID).code == 0
		})
		id := s.Last[0].RunID
		b.await(id, run.Completed)
		branch := b.branch(id)
		if base := gittest.Run(t, server.Dir, "rev-parse", "main"); gittest.Run(t, server.Dir, "merge-base", "main", branch) != base {
			t.Errorf("the run of %s does not begin at the last commit %s", branch, base)
		}
		if got := fmt.Sprint(s); !strings.Contains(got, server.Remote()) {
			t.Errorf("got %s, want the URL", got)
		}
	})
}
