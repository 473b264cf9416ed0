package merge_test

import (
	"strconv"
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

// A run stands on the branch that the user has checked out, where that has it, since its merge.
func TestWhereAMergedRunStands(t *testing.T) {
	r, in := newRepo(t)
	stands := func() merge.Standing {
		t.Helper()
		l, _ := r.landed()
		s, err := l.Standing(t.Context(), runID)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := stands(); s.Into != "main" || s.Branch != "" {
		t.Errorf("before a merge: %+v", s)
	}
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	r.git("branch", "a-later-feature")
	s := stands()
	if at := r.git("log", "-1", "--format=%ct"); s.Into != "main" || s.Branch != "main" || strconv.FormatInt(s.At.Unix(), 10) != at {
		t.Errorf("after its merge at %s: %+v", at, s)
	}
	r.git("switch", "-q", "-c", "old", "main~2")
	if s := stands(); s.Into != "old" || s.Branch == "" || s.Branch == "old" {
		t.Errorf("with an older branch checked out: %+v", s)
	}
}
