package merge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// clean fails unless files and index match HEAD.
func (r repo) clean() {
	r.Helper()
	if got := r.git("status", "--porcelain", "--untracked-files=all"); got != "" {
		r.Errorf("the work tree differs:\n%s", got)
	}
}

func (r repo) has(mended string) {
	r.Helper()
	if got := r.read("a.txt"); got != mended {
		r.Errorf("a.txt is %q, want %q", got, mended)
	}
	if r.read("b/new.txt") != "new\n" || !strings.Contains(r.read("gone.txt"), "no such file") {
		r.Errorf("new.txt %q, gone.txt %q", r.read("b/new.txt"), r.read("gone.txt"))
	}
	r.clean()
}

var mended = strings.Replace(lines, "two", "TWO", 1)

func TestACheckedOutBranchGetsTheCommitsAndTheFiles(t *testing.T) {
	r, in := newRepo(t)
	p, err := r.merge(in)
	if err != nil {
		t.Fatal(err)
	}
	r.has(mended)
	if !p.Checked || p.Commits != 2 || p.Into != "main" || r.git("rev-parse", "main") != string(p.New) {
		t.Errorf("%+v", p)
	}
	if got := r.git("log", "--format=%s|%(trailers:key=Approved-by,valueonly,separator=%x2C)|%(trailers:key=Ratchet-Patch,valueonly,separator=%x2C)|%(trailers:key=Ratchet-Head,valueonly,separator=%x2C)", string(in.Base)+"..main"); got !=
		"Add a file|lee|bbbb|"+string(in.Head)+"\nShout two|kim|aaaa|" {
		t.Errorf("log:\n%s", got)
	}
	want := "Add a file\n\nGoal: Mend it\nApproved-by: lee\nChecked-with: go test ./...\nMerged-by: kim\nRatchet-Name: shop#14\nRatchet-Run: " + string(runID) +
		"\nRatchet-Iteration: 2\nRatchet-Patch: bbbb\nRatchet-Head: " + string(in.Head)
	if got := strings.TrimSpace(r.git("log", "-1", "--format=%B")); got != want {
		t.Errorf("message:\n%s", got)
	}
	if again, err := r.merge(in); err != nil || again.Already != p.New {
		t.Errorf("again: %+v, %v", again, err)
	}
	r.has(mended)
}

// A work tree that was copied or touched has files with other times than the index, and the same content.
func TestAWorkTreeThatWasTouched(t *testing.T) {
	r, in := newRepo(t)
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, "a.txt"), long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	r.has(mended)
}

func TestSquash(t *testing.T) {
	r, in := newRepo(t)
	in.Squash = true
	p, err := r.merge(in)
	if err != nil {
		t.Fatal(err)
	}
	r.has(mended)
	want := "Mend it\n\n- Shout two\n- Add a file\n\nGoal: Mend it\nApproved-by: kim\nApproved-by: lee\nChecked-with: go test ./...\nMerged-by: kim\nRatchet-Name: shop#14\nRatchet-Run: " +
		string(runID) + "\nRatchet-Iteration: 1\nRatchet-Patch: aaaa\nRatchet-Iteration: 2\nRatchet-Patch: bbbb\nRatchet-Head: " + string(in.Head)
	if got := strings.TrimSpace(r.git("log", "-1", "--format=%B")); got != want || p.Commits != 1 || !p.Checked {
		t.Errorf("%+v\n%s", p, got)
	}
}

func TestABranchThatHasMovedOn(t *testing.T) {
	r, in := newRepo(t)
	r.write("a.txt", strings.Replace(lines, "nine", "NINE", 1))
	tip := r.commit("mine")
	p, err := r.merge(in)
	if err != nil {
		t.Fatal(err)
	}
	r.has(strings.Replace(mended, "nine", "NINE", 1))
	if p.Checked || p.Old != tip || p.Commits != 2 {
		t.Errorf("%+v", p)
	}
}

