package merge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// The test binary merges as the command does, and ends, where this variable holds what.
const jobVariable = "RATCHET_TEST_MERGE"

// The merge and its gits write no file longer than this number of bytes, if it is set: the disk is full for them.
const limitVariable = "RATCHET_TEST_FILE_LIMIT"

var templateDir string

func TestMain(m *testing.M) {
	gittest.Isolate()
	if job := os.Getenv(jobVariable); job != "" {
		limitFiles(os.Getenv(limitVariable))
		if err := mergeJob(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	var err error
	if templateDir, err = os.MkdirTemp("", "merge-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(templateDir)
	os.Exit(code)
}

func limitFiles(to string) {
	if n, err := strconv.ParseUint(to, 10, 32); err == nil {
		signal.Ignore(syscall.SIGXFSZ) // a write fails instead
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
	}
}

func mergeJob(text string) error {
	var in merge.Input
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	prepare := merge.Prepare
	if in.By == "undo" {
		prepare = merge.PrepareUndo
	}
	p, err := prepare(ctx, in)
	if err == nil {
		err = p.Apply(ctx)
	}
	if err == nil {
		err = merge.RemoveBranch(ctx, in.Repository, branch, in.Head)
	}
	return err
}

// job runs a merge in a process of its own.
func (r repo) job(in merge.Input, environ ...string) (out string, err error) {
	r.Helper()
	job, err := json.Marshal(in)
	if err != nil {
		r.Fatal(err)
	}
	cmd := exec.CommandContext(r.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), jobVariable+"="+string(job)), environ...)
	b, err := cmd.CombinedOutput()
	return string(b), err
}

// killAt kills a merge at a point.
func (r repo) killAt(in merge.Input, point string) {
	r.Helper()
	out, err := r.job(in, "RATCHET_FAILPOINTS="+point+"=kill")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Exited() || out != "" {
		r.Fatalf("%s: it was not killed: %v\n%s", point, err, out)
	}
}

// TestAKilledMerge kills the merge at each point of the sources, on a branch that is checked out and has moved on.
// The branch is at the old commit or at the new one, files and index match it, and the same merge again finishes: each
// commit is there once, untracked files stay, and nothing of the merge is left.
func TestAKilledMerge(t *testing.T) {
	for i, point := range killPoints(t) {
		squash := i%2 == 0
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			in.Squash = squash
			r.write("a.txt", nine(lines))
			old := r.commit("mine")
			r.write(".git/info/exclude", "mine.log\n")
			r.write("mine.log", "not tracked\n")
			r.killAt(in, point)
			r.clean()
			tip := run.Commit(r.git("rev-parse", "main"))
			if tip != old && r.git("log", "-1", "--format=%(trailers:key=Ratchet-Head,valueonly,separator=)", "main") != string(in.Head) {
				t.Errorf("main is at %s, neither old nor new", tip)
			}
			if out, err := r.job(in); err != nil {
				t.Fatalf("again: %v\n%s", err, out)
			}
			r.has(nine(mended))
			want := map[bool]string{false: "2", true: "1"}[squash]
			if n := r.git("rev-list", "--count", string(old)+"..main"); n != want {
				t.Errorf("%s commits, want %s", n, want)
			}
			if got := r.git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" || r.read("mine.log") != "not tracked\n" {
				t.Errorf("references %q, the file %q", got, r.read("mine.log"))
			}
			if trees := r.git("worktree", "list"); strings.Contains(trees, "\n") {
				t.Errorf("work trees:\n%s", trees)
			}
		})
	}
}

var hit = regexp.MustCompile(`failpoint\.Hit\("([^"]+)"\)`)

// killPoints returns the points in the sources of the package. An undisturbed merge must reach each.
func killPoints(t *testing.T) (points []string) {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range hit.FindAllStringSubmatch(string(b), -1) {
			points = append(points, found[1])
		}
	}
	r, in := newRepo(t)
	log := filepath.Join(t.TempDir(), "points")
	if out, err := r.job(in, "RATCHET_FAILPOINT_LOG="+log); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	reached := strings.Fields(r.read(log))
	for _, point := range points {
		if !slices.Contains(reached, point) {
			t.Errorf("a merge does not reach %s", point)
		}
	}
	if len(points) < 6 {
		t.Fatalf("points %v", points)
	}
	return points
}

