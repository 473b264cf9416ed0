package main

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// conflicts brings two runs to a branch that has changed the same lines: one is retried at the terminal and merged on the
// page, the other the other way round. Then it takes the first back.
func (d *day) conflicts() {
	d.begin(d.beta, "two.txt", d.agent("codex", "codex-2", "two.txt")...)
	d.begin(d.beta, "three.txt", d.agent("codex", "codex-3", "three.txt")...)
	for _, name := range []string{"beta#7", "beta#8"} {
		d.approveByTool(name)
		d.await(name, run.Completed)
	}
	for _, name := range []string{"two.txt", "three.txt"} {
		clitest.Write(d.T, filepath.Join(d.beta, name), "bad\nnews\n")
	}
	d.commits(d.beta, "news")

	if got := d.starter("merge", "beta#7"); got.code == 0 || !strings.Contains(got.err, "starter retry beta#7 --onto main") {
		d.Errorf("a conflict: %+v", got)
	}
	d.expect(0, "retry", "beta#7", "--onto", "main", "--detach")
	d.page.approve(d, "beta#9")
	d.await("beta#9", run.Completed)
	d.page.submit(d, d.runPath("beta#9"), "merge", nil)
	d.has(d.beta, "two.txt", "good\nnews\n")

	d.page.submit(d, d.runPath("beta#8"), "merge", nil)
	d.page.submit(d, d.runPath("beta#8"), "retry", nil) // the page has the button as soon as the merge has failed
	watching := d.terminal("beta#10")
	watching.does("y", "Completed")
	watching.leaves(0)
	d.expect(0, "merge", "beta#10")
	d.has(d.beta, "three.txt", "good\nnews\n")

	d.expect(0, "undo", "beta#9")
	d.has(d.beta, "two.txt", "bad\nnews\n")
	d.has(d.beta, "three.txt", "good\nnews\n")
}

// sessions has three sessions of a real agent ask for a tool, and answers them at the terminal, on the page and by a
// command. All three wait in one list.
func (d *day) sessions() {
	var ids []string
	for range 3 {
		id := strings.TrimSpace(d.expect(0, "session", "start", "--provider", "claude", "--sandbox", "off", "--repo", d.alpha).out)
		d.expect(0, "session", "say", id, `[[tool:Bash {"command":"touch by-hand"}]][[say:It is there]]`, "--detach")
		ids = append(ids, id)
	}
	eventually.Holds(d.T, "all sessions wait for a person", func() bool {
		var waiting []inbox.Entry
		clitest.Must(d.T, json.Unmarshal([]byte(d.expect(0, "review", "--json").out), &waiting))
		return len(waiting) == len(ids)
	})
	asked := sit(d.T, "starter", 100, 30, "review", ids[0], "--runs-dir", d.runsDir)
	asked.awaits("Allow it?", 1)
	asked.types("y\r")
	asked.leaves(0)
	d.page.submit(d, "/sessions/"+ids[1], "decide", url.Values{"verb": {"approve"}})
	d.expect(0, "session", "decide", ids[2], "approve")
	for _, id := range ids {
		eventually.Holds(d.T, "the turn of "+id+" is over", func() bool {
			var s session.Snapshot
			clitest.Must(d.T, json.Unmarshal([]byte(d.expect(0, "session", "show", id, "--json").out), &s))
			return s.State == session.Idle && len(s.Past) == 1
		})
		if got := d.expect(0, "session", "diff", id); !strings.Contains(got.out, "by-hand") {
			d.Errorf("the changes of %s are %q, want the file by-hand", id, got.out)
		}
	}
	if got := d.expect(0, "review", "--json"); strings.TrimSpace(got.out) != "[]" {
		d.Errorf("%s waits still", got.out)
	}
}

// has waits for the content of a file, and for a work tree without changes.
func (d *day) has(repo, name, want string) {
	d.Helper()
	eventually.Holds(d.T, name+" is "+want, func() bool {
		text, err := os.ReadFile(filepath.Join(repo, name))
		return err == nil && string(text) == want && clitest.Git(d.T, repo, "status", "--porcelain") == ""
	})
}

func (d *day) runPath(name string) string { return "/runs/" + string(d.status(name).RunID) }

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// submit waits for a form of a page, and sends it with what a person chooses.
func (r *reviewer) submit(d *day, path, action string, chosen url.Values) {
	d.Helper()
	form := regexp.MustCompile(`(?s)<form [^>]*action="` + regexp.QuoteMeta(path+"/"+action) + `".*?</form>`)
	page, found := "", ""
	eventually.Holds(d.T, "a form to "+action+" on "+path, func() bool {
		req, err := http.NewRequestWithContext(d.Context(), http.MethodGet, r.base+path, nil)
		clitest.Must(d.T, err)
		_, page = r.send(d.T, req)
		found = form.FindString(page)
		return found != ""
	})
	values := url.Values{}
	for _, input := range hiddenInput.FindAllStringSubmatch(found, -1) {
		values.Set(input[1], html.UnescapeString(input[2]))
	}
	for name := range chosen {
		values.Set(name, chosen.Get(name))
	}
	if status, body := r.post(d.T, path+"/"+action, "application/x-www-form-urlencoded", values.Encode()); status != http.StatusOK {
		d.Fatalf("%s on %s: %d: %s", action, path, status, body)
	}
}
