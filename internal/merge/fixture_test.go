package merge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const runID run.ID = "01890a5d-ac96-774b-bcce-b302099a8057"

const branch = "ratchet/14-mend-it"

// repo is a user's repository, with main checked out, and the branch of a run with two commits.
type repo struct {
	testing.TB
	dir string
}

// git runs git as the user does: with the configuration that the test gives the process.
func (r repo) git(args ...string) string {
	r.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (r repo) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
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

// hook writes a program, and returns the file that it writes a line to for each start: its arguments.
func (r repo) hook(name, rest string) (log string) {
	r.Helper()
	log = r.beside(filepath.Base(name) + ".log")
	r.write(name, "#!/bin/sh\necho \"$@\" >>"+log+"\n"+rest)
	if err := os.Chmod(filepath.Join(r.dir, name), 0o755); err != nil {
		r.Fatal(err)
	}
	return log
}

func (r repo) read(name string) string {
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(r.dir, name)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(b)
}

func (r repo) remove(name string) {
	r.Helper()
	if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
		r.Fatal(err)
	}
}

// beside returns a path beside the repository.
func (r repo) beside(name string) string { return filepath.Join(filepath.Dir(r.dir), name) }

// at is another repository, or another work tree of this one, beside it.
func (r repo) at(name string) repo { return repo{r.TB, r.beside(name)} }

func (r repo) commit(message string) run.Commit {
	r.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return run.Commit(r.git("rev-parse", "HEAD"))
}

// onBranch adds a commit to the run's branch.
func (r repo) onBranch(in *merge.Input, change func()) {
	r.Helper()
	r.git("switch", "-q", branch)
	change()
	in.Head = r.commit("One more\n\nRatchet-Run: " + string(runID) + "\nRatchet-Iteration: 3\nRatchet-Patch: cccc")
	r.git("switch", "-q", "main")
}

const lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"

// mended is what the run makes of lines.
var mended = strings.Replace(lines, "two", "TWO", 1)

// nine is lines with another change of the user's.
func nine(text string) string { return strings.Replace(text, "nine", "NINE", 1) }

var (
	templates   = map[string]func() (string, merge.Input){}
	templatesMu sync.Mutex
)

// newRepo returns the repository and what merges its run.
func newRepo(t testing.TB, init ...string) (repo, merge.Input) {
	t.Helper()
	templatesMu.Lock()
	key := strings.Join(init, " ")
	if templates[key] == nil {
		templates[key] = sync.OnceValues(func() (string, merge.Input) { return makeTemplate(t, init) })
	}
	template := templates[key]
	templatesMu.Unlock()
	from, in := template()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo{t, filepath.Join(dir, "shop")}
	if err := os.CopyFS(r.dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	in.Repository = r.dir
	in.ApprovedBy = map[run.Commit]string{run.Commit(r.git("rev-parse", branch+"~1")): "kim", in.Head: "lee"}
	return r, in
}

func makeTemplate(t testing.TB, init []string) (string, merge.Input) {
	t.Helper()
	r := repo{t, filepath.Join(templateDir, strings.Join(append(init, "repo"), "_"))}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "-q", "-b", "main"}, init...)...)
	r.write("a.txt", lines)
	r.write("gone.txt", "gone\n")
	base := r.commit("base")
	r.git("switch", "-q", "-c", branch)
	r.write("a.txt", mended)
	r.commit("Shout two\n\nRatchet-Run: " + string(runID) + "\nRatchet-Iteration: 1\nRatchet-Patch: aaaa")
	r.write("b/new.txt", "new\n")
	r.git("rm", "-q", "gone.txt")
	head := r.commit("Add a file\n\nRatchet-Run: " + string(runID) + "\nRatchet-Iteration: 2\nRatchet-Patch: bbbb")
	r.git("switch", "-q", "main")
	return r.dir, merge.Input{RunID: runID, Name: "shop#14", Goal: "Mend it\nall of it", Base: base, Head: head, By: "kim", Checks: []string{"go test ./..."}}
}

func (r repo) merge(in merge.Input) (*merge.Plan, error) {
	p, err := merge.Prepare(r.Context(), in)
	if err != nil {
		return nil, err
	}
	return p, p.Apply(r.Context())
}

// merged is merge, which must succeed.
func (r repo) merged(in merge.Input) *merge.Plan {
	r.Helper()
	p, err := r.merge(in)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// refused is merge, which must say why not and change nothing.
func (r repo) refused(in merge.Input, says string) error {
	r.Helper()
	before := r.state()
	_, err := r.merge(in)
	if err == nil || !strings.Contains(err.Error(), says) {
		r.Errorf("error %v, want one that says %q", err, says)
	}
	if after := r.state(); after != before {
		r.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	return err
}

// clean fails unless files and index match HEAD.
func (r repo) clean() {
	r.Helper()
	if got := r.git("status", "--porcelain", "--untracked-files=all"); got != "" {
		r.Errorf("the work tree differs:\n%s", got)
	}
}

// has fails unless the work tree has the run's changes, with a.txt as given, and nothing of the merge is left.
func (r repo) has(a string) {
	r.Helper()
	if got := r.read("a.txt"); got != a {
		r.Errorf("a.txt is %q, want %q", got, a)
	}
	if r.read("b/new.txt") != "new\n" || !strings.Contains(r.read("gone.txt"), "no such file") {
		r.Errorf("new.txt %q, gone.txt %q", r.read("b/new.txt"), r.read("gone.txt"))
	}
	if left := r.left(); len(left) > 0 {
		r.Errorf("left: %v", left)
	}
	r.clean()
}

// state is everything that a merge may change: references, index, files with their content, and what it leaves in the
// git directory.
func (r repo) state() string {
	r.Helper()
	var b strings.Builder
	b.WriteString("left: " + strings.Join(r.left(), " ") + "\n")
	b.WriteString(r.git("for-each-ref", "--format=%(refname) %(objectname)") + r.read(".git/HEAD"))
	b.WriteString(r.git("ls-files", "-s") + r.git("status", "--porcelain", "--untracked-files=all"))
	_ = filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			b.WriteString(path + "\n" + r.read(path))
		}
		return err
	})
	return b.String()
}

// left returns what a merge may leave in the git directory.
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
