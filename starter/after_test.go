package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/clean"
	"github.com/ratchet-dev/ratchet/starter/internal/command/report"
)

// testAfter looks back at two runs, of which one is merged: by the report, the page and the checkout, and then cleans
// up.
func testAfter(b bench) {
	b.repo = filepath.Join(b.TempDir(), "bazaar")
	clitest.Git(b.T, clitest.Repository(b.T), "clone", "-q", ".", b.repo)
	clitest.Git(b.T, b.repo, "switch", "-q", "main")
	for range 2 {
		b.await(b.start("--approve", "never"), run.Completed)
	}
	empty := b.start()
	b.await(empty, run.AwaitingApproval)
	if got := b.expect(1, "show", empty); !strings.Contains(got.err, "only a run that has ended") {
		b.Errorf("a run that waits: %s", got.err)
	}
	b.expect(0, "cancel", empty)
	b.expect(0, "merge", "bazaar#1", "--squash", "--keep-branch")

	var r report.Report
	if err := json.Unmarshal([]byte(b.expect(0, "report", "--json", "--since", "1h").out), &r); err != nil {
		b.Fatal(err)
	}
	for _, row := range r.Repositories {
		if row.Name == b.repo && (row.Runs != 3 || row.Done != 2 || row.Canceled != 1 || row.Merged != 1 || row.Fixes != 2 || row.FirstTry != 0) {
			b.Errorf("report: %+v", row)
		}
	}
	if out := b.expect(0, "report").out; !strings.Contains(out, "first try") || !strings.Contains(out, "bazaar") {
		b.Errorf("report:\n%s", out)
	}
	b.expect(2, "report", "--since", "soon")
	for _, l := range b.listed() {
		if l.Repository == b.repo && l.Merged != (l.Name == "bazaar#1") {
			b.Errorf("the list says of %s merged: %v", l.Name, l.Merged)
		}
	}

	if page := b.expect(0, "show", "bazaar#2").out; !strings.Contains(page, "# Run 2 of bazaar\n\n```text\nMake it good\n") || !strings.Contains(page, "**completed**") || !strings.Contains(page, passes) {
		b.Errorf("page:\n%s", page)
	}
	testOpen(b)
	testClean(b)
}

func testOpen(b bench) {
	path := strings.TrimSpace(b.expect(0, "open", "bazaar#2").out)
	if text, err := os.ReadFile(filepath.Join(path, "state.txt")); err != nil || string(text) != "good\n" {
		b.Fatalf("%s: %q, %v", path, text, err)
	}
	clitest.Write(b.T, filepath.Join(path, "state.txt"), "mine\n")
	if again := strings.TrimSpace(b.expect(0, "open", "bazaar#2", "--print").out); again != path {
		b.Errorf("again at %s", again)
	}
	if text, err := os.ReadFile(filepath.Join(path, "state.txt")); err != nil || string(text) != "mine\n" {
		b.Errorf("what was changed there is %q, %v", text, err)
	}
}

