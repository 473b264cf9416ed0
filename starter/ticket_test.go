package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// testTicket starts the ticket of an issue, twice, answers its question, stops it, and begins it again until it is merged.
func testTicket(b bench, server *forgetest.Server) {
	clitest.Git(b.T, b.repo, "push", "-q", server.Dir, "main")
	server.AddIssue(forgetest.Issue{Number: 7, Title: "Make it good", Body: "It is bad.", Author: "ann"})
	server.AddIssue(forgetest.Issue{Number: 8, IsPull: true})
	issue := func(n int) string { return fmt.Sprintf("%s/acme/shop/issues/%d", server.URL, n) }
	begin := func(url string, more ...string) []string {
		return append([]string{"ticket", url, "--repo", b.repo, "--provider", "replay:" + b.answers, "--check", passes, "--sandbox", "off", "--approve", "never"}, more...)
	}
	if got := b.expect(1, begin(issue(7))...); !strings.Contains(got.err, "no remote origin") {
		b.Errorf("without a remote: got %q", got.err)
	}
	clitest.Git(b.T, b.repo, "remote", "add", "origin", server.Remote())
	for _, row := range []struct {
		want string
		code int
		args []string
	}{
		{"invalid URL of an issue", 2, begin("acme/shop#7")},
		{"is a pull request", 2, begin(server.URL + "/acme/shop/pulls/7")},
		{"is a pull request", 1, begin(issue(8))},
		{"has no issue 9", 1, begin(issue(9))},
		{"no token for git.example", 1, begin("https://git.example/acme/shop/issues/7")},
		{"no branch release", 1, begin(issue(7), "--into", "release")},
		{"want an hour or more", 2, begin(issue(7), "--patience", "1s")},
		{"is negative", 2, begin(issue(7), "--rounds", "-1")},
		{"is negative", 2, begin(issue(7), "--reviews", "-1")},
		{"takes the place of a goal", 2, []string{"run", "a goal", "--issue", issue(7), "--repo", b.repo}},
		{"invalid URL of an issue", 2, []string{"run", "--issue", "acme/shop#7", "--repo", b.repo}},
		{"has no issue 9", 1, append([]string{"run", "--issue", issue(9)}, begin("")[2:]...)},
		{"no ticket", 1, []string{"ticket", "show", "77"}},
		{"no ticket", 1, []string{"ticket", "stop", "git.example/acme/other#7"}},
	} {
		if got := b.expect(row.code, row.args...); !strings.Contains(got.err, row.want) {
			b.Errorf("%v: got %q, want %q", row.args, got.err, row.want)
		}
	}
	if got := b.expect(0, begin(issue(7))...); !strings.Contains(got.out, "acme/shop#7") || !strings.Contains(got.out, "round 0") {
		b.Errorf("got %q, want the ticket and its run", got.out)
	}
	if got := b.expect(0, begin(issue(7))...); !strings.Contains(got.err, "was there already") {
		b.Errorf("asked for again: got %q", got.err)
	}
	show := func() (v runs.TicketView) {
		if err := json.Unmarshal([]byte(b.expect(0, "ticket", "show", issue(7), "--json").out), &v); err != nil {
			b.Fatal(err)
		}
		return v
	}
	eventually.Holds(b.T, "the ticket waits with a pull request", func() bool { v := show(); return v.State.Step == ticket.Waiting && v.State.Pull == 1 })
	server.ChangeIssue(7, func(i *forgetest.Issue) { i.Locked = true })
	eventually.Holds(b.T, "the ticket asks", func() bool { return show().State.Question != nil })
	eventually.Holds(b.T, "the list has the question", func() bool {
		got := b.expect(0, "list").out
		return strings.Contains(got, "Needs you") && strings.Contains(got, "acme/shop#7") && strings.Contains(got, "the issue is locked")
	})
	if got := b.expect(0, "ticket", "list").out; !strings.Contains(got, "the issue is locked") || !strings.Contains(got, "Make it good") {
		b.Errorf("got %q, want the question", got)
	}
	b.expect(0, "ticket", "answer", "7", "continue")
	eventually.Holds(b.T, "the question is answered", func() bool { return show().State.Question == nil })
	if got := b.expect(1, "ticket", "answer", "7", "continue"); !strings.Contains(got.err, "has no question") {
		b.Errorf("answered again: got %q", got.err)
	}
	b.expect(0, "ticket", "stop", "7")
	eventually.Holds(b.T, "the ticket is over", func() bool { return !show().Open })
	if v := show(); v.State.End != ticket.Stopped {
		b.Errorf("got %+v, want stopped", v)
	}
	if got := b.expect(1, "ticket", "stop", "7"); !strings.Contains(got.err, "is over") {
		b.Errorf("stopped again: got %q", got.err)
	}
	b.expect(0, "ticket", "retry", "7") // the issue is locked still
	eventually.Holds(b.T, "the ticket asks again", func() bool { return show().State.Question != nil })
	server.ChangeIssue(7, func(i *forgetest.Issue) { i.Locked = false })
	b.expect(0, "ticket", "retry", "7")
	server.Change(1, func(p *forgetest.Pull) { p.State, p.Merged = "closed", true })
	eventually.Holds(b.T, "the ticket is merged", func() bool { return show().State.End == ticket.Merged })
	if got := b.expect(1, "ticket", "retry", "7"); !strings.Contains(got.err, "nothing to retry") {
		b.Errorf("retried after the merge: got %q", got.err)
	}
	if n, m := len(server.Pulls()), len(server.Comments(7)); n != 1 || m != 1 {
		b.Errorf("got %d pull requests and %d comments, want 1 and 1", n, m)
	}
	testIssueAsGoal(b, server, append([]string{"run", "--detach", "--issue", issue(10)}, begin("")[2:]...))
	testLabel(b, server, begin("")[2:])
}

