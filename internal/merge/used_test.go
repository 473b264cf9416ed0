package merge_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fails runs the user's own git, which should refuse.
func (r repo) fails(args ...string) {
	r.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Kim", "-c", "user.email=kim@localhost"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err == nil {
		r.Fatalf("git %v succeeds\n%s", args, out)
	}
}

// linked returns a further work tree of the repository.
func (r repo) linked(args ...string) repo {
	r.Helper()
	tree := repo{r.T, filepath.Join(filepath.Dir(r.dir), "linked")}
	r.git(append([]string{"worktree", "add", "-q", tree.dir}, args...)...)
	return tree
}

// halt has main and a branch upstream change the same line, and stops at the conflict of their rebase.
func (r repo) halt(args ...string) {
	r.Helper()
	r.git("switch", "-q", "-c", "upstream", "main~1")
	r.write("a.txt", strings.Replace(lines, "nine", "neuf", 1))
	r.commit("upstream")
	r.git("switch", "-q", "main")
	r.fails(append(append([]string{"rebase", "-q"}, args...), "upstream")...)
}

// Git sets a branch at the end of its rebase: a merge meanwhile is lost then. Nor does it move one of a bisection.
func TestABranchOfACommandUnderWay(t *testing.T) {
	for name, row := range map[string]struct {
		begin func(repo)
		says  string
	}{
		"a rebase":            {func(r repo) { r.halt() }, "main is being rebased at "},
		"a rebase by patches": {func(r repo) { r.halt("--apply") }, "main is being rebased at "},
		"a rebase of a branch above": {func(r repo) {
			r.git("switch", "-q", "-c", "above")
			r.commit("above")
			r.git("branch", "-q", "-f", "upstream", "main~1")
			r.haltAbove()
		}, "main is being rebased at "},
		"a rebase in a further tree": {func(r repo) { r.git("switch", "-q", "-c", "other"); r.linked("main").halt() }, "main is being rebased at "},
		"a bisection":                {func(r repo) { r.git("bisect", "start", "main", "main~1"); r.git("switch", "-q", "--detach") }, "main is being bisected at "},
		"a bisection in another tree": {func(r repo) {
			r.git("switch", "-q", "-c", "other")
			r.linked("main").git("bisect", "start")
			r.in("linked").git("switch", "-q", "--detach")
		}, "main is being bisected at "},
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			r.write("a.txt", strings.Replace(lines, "nine", "NINE", 1))
			r.commit("mine")
			row.begin(r)
			r.fails("branch", "-f", "main", "main~1") // the control
			before := r.git("rev-parse", "main")
			in.Into = "main"
			if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), row.says+filepath.Dir(r.dir)) {
				t.Errorf("error %v", err)
			}
			if after := r.git("rev-parse", "main"); after != before {
				t.Errorf("main was at %s and is at %s", before, after)
			}
		})
	}
}

// haltAbove rebases the branch above main together with main.
func (r repo) haltAbove() {
	r.Helper()
	r.git("switch", "-q", "upstream")
	r.write("a.txt", strings.Replace(lines, "nine", "neuf", 1))
	r.commit("upstream")
	r.git("switch", "-q", "above")
	r.fails("rebase", "-q", "--update-refs", "upstream")
}

func (r repo) in(name string) repo { return repo{r.T, filepath.Join(filepath.Dir(r.dir), name)} }
