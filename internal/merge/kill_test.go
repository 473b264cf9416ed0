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
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/gittest"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/need"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// The test binary merges as the command does, and ends, where this variable holds what.
const jobVariable = "RATCHET_TEST_MERGE"

// The merge and its gits write no file longer than this number of bytes, if it is set: the disk is full for them.
const limitVariable = "RATCHET_TEST_FILE_LIMIT"

func limitFiles(to string) {
	if n, err := strconv.ParseUint(to, 10, 32); err == nil {
		signal.Ignore(syscall.SIGXFSZ) // a write fails instead
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
	}
}

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
	os.Exit(m.Run())
}

func mergeJob(text string) error {
	var in merge.Input
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := merge.Finish(ctx, in.Repository); err != nil {
		return err
	}
	p, err := merge.Prepare(ctx, in)
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
	b, err := r.jobCommand(in, environ...).CombinedOutput()
	return string(b), err
}

func (r repo) jobCommand(in merge.Input, environ ...string) *exec.Cmd {
	r.Helper()
	job, err := json.Marshal(in)
	if err != nil {
		r.Fatal(err)
	}
	cmd := exec.CommandContext(r.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), jobVariable+"="+string(job)), environ...)
	return cmd
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
// The branch is at the old commit or at the new one, and the same merge again finishes: each commit is there once,
// files and index match the branch, untracked files stay, and no lock or directory is left.
func TestAKilledMerge(t *testing.T) {
	need.Suite(t, need.CI)
	for i, point := range killPoints(t) {
		squash := i%2 == 0
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			in.Squash = squash
			r.write("a.txt", strings.Replace(lines, "nine", "NINE", 1))
			old := r.commit("mine")
			r.write(".git/info/exclude", "mine.log\n")
			r.write("mine.log", "not tracked\n")
			r.killAt(in, point)
			tip := run.Commit(r.git("rev-parse", "main"))
			if tip != old && r.git("log", "-1", "--format=%(trailers:key=Ratchet-Head,valueonly,separator=)", "main") != string(in.Head) {
				t.Errorf("main is at %s, neither old nor new", tip)
			}
			if out, err := r.job(in); err != nil {
				t.Fatalf("again: %v\n%s", err, out)
			}
			r.has(strings.Replace(mended, "nine", "NINE", 1))
			want := map[bool]string{false: "2", true: "1"}[squash]
			if n := r.git("rev-list", "--count", string(old)+"..main"); n != want {
				t.Errorf("%s commits, want %s", n, want)
			}
			if left := r.left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if got := r.git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" || r.read("mine.log") != "not tracked\n" {
				t.Errorf("references %q, the file %q", got, r.read("mine.log"))
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
			if !slices.Contains(points, found[1]) {
				points = append(points, found[1])
			}
		}
	}
	r, in := newRepo(t)
	log := filepath.Join(t.TempDir(), "points")
	if out, err := r.job(in, "RATCHET_FAILPOINT_LOG="+log); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	reached := strings.Fields(string(b))
	for _, point := range points {
		if !slices.Contains(reached, point) {
			t.Errorf("a merge does not reach %s", point)
		}
	}
	if len(points) < 8 {
		t.Fatalf("points %v", points)
	}
	return points
}

