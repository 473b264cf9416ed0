package merge_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/merge"
)

// stopAt stops a merge at a point while the user acts, and returns how it ends.
func (r repo) stopAt(in merge.Input, point string, act func(repo)) (out string, err error) {
	r.Helper()
	cmd := r.jobCommand(in, "RATCHET_FAILPOINTS="+point+"=stop")
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		r.Fatalf("%s: it was not stopped: %v, %v\n%s", point, status, err, b.String())
	}
	act(r)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		r.Fatal(err)
	}
	err = cmd.Wait()
	return b.String(), err
}

// The user works in the work tree after the merge has tried whether git may write there. Git writes nothing then, and
// the branch goes back. The same merge later is whole.
func TestAWorkTreeThatChangesAtTheSwap(t *testing.T) {
	for _, row := range []struct {
		name, point string
		act, undo   func(repo)
		status      string
	}{
		{"a changed file", "merge.before-swap", editFile, restoreFile, " M a.txt"},
		{"a changed file", "merge.after-swap", editFile, restoreFile, " M a.txt"},
		{"a file in the way", "merge.after-swap", func(r repo) { r.write("b/new.txt", "mine\n") }, func(r repo) { r.git("clean", "-q", "-f", "b") }, "?? b/"},
		{"a merge", "merge.before-swap", func(r repo) { r.git("merge", "-q", "--no-ff", "--no-commit", "other") }, func(r repo) { r.git("merge", "--abort") }, "A  other.txt"},
		{"a merge", "merge.after-swap", beginMerge, func(r repo) { r.git("merge", "--quit") }, ""},
		{"a locked index", "merge.after-swap", func(r repo) { r.write(".git/index.lock", "") }, removeIndexLock, ""},
	} {
		t.Run(row.name+" at "+row.point, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			r.addOther()
			old := r.git("rev-parse", "main")
			out, err := r.stopAt(in, row.point, row.act)
			if err == nil || strings.Contains(out, "not all of its files") || strings.Contains(out, "reset") {
				t.Errorf("error %v\n%s", err, out)
			}
			if now := r.git("rev-parse", "main"); now != old {
				t.Errorf("main was at %s and is at %s", old, now)
			}
			if got := r.git("status", "--porcelain"); got != row.status {
				t.Errorf("status %q, want %q", got, row.status)
			}
			row.undo(r)
			if left := r.left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if out, err := r.job(in); err != nil {
				t.Fatalf("again: %v\n%s", err, out)
			}
			r.has(mended)
		})
	}
}

func editFile(r repo)    { r.write("a.txt", "mine\n") }
func restoreFile(r repo) { r.git("checkout", "-q", "--", "a.txt") }

// addOther makes a branch with a commit that touches no file of the run.
func (r repo) addOther() {
	r.git("switch", "-q", "-c", "other")
	r.write("other.txt", "other\n")
	r.commit("other")
	r.git("switch", "-q", "main")
}

// beginMerge leaves what a merge of the user's does that changes no file.
func beginMerge(r repo) { r.write(".git/MERGE_HEAD", r.git("rev-parse", "other")+"\n") }

func removeIndexLock(r repo) {
	if err := os.Remove(filepath.Join(r.dir, ".git", "index.lock")); err != nil {
		r.Fatal(err)
	}
}

// Another git moves the branch on while the merge has it at the new commit with the old files.
func TestABranchThatMovesOnBeforeItGoesBack(t *testing.T) {
	r, in := newRepo(t)
	out, err := r.stopAt(in, "merge.after-swap", func(r repo) {
		editFile(r)
		r.git("update-ref", "refs/heads/main", r.git("commit-tree", "main^{tree}", "-p", "main", "-m", "mine"))
	})
	if err == nil || !strings.Contains(out, "moved") || strings.Contains(out, "nothing was changed") {
		t.Errorf("error %v\n%s", err, out)
	}
	if got := r.git("log", "-1", "--format=%s", "main"); got != "mine" || r.read("a.txt") != "mine\n" || len(r.left()) > 0 {
		t.Errorf("main is at %q, a.txt holds %q, left %v", got, r.read("a.txt"), r.left())
	}
}

// A merge of the user's that was begun before the branch moved would take the run's changes back when it is finished.
func TestAMergeUnderWayIsNotFinishedOverACutOffOne(t *testing.T) {
	r, in := newRepo(t)
	r.addOther()
	old := r.git("rev-parse", "main")
	r.killAt(in, "merge.after-swap")
	beginMerge(r)
	tip := r.git("rev-parse", "main")
	_, err := r.merge(in)
	back := "git update-ref HEAD " + old + " " + tip
	if err == nil || !strings.Contains(err.Error(), back) || !strings.Contains(err.Error(), "do not commit") {
		t.Fatalf("error %v", err)
	}
	r.git(strings.Fields(back)[1:]...)
	r.clean()
	r.git("merge", "--quit")
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	r.has(mended)
}

// A file that is changed in the second in which git has looked at it has size and time as the index has them. Git tells
// it by the time of the index.
func TestAChangeInTheSecondOfTheIndex(t *testing.T) {
	r, in := newRepo(t)
	r.git("config", "core.trustctime", "false") // a test cannot set that time
	moves := r.git("reflog", "main")
	second := time.Now().Add(-time.Minute).Truncate(time.Second)
	setTime := func(name string) {
		if err := os.Chtimes(filepath.Join(r.dir, name), second, second); err != nil {
			t.Fatal(err)
		}
	}
	changed := strings.Replace(lines, "two", "2wo", 1)
	out, err := r.stopAt(in, "merge.before-apply", func(r repo) {
		setTime("a.txt")
		r.git("update-index", "--refresh")
		r.write("a.txt", changed)
		setTime("a.txt")
		setTime(".git/index")
	})
	if err == nil || !strings.Contains(out, "a.txt") || r.read("a.txt") != changed {
		t.Errorf("error %v, a.txt is %q\n%s", err, r.read("a.txt"), out)
	}
	if now := r.git("reflog", "main"); now != moves {
		t.Errorf("main has moved:\n%s", now)
	}
}

func TestALinkInThePlaceOfTheMergesDirectory(t *testing.T) {
	r, in := newRepo(t)
	other := t.TempDir()
	kept := filepath.Join(other, "scratch", "kept")
	if err := errors.Join(os.Mkdir(filepath.Dir(kept), 0o700), os.WriteFile(kept, nil, 0o600), os.Symlink(other, filepath.Join(r.dir, ".git", "ratchet-merge"))); err != nil {
		t.Fatal(err)
	}
	_, prepared := merge.Prepare(t.Context(), in)
	for what, err := range map[string]error{"finish": merge.Finish(t.Context(), r.dir), "prepare": prepared} {
		if err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(other, "lock")); err == nil {
		t.Error("a lock was made elsewhere")
	}
}
