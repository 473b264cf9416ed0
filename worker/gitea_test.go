package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	forgeflow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// gitea is a real server. GITEA_DIR holds its program and its sources, as .ci/nightly builds them.
type gitea struct {
	t      *testing.T
	dir    string
	url    string
	cmd    *exec.Cmd
	tokens map[string]string // by account
}

func startGitea(t *testing.T) *gitea {
	t.Helper()
	built := os.Getenv("GITEA_DIR")
	if built == "" {
		t.Fatal("GITEA_DIR is not set: .ci/nightly gitea builds the server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	g := &gitea{t: t, dir: t.TempDir(), url: "http://" + address, tokens: map[string]string{}}
	config := fmt.Sprintf(`RUN_MODE = prod
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %s
ROOT_URL = %s/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = %s
[database]
DB_TYPE = sqlite3
PATH = %s/gitea.db
[repository]
ROOT = %s/repositories
[security]
INSTALL_LOCK = true
SECRET_KEY = test
[log]
LEVEL = error
[actions]
ENABLED = false
[cron]
ENABLED = false
`, port, g.url, filepath.Join(built, "src"), g.dir, g.dir)
	if err := os.WriteFile(filepath.Join(g.dir, "app.ini"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g.run("migrate")
	for _, account := range []string{"kim", "ann", "bot"} {
		g.run("admin", "user", "create", "--username", account, "--password", "a-long-Passw0rd", "--email", account+"@example.com", "--must-change-password=false")
		said := strings.Fields(g.run("admin", "user", "generate-access-token", "--username", account, "--scopes", "all", "--raw"))
		g.tokens[account] = said[len(said)-1] // after a warning, for root
	}
	g.start()
	t.Cleanup(g.kill)
	return g
}

func (g *gitea) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(os.Getenv("GITEA_DIR"), "gitea"), append([]string{"--config", filepath.Join(g.dir, "app.ini"), "--work-path", g.dir}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+g.dir)
	return cmd
}

func (g *gitea) run(args ...string) string {
	g.t.Helper()
	out, err := g.command(args...).Output()
	if err != nil {
		g.t.Fatalf("gitea %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// start starts the server and waits until it answers.
func (g *gitea) start() {
	g.t.Helper()
	g.cmd = g.command("web")
	if err := g.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	eventually.Holds(g.t, "gitea answers", func() bool {
		resp, err := http.Get(g.url + "/api/v1/version")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

func (g *gitea) kill() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
}

// call makes a call of an account, and reports whether it has succeeded.
func (g *gitea) call(account, method, path string, in, out any) bool {
	g.t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		g.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.url+"/api/v1"+path, bytes.NewReader(b))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+g.tokens[account])
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Logf("%s %s: %v", method, path, err)
		return false
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode > 299 {
		g.t.Logf("%s %s: %d %.200s", method, path, resp.StatusCode, said)
		return false
	}
	return out == nil || json.Unmarshal(said, out) == nil
}

type pull struct {
	Number int
	Merged bool
	Head   struct{ SHA string }
}

// TestATicketOnARealGitea takes an issue of a real server to its merge: a failed check, another run, an approval by a
// review, and the merge by a person. The server dies by SIGKILL after the first commit and after the second.
func TestATicketOnARealGitea(t *testing.T) {
	need.Suite(t, need.Nightly)
	t.Parallel()
	g := startGitea(t)
	s := newFixture(t)
	must := func(ok bool, what string) {
		t.Helper()
		if !ok {
			t.Fatalf("the server refuses: %s", what)
		}
	}
	must(g.call("kim", http.MethodPost, "/user/repos", map[string]any{"name": "shop", "default_branch": "main"}, nil), "a repository")
	remote := g.url + "/kim/shop.git"
	s.git("-C", s.repo, "push", "-q", strings.Replace(remote, "http://", "http://kim:"+g.tokens["kim"]+"@", 1), "main")
	s.git("-C", s.repo, "remote", "add", "origin", remote)
	must(g.call("kim", http.MethodPut, "/repos/kim/shop/collaborators/bot", map[string]string{"permission": "write"}, nil), "a collaborator")
	must(g.call("ann", http.MethodPost, "/repos/kim/shop/issues", map[string]string{"title": "Add a file", "body": "Please."}, nil), "an issue")
	dir := t.TempDir()
	s.put(filepath.Join(dir, "provider.sh"), addsAFile)
	s.put(filepath.Join(dir, "plan.md"), planText)
	s.flags = []string{"-forge", "gitea:" + g.url + "=FORGE_TOKEN", "-forge-pace", "100ms"}
	s.spawn("FORGE_TOKEN=" + g.tokens["bot"])
	repo, err := forge.ParseRemote(remote)
	if err != nil {
		t.Fatal(err)
	}
	in := forgeflow.TicketInput{
		Ticket: forgeacts.Ticket{Repository: repo, Issue: 1, Base: "main", Input: s.input(fmt.Sprintf("command:/bin/sh %s/provider.sh %s", dir, dir))},
		Bounds: ticket.Bounds{Rounds: 3, Patience: time.Hour, Quiet: time.Millisecond, Reviews: 1},
	}
	in.Input.RunID, in.Input.Goal, in.Input.NoBaseline = "", "", true
	wr, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: forgeflow.TicketID(in.Ticket), TaskQueue: s.queue}, forgeflow.Ticket, in)
	if err != nil {
		t.Fatal(err)
	}
	own := func(head string) (state string) {
		var list []struct{ Context, Status string }
		g.call("kim", http.MethodGet, "/repos/kim/shop/commits/"+head+"/statuses", nil, &list)
		for _, e := range list { // the newest first
			if e.Context == forge.OwnContext && state == "" {
				state = e.Status
			}
		}
		return state
	}
	status := func(head, state string) bool {
		return g.call("kim", http.MethodPost, "/repos/kim/shop/statuses/"+head, map[string]string{"context": "build", "state": state, "description": "by the test"}, nil)
	}
	var heads []string
	eventually.Within(t, "the pull request is merged", 20*time.Minute, func() bool {
		var pulls []pull
		if !g.call("kim", http.MethodGet, "/repos/kim/shop/pulls?state=all", nil, &pulls) || len(pulls) == 0 {
			return false
		}
		p := pulls[0]
		switch state := own(p.Head.SHA); {
		case len(pulls) != 1:
			t.Fatalf("got %d pull requests, want 1", len(pulls))
		case p.Merged:
			return true
		case state == "":
		case len(heads) == 0:
			if status(p.Head.SHA, "failure") {
				heads = append(heads, p.Head.SHA)
				g.kill()
				g.start()
			}
		case len(heads) == 1 && p.Head.SHA != heads[0]:
			if status(p.Head.SHA, "success") && g.call("kim", http.MethodPost, fmt.Sprintf("/repos/kim/shop/pulls/%d/reviews", p.Number), map[string]string{"event": "APPROVED", "commit_id": p.Head.SHA}, nil) {
				heads = append(heads, p.Head.SHA)
				g.kill()
				g.start()
			}
		case len(heads) == 2 && state == "success":
			g.call("kim", http.MethodPost, fmt.Sprintf("/repos/kim/shop/pulls/%d/merge", p.Number), map[string]string{"Do": "merge", "head_commit_id": p.Head.SHA}, nil)
		}
		return false
	})
	var end ticket.State
	if err := wr.Get(t.Context(), &end); err != nil || end.End != ticket.Merged || end.Runs != 2 {
		t.Errorf("got %+v, %v; want a merge after 2 runs", end, err)
	}
	var comments []struct{ Body string }
	if g.call("kim", http.MethodGet, "/repos/kim/shop/issues/1/comments", nil, &comments); len(comments) != 1 || !strings.Contains(comments[0].Body, "**merged**") {
		t.Errorf("got comments %+v, want one with the end", comments)
	}
	g.verifyAnswers(repo)
}

// verifyAnswers compares answers that forgetest gives in the same form: lists without pages, permissions, and comments that
// others than their author may edit.
func (g *gitea) verifyAnswers(repo forge.Repo) {
	g.t.Helper()
	g.call("kim", http.MethodPost, "/repos/kim/shop/contents/x.txt", map[string]string{"new_branch": "extra", "content": "eAo=", "message": "x"}, nil)
	var p pull
	if !g.call("kim", http.MethodPost, "/repos/kim/shop/pulls", map[string]string{"head": "extra", "base": "main", "title": "x"}, &p) {
		g.t.Fatal("got no pull request")
	}
	head, path := p.Head.SHA, fmt.Sprintf("/repos/kim/shop/pulls/%d/reviews", p.Number)
	c, err := forge.Server{Kind: forge.Gitea, URL: g.url, Token: g.tokens["bot"]}.Open(repo)
	if err != nil {
		g.t.Fatal(err)
	}
	ctx := g.t.Context()
	if _, err := c.MayWrite(ctx, "kim"); err == nil || !strings.Contains(err.Error(), "administrator") {
		g.t.Errorf("permission: got %v, want that the account is no administrator", err)
	}
	review := map[string]any{"event": "REQUEST_CHANGES", "body": "no", "commit_id": head, "comments": []map[string]any{{"path": "x.txt", "body": "here", "new_position": 1}}}
	for _, account := range []string{"bot", "ann"} {
		g.call(account, http.MethodPost, path, review, nil)
	}
	list, err := c.Reviews(ctx, p.Number)
	if err != nil || len(list) != 2 {
		g.t.Fatalf("got reviews %+v, %v; want 2", list, err)
	}
	for i, want := range []bool{true, false} {
		r := list[i]
		if may, err := c.MayReview(ctx, r); err != nil || may != want || r.Commit != head || r.At.IsZero() {
			g.t.Errorf("got review %+v that counts: %v, %v; want %v", r, may, err, want)
		}
	}
	if comments, err := c.ReviewComments(ctx, p.Number, list[1].ID); err != nil || len(comments) != 1 || comments[0].Author != "ann" || comments[0].Line != 1 {
		g.t.Errorf("got comments %+v, %v; want one by ann on line 1", comments, err)
	}
	var comment struct{ ID int }
	approval := map[string]string{"body": "/approve " + head}
	g.call("kim", http.MethodPost, fmt.Sprintf("/repos/kim/shop/issues/%d/comments", p.Number), approval, &comment)
	if votes, err := c.Approvals(ctx, p.Number); err != nil || len(votes) != 1 || votes[0].Author != "kim" || votes[0].Commit != head {
		g.t.Errorf("got approvals %+v, %v; want kim's", votes, err)
	}
	eventually.Holds(g.t, "another account's edit is seen", func() bool { // times are of seconds
		for _, text := range []string{"other words", approval["body"]} { // the same words would be no edit
			g.call("bot", http.MethodPatch, fmt.Sprintf("/repos/kim/shop/issues/comments/%d", comment.ID), map[string]string{"body": text}, nil)
		}
		votes, err := c.Approvals(ctx, p.Number)
		return err == nil && len(votes) == 0
	})
}