// A git that is killed while it makes the temporary work tree leaves parts of it.
func TestARestOfATemporaryWorkTree(t *testing.T) {
	for name, plant := range map[string]func(r repo){
		"a tree that git does not know": func(r repo) { r.write(".git/ratchet-merge/a.txt", "") },
		"a tree that git has locked":    func(r repo) { r.git("worktree", "add", "-q", "--detach", "--lock", ".git/ratchet-merge") },
		"a tree that is not there": func(r repo) {
			r.git("worktree", "add", "-q", "--detach", ".git/ratchet-merge")
			r.removeAll(".git/ratchet-merge")
		},
		"a link to files of the user's":   func(r repo) { r.write("../kept/file", ""); r.link(r.beside("kept"), ".git/ratchet-merge") },
		"a lock that no process has":      func(r repo) { r.write(".git/ratchet-merge.lock", "") },
		"a further tree of the same name": func(r repo) { r.git("worktree", "add", "-q", "--detach", "../ratchet-merge") },
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			plant(r)
			r.merged(in)
			r.clean()
			if _, err := os.Stat(r.beside("kept/file")); strings.Contains(name, "link") && err != nil {
				t.Error(err)
			}
			if got := r.git("worktree", "list"); strings.Contains(got, ".git/ratchet-merge") || strings.Contains(got, "prunable") {
				t.Errorf("work trees:\n%s", got)
			}
		})
	}
}

func (r repo) removeAll(name string) {
	r.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
		r.Fatal(err)
	}
}

func (r repo) link(target, name string) {
	r.Helper()
	if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
		r.Fatal(err)
	}
}

// Merges at once take turns at the temporary work tree.
func TestMergesAtOnce(t *testing.T) {
	r, in := newRepo(t)
	var merges sync.WaitGroup
	for i := range 4 {
		in := in
		in.Into = fmt.Sprintf("release-%d", i)
		r.git("branch", in.Into)
		merges.Go(func() {
			if p, err := r.merge(in); err != nil || p.Commits != 2 {
				t.Errorf("%s: %+v, %v, want 2 commits", in.Into, p, err)
			}
		})
	}
	merges.Wait()
	if left := r.left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A git that is killed while it writes the files leaves what any `git merge` leaves: the branch at the old commit, the
// lock of the index and some files. What git says leads out of it.
func TestAGitThatIsKilledWhileItWritesFiles(t *testing.T) {
	r, in := newRepo(t)
	r.onBranch(&in, func() { r.write("z.txt", "z\n") })
	old := r.git("rev-parse", "main")
	r.write(".git/info/attributes", "z.txt filter=deadly\n")
	r.git("config", "filter.deadly.smudge", "kill -9 $PPID; cat")
	if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("error %v", err)
	}
	if tip := r.git("rev-parse", "main"); tip != old {
		t.Errorf("main was at %s and is at %s", old, tip)
	}
	r.git("config", "--unset", "filter.deadly.smudge")
	if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "index.lock") || !strings.Contains(err.Error(), "remove the file manually to continue") {
		t.Errorf("beside the lock: %v", err)
	}
	r.remove(".git/index.lock")
	if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "a.txt") && !strings.Contains(err.Error(), "b/new.txt") {
		t.Errorf("beside the files: %v", err)
	}
	r.git("reset", "-q", "--hard")
	r.git("clean", "-q", "-d", "--force")
	r.merged(in)
	r.has(mended)
}

// Git has written some files when the disk is full: the branch stays, and what git says names the file.
func TestADiskThatIsFullHalfWay(t *testing.T) {
	r, in := newRepo(t)
	r.onBranch(&in, func() { r.write("z.bin", strings.Repeat("\x00", 3<<20)) })
	old := r.git("rev-parse", "main")
	out, err := r.job(in, limitVariable+"=1000000")
	if err == nil || !strings.Contains(out, "z.bin") {
		t.Fatalf("error %v\n%s", err, out)
	}
	if tip := r.git("rev-parse", "main"); tip != old {
		t.Errorf("main was at %s and is at %s", old, tip)
	}
	r.git("reset", "-q", "--hard")
	r.git("clean", "-q", "-d", "--force")
	r.merged(in)
	r.has(mended)
}
