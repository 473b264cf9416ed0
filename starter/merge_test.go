package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/merge"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

// testMerge merges runs into the branch that is checked out, and then into one that has moved on.
func testMerge(b bench) {
	b.repo = filepath.Join(b.TempDir(), "store")
	clitest.Git(b.T, clitest.Repository(b.T), "clone", "-q", ".", b.repo)
	clitest.Git(b.T, b.repo, "switch", "-q", "main")
	waiting := b.start()
	b.await(waiting, run.AwaitingApproval)
	if got := b.expect(1, "merge", waiting); !strings.Contains(got.err, "only a completed run") {
		b.Errorf("a run that waits: %s", got.err)
	}
	if got := b.expect(1, "undo", waiting); !strings.Contains(got.err, "there is nothing to undo") {
		b.Errorf("undo of a run that waits: %s", got.err)
	}
	b.expect(0, "cancel", waiting)
	id := b.start("--approve", "never")
	b.await(id, run.Completed)
	clitest.Write(b.T, filepath.Join(b.repo, "state.txt"), "mine\n")
	if got := b.expect(1, "merge", id); !strings.Contains(got.err, "'state.txt' not uptodate") {
		b.Errorf("a changed file in the way: %s", got.err)
	}
	clitest.Git(b.T, b.repo, "checkout", "-q", "--", "state.txt")
	clitest.Write(b.T, filepath.Join(b.repo, "other.txt"), "mine\n")
	clitest.Git(b.T, b.repo, "add", "other.txt")
	clitest.Git(b.T, b.repo, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "-m", "mine")
	if got := b.expect(2, "merge", id, "--into", b.branch(id)); !strings.Contains(got.err, "own branch") {
		b.Errorf("into itself: %s", got.err)
	}
	clitest.Git(b.T, b.repo, "switch", "-q", b.branch(id))
	if got := b.expect(2, "merge", id); !strings.Contains(got.err, "own branch") {
		b.Errorf("where its own branch is checked out: %s", got.err)
	}
	clitest.Git(b.T, b.repo, "switch", "-q", "main")
	if got := b.expect(2, "merge", id, "--toolchain", "none"); !strings.Contains(got.err, "--toolchain none: ") {
		b.Errorf("a toolchain that is missing: %s", got.err)
	}
	var out merge.Report
	if err := json.Unmarshal([]byte(b.expect(0, "merge", "store#2", "--squash", "--by", "kim", "--dry-run", "--json").out), &out); err != nil || !out.Rebased || out.Unchecked || len(out.Checks) != 1 || out.BranchRemoved {
		b.Errorf("a dry run: %+v, %v", out, err)
	}
	if head := strings.TrimSpace(clitest.Git(b.T, b.repo, "rev-parse", "HEAD")); head != string(out.Before) {
		b.Errorf("a dry run moved the branch to %s", head)
	}
	got := b.expect(0, "merge", "store#2", "--squash", "--by", "kim")
	for _, want := range []string{"store#2 onto main", "1 commit", "had moved on; the checks ran again", passes, "branch is removed"} {
		if !strings.Contains(got.out, want) {
			b.Errorf("it does not say %q:\n%s", want, got.out)
		}
	}
	if text := clitest.Git(b.T, b.repo, "show", "main:state.txt"); text != "good\n" || clitest.Git(b.T, b.repo, "status", "--porcelain") != "" {
		b.Errorf("main has %q, and\n%s", text, clitest.Git(b.T, b.repo, "status", "--porcelain"))
	}
	if message := clitest.Git(b.T, b.repo, "log", "-1", "--format=%B"); !strings.Contains(message, "\nMerged-by: kim (user "+newFactory(console.Console{}).UserName()+")\nRatchet-Name: store#2\nRatchet-Run: "+id) {
		b.Errorf("message:\n%s", message)
	}
	if branches := clitest.Git(b.T, b.repo, "for-each-ref", "refs/heads/ratchet/2-make-it-good"); branches != "" {
		b.Errorf("left: %s", branches)
	}
	if again := b.expect(0, "merge", id); !strings.Contains(again.out, "Nothing to merge: main already has these changes.") {
		b.Errorf("again: %s", again.out)
	}
	testUndo(b, id)
	testMergeThatFails(b)
	testMergeKilledInItsChecks(b)
}

// testUndo undoes a merged run on a branch, and says so wherever the run is shown.
func testUndo(b bench, id string) {
	clitest.Git(b.T, b.repo, "branch", "aside", "main~1")
	if got := b.expect(1, "undo", id, "--from", "aside"); !strings.Contains(got.err, "store#2 is not undone: undo on branch aside: the run is not merged there") {
		b.Errorf("where it is not merged: %s", got.err)
	}
	clitest.Git(b.T, b.repo, "branch", "-f", "aside", "main")
	if got := b.expect(0, "undo", "store#2", "--from", "aside", "--by", "kim"); !strings.Contains(got.out, "store#2 undone on aside, now at ") || !strings.Contains(got.out, "merge store#2") {
		b.Errorf("undo: %s", got.out)
	}
	if text := clitest.Git(b.T, b.repo, "show", "aside:state.txt"); text == "good\n" || clitest.Git(b.T, b.repo, "show", "aside:other.txt") != "mine\n" {
		b.Errorf("the branch has %q", text)
	}
	if !slices.ContainsFunc(b.listed(), func(l runs.Listed) bool { return string(l.ID) == id && l.Undone && !l.Merged }) {
		b.Error("the list does not say that it is undone")
	}
	if got := b.expect(0, "show", id); !strings.Contains(got.out, "Undone on branch `aside` at ") {
		b.Errorf("show: %s", got.out)
	}
	if got := b.expect(0, "undo", id, "--from", "aside"); !strings.Contains(got.out, "Nothing to undo: commit ") || !strings.Contains(got.out, "of aside has undone store#2.") {
		b.Errorf("again: %s", got.out)
	}
	clitest.Git(b.T, b.repo, "branch", "-q", "-D", "aside")
}

