package merge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// fails runs the user's own git, which should refuse.
func (r repo) fails(args ...string) {
	r.Helper()
	if out, err := r.try(args...); err == nil {
		r.Fatalf("git %v succeeds\n%s", args, out)
	}
}

// linked returns a further work tree of the repository.
func (r repo) linked(args ...string) repo {
	r.Helper()
	tree := r.at("linked")
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
	need.Suite(t, need.CI)
	for name, begin := range map[string]func(repo){
		"a rebase":            func(r repo) { r.halt() },
		"a rebase by patches": func(r repo) { r.halt("--apply") },
		"a rebase of a branch above": func(r repo) {
			r.git("switch", "-q", "-c", "above")
			r.commit("above")
			r.git("branch", "-q", "-f", "upstream", "main~1")
			r.haltAbove()
		},
		"a rebase in a further tree": func(r repo) { r.git("switch", "-q", "-c", "other"); r.linked("main").halt() },
		"a bisection":                func(r repo) { r.git("bisect", "start", "main", "main~1"); r.git("switch", "-q", "--detach") },
		"a bisection in another tree": func(r repo) {
			r.git("switch", "-q", "-c", "other")
			r.linked("main").git("bisect", "start")
			r.at("linked").git("switch", "-q", "--detach")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			r.write("a.txt", strings.Replace(lines, "nine", "NINE", 1))
			r.commit("mine")
			begin(r)
			r.fails("branch", "-f", "main", "main~1") // the control
			before := r.git("rev-parse", "main")
			in.Into = "main"
			if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "main is checked out at "+filepath.Dir(r.dir)) {
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

// A bare repository has no files: what its HEAD names is free, also beside the work trees that are linked to it.
func TestABareRepositoryWithLinkedWorkTrees(t *testing.T) {
	for _, from := range []string{"shop.git", "linked"} {
		t.Run("from "+from, func(t *testing.T) {
			r, in := newRepo(t)
			bare := r.at("shop.git")
			r.git("clone", "-q", "--bare", r.dir, bare.dir)
			bare.linked("-b", "feature", "main")
			in.Repository, in.Into = bare.at(from).dir, "feature"
			if from == "shop.git" {
				if _, err := bare.merge(in); err == nil || !strings.Contains(err.Error(), "feature is checked out at "+bare.at("linked").dir) {
					t.Errorf("a branch of the linked work tree: %v", err)
				}
			}
			in.Into = "main"
			if p, err := bare.merge(in); err != nil || bare.git("rev-parse", "main") != string(p.New) {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// Git lists a work tree that was removed until it is told to look.
func TestABranchOfARemovedWorkTree(t *testing.T) {
	r, in := newRepo(t)
	if err := os.RemoveAll(r.linked("-b", "release").dir); err != nil {
		t.Fatal(err)
	}
	in.Into = "release"
	if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "run `git worktree prune` in "+r.dir) {
		t.Errorf("error %v", err)
	}
	r.git("worktree", "prune")
	if _, err := r.merge(in); err != nil {
		t.Error(err)
	}
}