// testIssueAsGoal starts a run on an issue, which is its goal.
func testIssueAsGoal(b bench, server *forgetest.Server, args []string) {
	server.AddIssue(forgetest.Issue{Number: 10, Title: "Make it better", Body: "It is good.", Author: "ann"})
	id := strings.Fields(b.expect(0, args...).out)[0]
	b.expect(0, "watch", id)
	got := b.expect(0, "show", id).out
	if !strings.Contains(got, "Resolve issue #10: Make it better") || !strings.Contains(got, "issues/10") {
		b.Errorf("got %q, want the issue as the goal, and its address", got)
	}
}

// testLabel starts a ticket by a label that somebody with write permission has set, and none by a stranger's.
func testLabel(b bench, server *forgetest.Server, flags []string) {
	server.Permit("kim")
	server.Administrate() // of Gitea: it tells others not who may write
	for n, by := range map[int]string{11: "kim", 12: "mallory"} {
		server.AddIssue(forgetest.Issue{Number: n, Title: "Labeled by " + by, Body: "Please.", Author: "ann"})
		server.ChangeIssue(n, func(i *forgetest.Issue) { i.Labels = []*forgetest.Label{{Name: "ratchet", By: by}} })
	}
	if got := b.expect(0, append([]string{"ticket", "watch", "--label", "ratchet"}, flags...)...).out; !strings.Contains(got, "the label ratchet starts tickets") {
		b.Errorf("got %q, want that it watches", got)
	}
	eventually.Holds(b.T, "the label counts", func() bool {
		got := b.expect(0, "ticket", "watch", "--repo", b.repo).out
		return strings.Contains(got, "mallory has set the label")
	})
	eventually.Holds(b.T, "the label has started a ticket", func() bool {
		got := b.expect(0, "ticket", "list").out
		return strings.Contains(got, "Labeled by kim") && !strings.Contains(got, "Labeled by mallory")
	})
	b.expect(0, "ticket", "watch", "--off", "--repo", b.repo)
	b.expect(0, "ticket", "stop", "11")
}