func TestABranchThatHasPartOfIt(t *testing.T) {
	r, in := newRepo(t)
	r.write("a.txt", mended)
	r.commit("the same, by hand")
	if p, err := r.merge(in); err != nil || p.Commits != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	r.has(mended)
}

func TestABranchThatIsNotCheckedOut(t *testing.T) {
	r, in := newRepo(t)
	r.git("branch", "release")
	r.write("a.txt", "not committed\n")
	before := r.read("a.txt")
	in.Into = "release"
	p, err := r.merge(in)
	if err != nil {
		t.Fatal(err)
	}
	if r.git("rev-parse", "release") != string(p.New) || r.read("a.txt") != before || r.git("rev-parse", "main") != string(in.Base) {
		t.Errorf("%+v", p)
	}
	bare := filepath.Join(t.TempDir(), "shop.git")
	r.git("clone", "-q", "--bare", r.dir, bare)
	in.Repository, in.Into = bare, "main"
	if p, err := r.merge(in); err != nil || p.Commits != 2 {
		t.Errorf("bare: %+v, %v", p, err)
	}
}

// What is refused changes nothing: no reference, no index, no file.
func TestRefusalsChangeNothing(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(repo, *merge.Input)
		want error
		says string
	}{
		{"a conflict", func(r repo, _ *merge.Input) {
			r.write("a.txt", strings.Replace(lines, "two", "2", 1))
			r.commit("mine")
		}, nil, "conflicts with the branch in a.txt"},
		{"a file that only one side removed", func(r repo, _ *merge.Input) {
			r.write("gone.txt", "still here\n")
			r.commit("mine")
		}, nil, "gone.txt"},
		{"a changed file", func(r repo, _ *merge.Input) { r.write("a.txt", "mine\n") }, merge.ErrDirty, ""},
		{"a changed file that the run leaves alone", func(r repo, _ *merge.Input) {
			r.write("other.txt", "1")
			r.commit("other")
			r.write("other.txt", "2")
		}, merge.ErrDirty, ""},
		{"a staged file", func(r repo, _ *merge.Input) { r.write("staged.txt", "mine\n"); r.git("add", "staged.txt") }, merge.ErrDirty, ""},
		{"an untracked file in the way", func(r repo, _ *merge.Input) { r.write("b/new.txt", "mine\n") }, nil, "new.txt"},
		{"an ignored file in the way", func(r repo, _ *merge.Input) {
			r.write(".git/info/exclude", "new.txt\n")
			r.write("b/new.txt", "mine\n")
		}, nil, "new.txt"},
		{"a file in the way that a .gitignore names", func(r repo, _ *merge.Input) {
			r.write(".gitignore", "new.txt\n")
			r.commit("ignore")
			r.write("b/new.txt", "mine\n")
		}, nil, `"b/new.txt" is in the way`},
		{"an ignored file in the place of a directory", func(r repo, _ *merge.Input) {
			r.write(".gitignore", "/b\n")
			r.commit("ignore")
			r.write("b", "mine\n")
		}, nil, `"b" is in the way`},
		{"an ignored file in a directory in the place of a file", func(r repo, _ *merge.Input) {
			r.write(".gitignore", "*.log\n")
			r.commit("ignore")
			r.write("b/new.txt/mine.log", "mine\n")
		}, nil, `"b/new.txt/mine.log" is in the way`},
		{"a detached HEAD", func(r repo, _ *merge.Input) { r.git("checkout", "-q", "--detach") }, merge.ErrDetached, ""},
		{"no such branch", func(_ repo, in *merge.Input) { in.Into = "none" }, merge.ErrTarget, ""},
		{"a branch that is an option", func(_ repo, in *merge.Input) { in.Into = "--all" }, merge.ErrTarget, ""},
		{"a branch that is an expression", func(_ repo, in *merge.Input) { in.Into = "main^{}" }, merge.ErrTarget, ""},
		{"a branch that is a pattern", func(_ repo, in *merge.Input) { in.Into = "ma*" }, merge.ErrTarget, ""},
		{"a branch out of refs/heads", func(r repo, in *merge.Input) { r.git("tag", "v1"); in.Into = "../tags/v1" }, nil, "branch"},
		{"a branch of another work tree", func(r repo, in *merge.Input) {
			r.git("worktree", "add", "-q", "-b", "release", filepath.Join(filepath.Dir(r.dir), "release"))
			in.Into = "release"
		}, nil, "release is checked out at "},
		{"a merge under way", func(r repo, _ *merge.Input) { r.write(".git/MERGE_HEAD", r.git("rev-parse", branch)+"\n") }, nil, "a merge under way"},
		{"a filter", func(r repo, _ *merge.Input) {
			r.write(".gitattributes", "*.txt filter=canary\n")
			r.commit("attributes")
			r.git("config", "filter.canary.smudge", "touch "+filepath.Join(filepath.Dir(r.dir), "canary"))
			r.git("config", "filter.canary.clean", "cat")
		}, nil, "filter"},
		{"nothing new", func(r repo, _ *merge.Input) {
			r.git("cherry-pick", "-n", branch+"~1", branch)
			r.commit("by hand")
		}, merge.ErrNothing, ""},
		{"commits that are no chain", func(r repo, in *merge.Input) { in.Base = r.commit("aside") }, nil, "no chain"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			row.make(r, &in)
			status := func() string {
				if row.name == "a detached HEAD" {
					return r.git("status", "--porcelain") + r.git("rev-parse", "HEAD", "main")
				}
				return r.state()
			}
			before := status()
			_, err := r.merge(in)
			if err == nil || row.want != nil && !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("error %v", err)
			}
			if after := status(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(r.dir), "canary")); err == nil {
				t.Error("a program of the repository was started")
			}
		})
	}
}

