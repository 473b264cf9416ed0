package merge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const runID run.ID = "01890a5d-ac96-774b-bcce-b302099a8057"

const branch = "ratchet/14-mend-it"

// repo is a user's repository, with main checked out, and the branch of a run with two commits.
type repo struct {
	*testing.T
	dir string
}

// git runs git as the user does: with the configuration that the test gives the process.
func (r repo) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (r repo) write(name, text string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r repo) read(name string) string {
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(b)
}

func (r repo) commit(message string) run.Commit {
	r.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return run.Commit(r.git("rev-parse", "HEAD"))
}

const lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"

// newRepo returns the repository and what merges its run.
func newRepo(t *testing.T, init ...string) (repo, merge.Input) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo{t, filepath.Join(dir, "shop")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "-q", "-b", "main"}, init...)...)
	r.write("a.txt", lines)
	r.write("gone.txt", "gone\n")
	base := r.commit("base")
	r.git("switch", "-q", "-c", branch)
	r.write("a.txt", strings.Replace(lines, "two", "TWO", 1))
	first := r.commit("Shout two\n\nRatchet-Run: " + string(runID) + "\nRatchet-Iteration: 1\nRatchet-Patch: aaaa")
	r.write("b/new.txt", "new\n")
	r.git("rm", "-q", "gone.txt")
	second := r.commit("Add a file\n\nRatchet-Run: " + string(runID) + "\nRatchet-Iteration: 2\nRatchet-Patch: bbbb")
	r.git("switch", "-q", "main")
	return r, merge.Input{
		Repository: r.dir, RunID: runID, Name: "shop#14", Goal: "Mend it\nall of it", Base: base, Head: second, By: "kim", Checks: []string{"go test ./..."},
		ApprovedBy: map[run.Commit]string{first: "kim", second: "lee"},
	}
}

func (r repo) merge(in merge.Input) (*merge.Plan, error) {
	if err := merge.Finish(r.Context(), in.Repository); err != nil {
		return nil, err
	}
	p, err := merge.Prepare(r.Context(), in)
	if err != nil {
		return nil, err
	}
	return p, p.Apply(r.Context())
}

// state is everything that a merge may change: references, index, files with their content, and what it leaves in the
// git directory.
func (r repo) state() string {
	r.Helper()
	var b strings.Builder
	if left := r.left(); len(left) > 0 {
		b.WriteString("left: " + strings.Join(left, " ") + "\n")
	}
	b.WriteString(r.git("for-each-ref", "--format=%(refname) %(objectname)"))
	b.WriteString(r.git("symbolic-ref", "HEAD") + r.git("ls-files", "-s") + r.git("status", "--porcelain", "--untracked-files=all"))
	_ = filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(path)
			b.WriteString(path + "\n" + string(text))
		}
		return err
	})
	return b.String()
}

// left returns the locks and directories of a merge that are in the git directory.
func (r repo) left() (paths []string) {
	r.Helper()
	dir := r.git("rev-parse", "--path-format=absolute", "--git-common-dir")
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".lock") || strings.Contains(path, "ratchet-merge")) {
			paths = append(paths, strings.TrimPrefix(path, dir))
		}
		return err
	})
	return paths
}
