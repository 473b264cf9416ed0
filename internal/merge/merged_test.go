package merge_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// landed returns what the branches of the user's hold of a run's branch.
func (r repo) landed(ofRuns ...string) (l merge.Landed, has func(run.Commit) bool) {
	r.Helper()
	l, err := merge.FindLanded(r.Context(), r.dir, ofRuns)
	if err != nil {
		r.Fatal(err)
	}
	return l, func(c run.Commit) bool {
		r.Helper()
		has, err := l.Has(r.Context(), c)
		if err != nil {
			r.Error(err)
		}
		return has
	}
}

// A branch is safe to remove when its commits, or their merge, are on a branch of the user's. Branches of runs do not
// count.
func TestWhichBranchesAreMerged(t *testing.T) {
	r, in := newRepo(t)
	r.git("branch", "agents/of-a-run", string(in.Head))
	first := run.Commit(r.git("rev-parse", branch+"~1"))
	l, has := r.landed("agents/of-a-run")
	if has(in.Head) || has(first) || !has(in.Base) || l.Runs[runID] {
		t.Errorf("before a merge: %v, %v, %v, %v", has(in.Head), has(first), has(in.Base), l.Runs)
	}
	if strings.Join(l.Names, " ") != branch {
		t.Errorf("branches of runs: %v", l.Names)
	}
	in.Squash = true
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	next := r.goOn(in, lines)
	if l, has := r.landed("agents/of-a-run"); !has(in.Head) || !has(first) || has(next.Head) || !l.Runs[runID] {
		t.Errorf("after its merge: %v, %v, and what goes on from it %v, %v", has(in.Head), has(first), has(next.Head), l.Runs)
	}
	r.git("merge", "-q", "--no-ff", "-m", "by hand", "-s", "ours", string(next.Head))
	if _, has := r.landed("agents/of-a-run"); !has(next.Head) {
		t.Error("a merge by git does not count")
	}
}

// The commits of a run that was merged may be gone when its branch is.
func TestTheHeadOfAMergeMayBeGone(t *testing.T) {
	r, in := newRepo(t)
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	r.git("branch", "-q", "-D", branch)
	r.git("reflog", "expire", "--expire=now", "--all")
	r.git("gc", "-q", "--prune=now")
	left := run.Commit(r.git("commit-tree", "main^{tree}", "-p", "main", "-m", "left"))
	if _, has := r.landed(); !has(run.Commit(r.git("rev-parse", "main"))) || has(left) {
		t.Error("what is merged, or what is not, is mistaken")
	}
}