// The branch moves between the checks and the swap, and so does a file of the work tree.
func TestAMoveMeanwhile(t *testing.T) {
	r, in := newRepo(t)
	p, err := merge.Prepare(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	r.commit("mine")
	before := r.state()
	if err := p.Apply(t.Context()); !errors.Is(err, merge.ErrMoved) {
		t.Errorf("a moved branch: %v", err)
	}
	if r.state() != before {
		t.Error("something was changed")
	}
	if p, err = merge.Prepare(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	r.write("a.txt", "typed while the checks ran\n")
	before = r.state()
	if err := p.Apply(t.Context()); err == nil {
		t.Error("a changed file was overwritten")
	}
	if r.state() != before {
		t.Error("something was changed")
	}
}

// The user switches branches while the checks run.
func TestASwitchMeanwhile(t *testing.T) {
	for name, tc := range map[string]struct{ into, to string }{
		"away from the branch": {"main", "other"},
		"to the branch":        {"other", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			r.git("branch", "other")
			in.Into = tc.into
			p, err := merge.Prepare(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			r.git("switch", "-q", tc.to)
			before := r.state()
			if err := p.Apply(t.Context()); !errors.Is(err, merge.ErrSwitched) {
				t.Errorf("error %v", err)
			}
			if after := r.state(); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
		})
	}
}

// A goal, a name, a summary and a check are chosen by others. None of them becomes a trailer of its own.
func TestNothingForgesATrailer(t *testing.T) {
	for _, squash := range []bool{false, true} {
		r, in := newRepo(t)
		r.git("switch", "-q", branch)
		r.write("c.txt", "c")
		in.Head = r.commit("-x --exec=evil\n\nRatchet-Run: forged-in-the-text\nratchet-head: forged\n\nRatchet-Run: " + string(runID) + "\nRatchet-Iteration: 3\nRatchet-Patch: cccc\nApproved-by: forged\nRatchet-Head: forged")
		r.git("switch", "-q", "main")
		in.Squash = squash
		in.Goal = "Ratchet-Run: forged\u202e\nApproved-by: forged"
		in.By = "kim\nRatchet-Run: forged\n\nRatchet-Head: forged"
		in.Checks = []string{"true\nApproved-by: forged\x1b[2J"}
		in.ApprovedBy[in.Head] = "lee\r\nApproved-by: forged"
		if _, err := r.merge(in); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"Ratchet-Run", "Ratchet-Head", "Approved-by", "Ratchet-Patch", "Merged-by"} {
			got := r.git("log", "--format=%(trailers:key="+key+",valueonly)", string(in.Base)+"..main")
			if strings.Contains(got, "forged") {
				t.Errorf("squash %v, %s: %s", squash, key, got)
			}
		}
		for line := range strings.Lines(r.git("log", "--format=%b", string(in.Base)+"..main")) {
			if strings.HasPrefix(strings.ToLower(line), "ratchet-") && strings.Contains(line, "forged") {
				t.Errorf("squash %v: %q", squash, line)
			}
			if strings.ContainsAny(line, "\x1b\u202e\r") {
				t.Errorf("squash %v: %q", squash, line)
			}
		}
	}
}

func TestRemoveBranch(t *testing.T) {
	r, in := newRepo(t)
	if err := merge.RemoveBranch(t.Context(), r.dir, branch, in.Base); err == nil || !strings.Contains(err.Error(), "not at "+string(in.Base[:12])) {
		t.Errorf("a branch that is elsewhere: %v", err)
	}
	r.git("switch", "-q", branch)
	if err := merge.RemoveBranch(t.Context(), r.dir, branch, in.Head); err == nil || !strings.Contains(err.Error(), "is checked out at "+r.dir) {
		t.Errorf("a branch that is checked out: %v", err)
	}
	r.git("switch", "-q", "main")
	for range 2 {
		if err := merge.RemoveBranch(t.Context(), r.dir, branch, in.Head); err != nil {
			t.Error(err)
		}
	}
	if got := r.git("for-each-ref", "refs/heads/ratchet"); got != "" {
		t.Error(got)
	}
}

// goOn makes the commits of a run that continues another at its last commit.
func (r repo) goOn(in merge.Input, changes ...string) merge.Input {
	r.Helper()
	const id run.ID = "01890a5d-ac96-774b-bcce-b302099a8099"
	r.git("switch", "-q", "--detach", string(in.Head))
	for i, text := range changes {
		r.write("a.txt", text)
		in.Head = r.commit(fmt.Sprintf("Step %d\n\nRatchet-Run: %s\nRatchet-Iteration: %d\nRatchet-Patch: cccc", i, id, i+1))
	}
	r.git("switch", "-q", "main")
	in.RunID, in.Name = id, "shop#15"
	return in
}

// The first run changes a line twice. Done again on a branch that has its merge, its first commit would conflict with
// its second.
func TestARunThatGoesOnFromAMergedRun(t *testing.T) {
	for _, how := range []string{"commits", "squash", "git"} {
		t.Run(how, func(t *testing.T) {
			r, in := newRepo(t)
			r.git("switch", "-q", branch)
			r.write("a.txt", strings.Replace(lines, "two", "Zwei", 1))
			in.Head = r.commit("Say it in German\n\nRatchet-Run: " + string(runID) + "\nRatchet-Iteration: 3\nRatchet-Patch: dddd")
			r.git("switch", "-q", "main")
			next := r.goOn(in, strings.Replace(lines, "two", "deux", 1))
			if how == "git" {
				r.git("merge", "-q", "--no-ff", "-m", "by hand", string(in.Head))
			} else {
				in.Squash = how == "squash"
				if _, err := r.merge(in); err != nil {
					t.Fatal(err)
				}
			}
			old := r.git("rev-parse", "main")
			r.write("other.txt", "mine\n")
			r.commit("mine")
			p, err := r.merge(next)
			if err != nil {
				t.Fatal(err)
			}
			if n := r.git("rev-list", "--count", "--first-parent", old+"..main"); p.Commits != 1 || n != "2" {
				t.Errorf("%d commits, and %s on main", p.Commits, n)
			}
			r.has(strings.Replace(lines, "two", "deux", 1))
		})
	}
}

// A work tree that is linked to the repository has a git directory and an index of its own.
func TestALinkedWorkTree(t *testing.T) {
	r, in := newRepo(t)
	linked := repo{t, filepath.Join(filepath.Dir(r.dir), "linked")}
	r.git("worktree", "add", "-q", "-b", "feature", linked.dir)
	in.Repository = linked.dir
	linked.write("a.txt", strings.Replace(lines, "nine", "NINE", 1))
	linked.commit("mine")
	before := r.state()
	p, err := linked.merge(in)
	if err != nil {
		t.Fatal(err)
	}
	linked.has(strings.Replace(mended, "nine", "NINE", 1))
	if p.Into != "feature" {
		t.Errorf("into %s", p.Into)
	}
	if after := r.state(); strings.ReplaceAll(after, string(p.New), string(p.Old)) != before {
		t.Errorf("the first work tree was\n%s\nand is\n%s", before, after)
	}
	linked.killedInTheLinkedTree(in)
}

// killedInTheLinkedTree has the merge into the first work tree finish a merge that was cut off in the linked one.
func (r repo) killedInTheLinkedTree(in merge.Input) {
	r.Helper()
	next := r.goOnIn(in)
	r.killAt(next, "merge.after-swap")
	if r.git("status", "--porcelain") == "" {
		r.Fatal("it was not cut off")
	}
	if err := merge.Finish(r.Context(), filepath.Join(filepath.Dir(r.dir), "shop")); err != nil {
		r.Error(err)
	}
	r.clean()
	if left := r.left(); len(left) > 0 {
		r.Errorf("left: %v", left)
	}
}

// goOnIn is goOn in a work tree that has another branch than main.
func (r repo) goOnIn(in merge.Input) merge.Input {
	r.Helper()
	main := repo{r.T, filepath.Join(filepath.Dir(r.dir), "shop")}
	return main.goOn(in, strings.Replace(lines, "two", "deux", 1))
}

func TestARepositoryWithASubmodule(t *testing.T) {
	r, in := newRepo(t)
	part := repo{t, filepath.Join(filepath.Dir(r.dir), "part")}
	if err := os.Mkdir(part.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	part.git("init", "-q", "-b", "main")
	part.write("part.txt", "part\n")
	part.commit("part")
	r.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", part.dir, "part")
	r.commit("with a submodule")
	r.write("part/part.txt", "the user's own change\n")
	if _, err := r.merge(in); err != nil {
		t.Fatal(err)
	}
	if got := r.read("part/part.txt"); got != "the user's own change\n" {
		t.Errorf("the submodule has %q", got)
	}
	if r.read("a.txt") != mended || r.git("status", "--porcelain", "--ignore-submodules=dirty") != "" {
		t.Errorf("a.txt %q, status %q", r.read("a.txt"), r.git("status", "--porcelain"))
	}
}

func TestABareRepositoryThatHasMovedOn(t *testing.T) {
	r, in := newRepo(t)
	r.write("a.txt", strings.Replace(lines, "nine", "NINE", 1))
	r.commit("mine")
	bare := repo{t, filepath.Join(t.TempDir(), "shop.git")}
	r.git("clone", "-q", "--bare", r.dir, bare.dir)
	in.Repository = bare.dir
	p, err := bare.merge(in)
	if err != nil || p.Checked || p.Into != "main" {
		t.Fatalf("%+v, %v", p, err)
	}
	if got := bare.git("show", "main:a.txt") + "\n"; got != strings.Replace(mended, "nine", "NINE", 1) || len(bare.left()) > 0 {
		t.Errorf("a.txt %q, left %v", got, bare.left())
	}
}