// cutOff kills a merge right after it has moved the branch, and leaves the files as a git does that was killed while it
// wrote them: one is new, one is removed, one is missing, and the index is old.
func cutOff(t *testing.T) (repo, merge.Input) {
	t.Helper()
	r, in := newRepo(t)
	r.killAt(in, "merge.after-swap")
	r.write("a.txt", mended)
	if err := os.Remove(filepath.Join(r.dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	return r, in
}

func TestFilesThatWereHalfWritten(t *testing.T) {
	need.Suite(t, need.CI)
	r, in := cutOff(t)
	if _, err := merge.Prepare(t.Context(), in); err != nil {
		t.Errorf("a merge that was made: %v", err)
	}
	other := in
	other.RunID, other.Head = "01890a5d-ac96-774b-bcce-b302099a8058", run.Commit(r.git("commit-tree", "main^{tree}", "-p", string(in.Base), "-m", "other"))
	before := r.git("status", "--porcelain")
	if _, err := merge.Prepare(t.Context(), other); !errors.Is(err, merge.ErrCutOff) || r.git("status", "--porcelain") != before {
		t.Errorf("another run's merge by itself: %v", err)
	}
	for range 2 {
		if err := merge.Finish(t.Context(), r.dir); err != nil {
			t.Fatal(err)
		}
		r.has(mended)
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Git has written some files when the disk is full. The branch does not go back behind them, and the next merge brings up
// the rest.
func TestADiskThatIsFullHalfWay(t *testing.T) {
	need.Suite(t, need.CI)
	r, in := newRepo(t)
	r.git("switch", "-q", branch)
	r.write("z.bin", strings.Repeat("\x00", 3<<20))
	in.Head = r.commit("Add much\n\nRatchet-Run: " + string(runID) + "\nRatchet-Iteration: 3\nRatchet-Patch: cccc")
	r.git("switch", "-q", "main")
	out, err := r.job(in, limitVariable+"=1000000")
	if err == nil || !strings.Contains(out, "not all of its files are written") || !strings.Contains(out, "z.bin") {
		t.Fatalf("error %v\n%s", err, out)
	}
	if tip := r.git("log", "-1", "--format=%s", "main"); tip != "Add much" || r.read("a.txt") != mended {
		t.Errorf("main is at %q, and a.txt holds %q", tip, r.read("a.txt"))
	}
	if out, err := r.job(in); err == nil || !strings.Contains(out, `"z.bin" is in the way`) {
		t.Errorf("beside half a file: %v\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(r.dir, "z.bin")); err != nil {
		t.Fatal(err)
	}
	if out, err := r.job(in); err != nil {
		t.Fatalf("again: %v\n%s", err, out)
	}
	r.has(mended)
	if left := r.left(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A change of the user's since then stays, and the merge names the file in its way.
func TestAFileThatTheUserChangedSinceIsNotFinished(t *testing.T) {
	need.Suite(t, need.CI)
	r, in := cutOff(t)
	r.write("a.txt", "mine\n")
	for range 2 {
		if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "a.txt") || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("error %v", err)
		}
		if r.read("a.txt") != "mine\n" {
			t.Fatalf("the user's file is %q", r.read("a.txt"))
		}
	}
	r.write("a.txt", lines)
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	r.has(mended)
}

// A repository that came from elsewhere holds a note that names a directory of the user's.
func TestANoteThatNamesAnotherDirectory(t *testing.T) {
	need.Suite(t, need.CI)
	for name, fill := range map[string]func(r repo, dir string){
		"a directory": func(r repo, dir string) {
			if err := os.Mkdir(dir, 0o755); err != nil {
				r.Fatal(err)
			}
		},
		"a work tree of a clone": func(r repo, dir string) {
			r.git("clone", "-q", r.dir, dir)
			repo{r.T, dir}.git("restore", "--source", "HEAD~2", "--staged", "--worktree", ".")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			r.killAt(in, "merge.after-swap")
			other := repo{t, filepath.Join(filepath.Dir(r.dir), "other")}
			fill(r, other.dir)
			r.write(".git/ratchet-merge/swap.json", strings.ReplaceAll(r.read(".git/ratchet-merge/swap.json"), strconv.Quote(r.dir), strconv.Quote(other.dir)))
			before := other.read("a.txt")
			if err := merge.Finish(t.Context(), r.dir); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(filepath.Join(other.dir, "b")); err == nil || other.read("a.txt") != before || len(r.left()) > 0 {
				t.Errorf("a.txt was %q and is %q, left %v", before, other.read("a.txt"), r.left())
			}
		})
	}
}

func TestANoteThatHoldsAnOption(t *testing.T) {
	need.Suite(t, need.CI)
	r, _ := newRepo(t)
	planted := filepath.Join(t.TempDir(), "planted")
	r.write(".git/ratchet-merge/swap.json", fmt.Sprintf(`{"ref":"refs/heads/main","from":"--output=%s","to":%q,"root":%q}`, planted, r.git("rev-parse", "main"), r.dir))
	if err := merge.Finish(t.Context(), r.dir); err == nil || !strings.Contains(err.Error(), "is no commit") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(planted); err == nil {
		t.Error("git has written a file that the note names")
	}
}

// A file that a .gitignore names is overwritten by git without a word.
func TestAnIgnoredFileIsNotFinished(t *testing.T) {
	need.Suite(t, need.CI)
	r, in := newRepo(t)
	r.write(".gitignore", "new.txt\n")
	r.commit("ignore")
	r.killAt(in, "merge.after-swap")
	r.write("b/new.txt", "mine\n")
	if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "b/new.txt") || r.read("b/new.txt") != "mine\n" {
		t.Fatalf("error %v, the user's file is %q", err, r.read("b/new.txt"))
	}
	if err := os.Rename(filepath.Join(r.dir, "b", "new.txt"), filepath.Join(t.TempDir(), "new.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	r.has(mended)
}

// While the checks of one merge run, another is killed. The first leaves the branch and what finishes the other.
func TestAMergeThatIsKilledMeanwhile(t *testing.T) {
	need.Suite(t, need.CI)
	r, in := newRepo(t)
	other := r.goOn(in, strings.Replace(lines, "two", "deux", 1))
	p, err := merge.Prepare(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	r.killAt(in, "merge.after-swap")
	tip := r.git("rev-parse", "main")
	if err := p.Apply(t.Context()); !errors.Is(err, merge.ErrCutOff) || r.git("rev-parse", "main") != tip {
		t.Errorf("error %v, main was %s and is %s", err, tip, r.git("rev-parse", "main"))
	}
	if err := merge.Finish(t.Context(), r.dir); err != nil {
		t.Fatal(err)
	}
	r.has(mended)
}

// A git that was killed leaves the lock of the index. Only the user knows whether it is his git's.
func TestALockedIndex(t *testing.T) {
	need.Suite(t, need.CI)
	r, in := cutOff(t)
	r.write(".git/index.lock", "")
	if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "index.lock") || !strings.Contains(err.Error(), "remove") {
		t.Errorf("error %v", err)
	}
	if err := os.Remove(filepath.Join(r.dir, ".git", "index.lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	r.has(mended)
}

// A git that was killed leaves the lock of the branch, or of the HEAD that names it.
func TestALockedBranch(t *testing.T) {
	need.Suite(t, need.CI)
	for _, name := range []string{"refs/heads/main.lock", "HEAD.lock"} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			lock := filepath.Join(r.dir, ".git", filepath.FromSlash(name))
			r.write(".git/"+name, "")
			before := r.state()
			if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "branch main is locked") || !strings.Contains(err.Error(), "remove "+lock+" if none does; then merge again") {
				t.Errorf("error %v", err)
			}
			if after := r.state(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if err := os.Remove(lock); err != nil {
				t.Fatal(err)
			}
			if _, err := r.merge(in); err != nil {
				t.Fatal(err)
			}
			r.has(mended)
		})
	}
}

// A branch that has moved since, or another that is checked out, says that the user has taken over.
func TestANoteThatIsNoLongerTrue(t *testing.T) {
	need.Suite(t, need.CI)
	for name, move := range map[string]func(repo){
		"the branch was put back": func(r repo) { r.git("reset", "-q", "--hard", "HEAD~2") },
		"another branch":          func(r repo) { r.git("switch", "-q", "--discard-changes", "-c", "other", "HEAD~2") },
		"no branch":               func(r repo) { r.git("checkout", "-q", "-f", "--detach") },
		"the branch is not there now": func(r repo) {
			r.git("switch", "-q", "--discard-changes", "-c", "other")
			r.git("branch", "-q", "-D", "main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := cutOff(t)
			move(r)
			before := r.git("status", "--porcelain") + r.git("rev-parse", "HEAD") + r.git("for-each-ref")
			if err := merge.Finish(t.Context(), r.dir); err != nil {
				t.Error(err)
			}
			if after := r.git("status", "--porcelain") + r.git("rev-parse", "HEAD") + r.git("for-each-ref"); after != before || len(r.left()) > 0 {
				t.Errorf("before\n%s\nafter\n%s\nleft %v", before, after, r.left())
			}
		})
	}
}