// testClean removes the merged and the empty branch, and leaves the one whose commits no other branch has.
func testClean(b bench) {
	branches := func() string {
		return clitest.Git(b.T, b.repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/ratchet/")
	}
	before := branches()
	var found []clean.Leftover
	for _, args := range [][]string{{"clean", "--older", "0h", "--json"}, {"clean", "--older", "0h", "--yes", "--json"}} {
		if err := json.Unmarshal([]byte(b.expect(0, args...).out), &found); err != nil {
			b.Fatal(err)
		}
		why := map[string]string{}
		for _, l := range found {
			if l.Kind == "branch" && l.Repository == b.repo {
				why[l.Path] = l.Why
			}
			if l.Kind == "record" && (l.Removed || !l.Kept) {
				b.Errorf("%v takes the record of %s", args, l.Name)
			}
		}
		if len(why) != 3 || why["ratchet/1-make-it-good"] != "merged" || why["ratchet/2-make-it-good"] != "unmerged" || why["ratchet/3-make-it-good"] != "empty" {
			b.Errorf("%v finds %v", args, why)
		}
		if len(args) == 4 && branches() != before {
			b.Errorf("a dry run left %s", branches())
		}
	}
	if got := strings.TrimSpace(branches()); got != "ratchet/2-make-it-good" {
		b.Errorf("after the cleaning there are %q", got)
	}
	if out := b.expect(0, "clean", "--older", "0h").out; !strings.Contains(out, "stays: not merged; --unmerged removes it") {
		b.Errorf("what stays is not said:\n%s", out)
	}
	testBranchesThatStay(b)
	tip := strings.TrimSpace(clitest.Git(b.T, b.repo, "rev-parse", "ratchet/2-make-it-good"))
	if out := b.expect(0, "clean", "--older", "0h", "--unmerged", "--yes").out; !strings.Contains(out, tip[:12]) || strings.TrimSpace(branches()) != "" {
		b.Errorf("with --unmerged:\n%s%s", out, branches())
	}
	id := string(b.status("bazaar#2").RunID)
	testCheckoutThatStays(b, id)
	testRecordHalfRemoved(b)
	open := b.start("--base", "main~1")
	b.await(open, run.AwaitingApproval)
	if out := b.expect(0, "clean", "--older", "0h", "--records", "--unmerged", "--yes").out; !strings.Contains(out, "stays: its run is not over") {
		b.Errorf("a run that is not over:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(b.runsDir, "workflows", id)); err == nil {
		b.Error("the record is left")
	}
	if b.status(open).Status != run.AwaitingApproval || branches() == "" {
		b.Error("a run that is not over was touched")
	}
	b.expect(0, "cancel", open)
	if got := b.start("--base", "main~1"); got == "" {
		b.Error("no run starts")
	} else {
		b.await(got, run.AwaitingApproval)
		if n := b.status(got).Pending.Name.Number(); n != 5 {
			b.Errorf("after the records are gone the next number is %d", n)
		}
		b.expect(0, "cancel", got)
	}
}

// testCheckoutThatStays has the user's own change in the checkout of a run.
func testCheckoutThatStays(b bench, id string) {
	path := filepath.Join(b.runsDir, "checkouts", id)
	if out := b.expect(0, "clean", "--older", "0h", "--yes").out; !strings.Contains(out, "stays: it has changes or build output of yours; remove it yourself") {
		b.Errorf("what stays is not said:\n%s", out)
	}
	state := filepath.Join(strings.TrimSpace(b.expect(0, "open", id, "--print").out), "state.txt")
	if text, err := os.ReadFile(state); err != nil || string(text) != "mine\n" {
		b.Errorf("what was changed there is %q, %v", text, err)
	}
	clitest.Write(b.T, state, "good\n")
	top := filepath.Dir(state)
	clitest.Git(b.T, top, "switch", "-q", "-c", "mine")
	clitest.Git(b.T, top, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "mine")
	clitest.Git(b.T, top, "switch", "-q", "--detach", "HEAD~1")
	if b.expect(0, "clean", "--older", "0h", "--yes"); strings.TrimSpace(clitest.Git(b.T, top, "branch", "--list", "--format=%(subject)", "mine")) != "mine" {
		b.Error("a commit on another branch is lost")
	}
	clitest.Git(b.T, top, "branch", "-q", "-D", "mine")
	b.expect(0, "clean", "--older", "0h", "--yes")
	if _, err := os.Stat(path); err == nil {
		b.Error("the checkout is left")
	}
}

// testRecordHalfRemoved kills a clean while it removes a record. The rest is no record, and the next clean removes it.
func testRecordHalfRemoved(b bench) {
	cmd := exec.CommandContext(b.Context(), os.Args[0], "clean", "--older", "0h", "--records", "--yes", "--runs-dir", b.runsDir)
	cmd.Env = append(os.Environ(), asProgram+"=1", "RATCHET_FAILPOINTS=clean.half-removed=kill")
	if out, err := cmd.CombinedOutput(); err == nil {
		b.Fatalf("it was not killed:\n%s", out)
	}
	if got := b.expect(0, "report"); got.err != "" {
		b.Errorf("a report: %s", got.err)
	}
	before, whole := b.recordDirs()
	if before == whole {
		b.Error("the control: no record is half removed")
	}
	b.expect(0, "clean", "--older", "0h", "--records", "--yes")
	if after, whole := b.recordDirs(); after != whole {
		b.Errorf("of %d records %d are whole", after, whole)
	}
}

// recordDirs counts the directories of records, and those that have a run's name and its events.
func (b bench) recordDirs() (all, whole int) {
	b.Helper()
	dirs, err := os.ReadDir(filepath.Join(b.runsDir, "workflows"))
	clitest.Must(b.T, err)
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(b.runsDir, "workflows", dir.Name(), "events.ndjson")); err == nil && run.ID(dir.Name()).Validate() == nil {
			whole++
		}
	}
	return len(dirs), whole
}

// testBranchesThatStay has each reason for which a branch stays whatever the flags say.
func testBranchesThatStay(b bench) {
	clitest.Git(b.T, b.repo, "branch", "ratchet/77-stranger", "main")
	why := func(args ...string) map[string]string {
		var found []clean.Leftover
		if err := json.Unmarshal([]byte(b.expect(0, append(args, "--json")...).out), &found); err != nil {
			b.Fatal(err)
		}
		reasons := map[string]string{}
		for _, l := range found {
			if l.Kind != "branch" || l.Repository != b.repo {
				continue
			}
			reasons[l.Path] = l.Why
			if l.Kept != (l.Stays != "") || l.Removed {
				b.Errorf("%+v", l)
			}
		}
		return reasons
	}
	if got := why("clean", "--unmerged"); got["ratchet/2-make-it-good"] != "recent" || got["ratchet/77-stranger"] != "unknown" {
		b.Errorf("branches %v", got)
	}
	clitest.Git(b.T, b.repo, "switch", "-q", "ratchet/2-make-it-good")
	if got := why("clean", "--older", "0h", "--unmerged", "--yes"); got["ratchet/2-make-it-good"] != "inUse" {
		b.Errorf("branches %v", got)
	}
	clitest.Git(b.T, b.repo, "switch", "-q", "main")
	clitest.Git(b.T, b.repo, "branch", "-q", "-D", "ratchet/77-stranger")
}