// testMergeThatFails has a check that passes on the run's branch and not on the branch that has moved on.
func testMergeThatFails(b bench) {
	clitest.Git(b.T, b.repo, "checkout", "-q", "-B", "main", "main~2")
	id := b.start("--approve", "never", "--check", passes, "--check", "test ! -e gone.txt", "--branch", "agents/{slug}-{short}")
	b.await(id, run.Completed)
	if b.saysMerged(id) {
		b.Error("the list takes the run's own branch for one of the user's")
	}
	clitest.Write(b.T, filepath.Join(b.repo, "gone.txt"), "here\n")
	clitest.Git(b.T, b.repo, "add", "-A")
	clitest.Git(b.T, b.repo, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "-m", "mine")
	before := clitest.Git(b.T, b.repo, "for-each-ref")
	if got := b.expect(1, "merge", id); !strings.Contains(got.err, "nothing was changed") || !strings.Contains(got.err, "gone.txt") {
		b.Errorf("a check that fails: %s", got.err)
	}
	if after := clitest.Git(b.T, b.repo, "for-each-ref"); after != before {
		b.Errorf("references were\n%s\nand are\n%s", before, after)
	}
	tree := filepath.Join(b.TempDir(), "tree")
	clitest.Git(b.T, b.repo, "worktree", "add", "-q", tree, b.branch(id))
	if got := b.expect(0, "merge", id, "--no-checks"); !strings.Contains(got.out, "no checks ran") || !strings.Contains(got.err, "stays: branch "+b.branch(id)+" is checked out at "+tree) {
		b.Errorf("without checks: %s%s", got.out, got.err)
	}
	if !b.saysMerged(id) {
		b.Error("the list does not say that it is merged")
	}
	record := filepath.Join(b.runsDir, "workflows", id)
	clitest.Must(b.T, os.Rename(record, record+".aside"))
	if b.saysMerged(id) {
		b.Error("the list says so without a record that names the run's own branch")
	}
	clitest.Must(b.T, os.Rename(record+".aside", record))
}

// saysMerged reports whether the list says that the run is merged.
func (b bench) saysMerged(id string) bool {
	b.Helper()
	return slices.ContainsFunc(b.listed(), func(l runs.Listed) bool { return string(l.ID) == id && l.Merged })
}

// testMergeKilledInItsChecks kills the command while a check runs. Nothing was moved, nothing of the check lives on, and
// the same command again finishes and leaves nothing.
func testMergeKilledInItsChecks(b bench) {
	clitest.Git(b.T, b.repo, "checkout", "-q", "-B", "main", strings.TrimSpace(clitest.Git(b.T, b.repo, "rev-list", "--max-parents=0", "main")))
	once := filepath.Join(b.TempDir(), "once")
	// In the run's own checks the file is not there yet, and they pass at once.
	id := b.start("--approve", "never", "--check", "test ! -e "+once+" || { mv "+once+" "+once+".seen; sleep 987; }")
	b.await(id, run.Completed)
	clitest.Write(b.T, filepath.Join(b.repo, "moved.txt"), "on\n")
	clitest.Git(b.T, b.repo, "add", "-A")
	clitest.Git(b.T, b.repo, "-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "-m", "mine")
	before := clitest.Git(b.T, b.repo, "for-each-ref") + clitest.Git(b.T, b.repo, "status", "--porcelain")
	clitest.Write(b.T, once, "")
	cmd := exec.CommandContext(b.Context(), os.Args[0], "merge", id, "--runs-dir", b.runsDir)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	eventually.Holds(b.T, "the check runs", func() bool {
		_, err := os.Stat(once + ".seen")
		return err == nil && len(speaking("sleep\x00987")) > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually.Holds(b.T, "the check has ended", func() bool { return len(speaking("sleep\x00987")) == 0 })
	if after := clitest.Git(b.T, b.repo, "for-each-ref") + clitest.Git(b.T, b.repo, "status", "--porcelain"); after != before {
		b.Errorf("before\n%s\nafter\n%s", before, after)
	}
	left := func() []string {
		found, _ := filepath.Glob(filepath.Join(b.runsDir, "*", "merge-*"))
		return found
	}
	if len(left()) == 0 {
		b.Error("the control: a killed merge leaves nothing")
	}
	if got := b.expect(0, "merge", id); !strings.Contains(got.out, "the checks ran again") || len(left()) > 0 {
		b.Errorf("left %v, and\n%s", left(), got.out)
	}
}
