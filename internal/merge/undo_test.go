package merge_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func (r repo) undo(in merge.Input) (*merge.Plan, error) {
	p, err := merge.PrepareUndo(r.Context(), in)
	if err != nil {
		return nil, err
	}
	return p, p.Apply(r.Context())
}

// undone is undo, which must make one commit.
func (r repo) undone(in merge.Input) *merge.Plan {
	r.Helper()
	p, err := r.undo(in)
	if err != nil {
		r.Fatal(err)
	}
	if p.Commits != 1 {
		r.Errorf("%d commits, want 1", p.Commits)
	}
	return p
}

// However a run came to the branch, its undo is one commit that takes all of it back and keeps what came later.
func TestUndo(t *testing.T) {
	for name, mergeIt := range map[string]func(r repo, in merge.Input){
		"merged":                  func(r repo, in merge.Input) { r.merged(in) },
		"squashed":                func(r repo, in merge.Input) { in.Squash = true; r.merged(in) },
		"merged onto a moved one": func(r repo, in merge.Input) { r.write("c.txt", "c\n"); r.commit("mine"); r.merged(in) },
		"fast-forwarded by git":   func(r repo, in merge.Input) { r.git("merge", "-q", "--ff-only", string(in.Head)) },
		"merged by git":           func(r repo, in merge.Input) { r.git("merge", "-q", "--no-ff", "-m", "by hand", string(in.Head)) },
		"merged after another run by git": func(r repo, in merge.Input) {
			r.write("c.txt", "c\n")
			r.commit("Another\n\nRatchet-Run: 01890a5d-ac96-774b-bcce-b302099a8058\nRatchet-Iteration: 1\nRatchet-Patch: dddd")
			r.merged(in)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			mergeIt(r, in)
			r.git("branch", "-q", "-D", branch)
			r.write("a.txt", nine(mended))
			r.commit("later")
			tip := r.git("rev-parse", "main")
			p := r.undone(in)
			if r.git("rev-parse", "main") != string(p.New) || r.git("rev-parse", "main~1") != tip {
				t.Errorf("main is not one commit after %s: %+v", tip, p)
			}
			if r.read("a.txt") != nine(lines) || r.read("gone.txt") != "gone\n" || !strings.Contains(r.read("b/new.txt"), "no such file") {
				t.Errorf("a.txt %q, gone.txt %q, new.txt %q", r.read("a.txt"), r.read("gone.txt"), r.read("b/new.txt"))
			}
			if c := r.read("c.txt"); c != "c\n" && strings.Contains(name, "another") {
				t.Errorf("the other run's file: %q", c)
			}
			r.clean()
			if left := r.left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if got := r.git("log", "-1", "--format=%s|%(trailers:key=Undone-by,valueonly,separator=)|%(trailers:key=Ratchet-Undone,valueonly,separator=)"); got != "Undo shop#14: Mend it|kim|"+string(runID) {
				t.Errorf("the commit says %q", got)
			}
			if again, err := r.undo(in); err != nil || again.Commits != 0 || again.Already != p.New {
				t.Errorf("again: %+v, %v", again, err)
			}
		})
	}
}

// What is undone is merged no more, and can be merged again and undone again.
func TestMergedAgainAfterItsUndo(t *testing.T) {
	for name, mergeIt := range map[string]func(r repo, in merge.Input){
		"merged":                func(r repo, in merge.Input) { r.merged(in) },
		"fast-forwarded by git": func(r repo, in merge.Input) { r.git("merge", "-q", "--ff-only", string(in.Head)) },
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			mergeIt(r, in)
			stands := func(branch, undone string) {
				t.Helper()
				l, _ := r.landed()
				s, err := l.Standing(t.Context(), runID)
				if err != nil || s.Branch != branch || s.Undone != undone || l.Runs[runID] != (branch != "") {
					t.Errorf("it stands at %+v, %v, want branch %q, undone %q", s, err, branch, undone)
				}
			}
			stands("main", "")
			r.undone(in)
			stands("", "main")
			if p := r.merged(in); p.Commits != 2 {
				t.Errorf("merged again with %d commits, want 2", p.Commits)
			}
			r.has(mended)
			stands("main", "")
			r.undone(in)
			stands("", "main")
		})
	}
}

// A merge of a run that goes on from another brings the commits of both, and its undo takes both back. A run that was
// merged on its own stays.
func TestUndoOfARunThatGoesOn(t *testing.T) {
	for _, alone := range []bool{false, true} {
		r, in := newRepo(t)
		if alone {
			r.merged(in)
		}
		next := r.goOn(in, lines)
		next.Earlier = []run.ID{runID}
		r.merged(next)
		r.undone(next)
		l, _ := r.landed()
		if got := l.Runs[runID]; got != alone || l.Runs[next.RunID] {
			t.Errorf("merged alone %v: of the first run the branch has commits: %v; of the second: %v", alone, got, l.Runs[next.RunID])
		}
	}
}

// What cannot be undone changes nothing.
func TestUndoThatIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		make func(repo, *merge.Input)
		says string
	}{
		"not merged": {func(repo, *merge.Input) {}, "undo on branch main: the run is not merged there"},
		"later changes of the same lines": {func(r repo, in *merge.Input) {
			r.merged(*in)
			r.write("a.txt", strings.Replace(lines, "two", "2", 1))
			r.commit("later")
		}, "later commits changed the same lines in a.txt; nothing was changed: resolve it by hand, with `git revert --no-commit "},
		"changes in the way": {func(r repo, in *merge.Input) { r.merged(*in); r.write("a.txt", "mine\n") }, "then try again"},
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			row.make(r, &in)
			before := r.state()
			_, err := r.undo(in)
			if err == nil || !strings.Contains(err.Error(), row.says) || errors.Is(err, merge.ErrNotMerged) != (name == "not merged") {
				t.Errorf("error %v, want one that says %q", err, row.says)
			}
			if after := r.state(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// The advice of a conflict works.
func TestTheWayOutOfAnUndoThatConflicts(t *testing.T) {
	r, in := newRepo(t)
	r.merged(in)
	r.write("a.txt", strings.Replace(lines, "two", "2", 1))
	r.commit("later")
	_, err := r.undo(in)
	_, command, _ := strings.Cut(err.Error(), "`git ")
	_, _ = r.try(strings.Fields(strings.TrimRight(command, "`"))...)
	if got := r.git("diff", "--name-only", "--diff-filter=U"); got != "a.txt" || r.read("gone.txt") != "gone\n" {
		t.Errorf("to resolve: %q; gone.txt is %q", got, r.read("gone.txt"))
	}
}

// An undo that is killed leaves the branch at the old commit or at the new one, and the same undo again finishes.
func TestAKilledUndo(t *testing.T) {
	for _, point := range []string{"merge.in-draft", "merge.after-commits", "merge.before-apply", "merge.after-apply"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			merged := string(r.merged(in).New)
			in.By = "undo"
			r.killAt(in, point)
			r.clean()
			if out, err := r.job(in); err != nil {
				t.Fatalf("again: %v\n%s", err, out)
			}
			r.clean()
			if n := r.git("rev-list", "--count", merged+"..main"); n != "1" || r.read("a.txt") != lines {
				t.Errorf("%s commits, want 1; a.txt is %q", n, r.read("a.txt"))
			}
			if left := r.left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
