package merge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestACheckedOutBranchGetsTheCommitsAndTheFiles(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			r, in := newRepo(t, "--object-format="+format)
			p := r.merged(in)
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
				t.Errorf("message:\n%s\nwant:\n%s", got, want)
			}
			if got := r.git("reflog", "-1", "--format=%gs", "main"); !strings.Contains(got, "ratchet: merge "+string(runID)) {
				t.Errorf("the log of the branch says %q", got)
			}
			if again := r.merged(in); again.Already != p.New {
				t.Errorf("again: %+v", again)
			}
			r.has(mended)
		})
	}
}

func TestSquash(t *testing.T) {
	r, in := newRepo(t)
	in.Squash = true
	p := r.merged(in)
	r.has(mended)
	want := "Mend it\n\n- Shout two\n- Add a file\n\nGoal: Mend it\nApproved-by: kim\nApproved-by: lee\nChecked-with: go test ./...\nMerged-by: kim\nRatchet-Name: shop#14\nRatchet-Run: " +
		string(runID) + "\nRatchet-Iteration: 1\nRatchet-Patch: aaaa\nRatchet-Iteration: 2\nRatchet-Patch: bbbb\nRatchet-Head: " + string(in.Head)
	if got := strings.TrimSpace(r.git("log", "-1", "--format=%B")); got != want || p.Commits != 1 || !p.Checked {
		t.Errorf("%+v\n%s\nwant:\n%s", p, got, want)
	}
}

func TestABranchThatHasMovedOn(t *testing.T) {
	r, in := newRepo(t)
	r.write("a.txt", nine(lines))
	tip := r.commit("mine")
	p := r.merged(in)
	r.has(nine(mended))
	if p.Checked || p.Old != tip || p.Commits != 2 {
		t.Errorf("%+v", p)
	}
}

func TestABranchThatHasSomeOrAllOfIt(t *testing.T) {
	r, in := newRepo(t)
	r.git("cherry-pick", "-n", branch+"~1")
	r.commit("the same, by hand")
	if p := r.merged(in); p.Commits != 1 {
		t.Errorf("%d commits, want 1", p.Commits)
	}
	r.has(mended)

	r, in = newRepo(t)
	r.git("cherry-pick", "-n", branch+"~1", branch)
	tip := r.commit("all, by hand")
	if p := r.merged(in); p.Commits != 0 || p.New != tip || p.Already != "" {
		t.Errorf("%+v", p)
	}
	r.has(mended)
}

// A branch that is checked out nowhere moves alone. A bare repository has no files.
func TestABranchThatIsNotCheckedOut(t *testing.T) {
	r, in := newRepo(t)
	r.git("branch", "release")
	r.write("a.txt", "not committed\n")
	in.Into = "release"
	p := r.merged(in)
	if r.git("rev-parse", "release") != string(p.New) || r.read("a.txt") != "not committed\n" || r.git("rev-parse", "main") != string(in.Base) {
		t.Errorf("%+v", p)
	}
	r.write("a.txt", nine(lines))
	r.commit("mine")
	bare := r.at("shop.git")
	r.git("clone", "-q", "--bare", r.dir, bare.dir)
	in.Repository, in.Into = bare.dir, ""
	if p := bare.merged(in); p.Commits != 2 || p.Checked || p.Into != "main" {
		t.Errorf("bare: %+v", p)
	}
	if got := bare.git("show", "main:a.txt") + "\n"; got != nine(mended) || len(bare.left()) > 0 {
		t.Errorf("a.txt %q, left %v", got, bare.left())
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
		}, nil, "conflicts with the branch in a.txt; nothing was changed: resolve it by hand, with `git merge "},
		{"a file that only one side removed", func(r repo, _ *merge.Input) {
			r.write("gone.txt", "still here\n")
			r.commit("mine")
		}, nil, "gone.txt"},
		{"a changed file", func(r repo, _ *merge.Input) { r.write("a.txt", "mine\n") }, nil, "'a.txt' not uptodate"},
		{"a staged file", func(r repo, _ *merge.Input) { r.write("a.txt", "mine\n"); r.git("add", "a.txt") }, nil, "a.txt"},
		{"a file whose changes git is told to pass over", func(r repo, _ *merge.Input) {
			r.write("a.txt", "mine\n")
			r.git("update-index", "--assume-unchanged", "a.txt")
		}, nil, "a.txt"},
		{"an untracked file in the way", func(r repo, _ *merge.Input) { r.write("b/new.txt", "mine\n") }, nil, "new.txt"},
		{"a file in the way that is excluded", func(r repo, _ *merge.Input) {
			r.write(".git/info/exclude", "new.txt\n")
			r.write("b/new.txt", "mine\n")
		}, nil, "new.txt"},
		{"a file in the way that a .gitignore names", func(r repo, _ *merge.Input) {
			r.write(".gitignore", "new.txt\n")
			r.commit("ignore")
			r.write("b/new.txt", "mine\n")
		}, nil, "b/new.txt"},
		{"an ignored file in the place of a directory", func(r repo, _ *merge.Input) {
			r.write(".gitignore", "/b\n")
			r.commit("ignore")
			r.write("b", "mine\n")
		}, nil, "b"},
		{"an ignored file in a directory in the place of a file", func(r repo, _ *merge.Input) {
			r.write(".gitignore", "*.log\n")
			r.commit("ignore")
			r.write("b/new.txt/mine.log", "mine\n")
		}, nil, "b/new.txt"},
		{"a locked index", func(r repo, _ *merge.Input) { r.write(".git/index.lock", "") }, nil, "index.lock"},
		{"a merge under way", func(r repo, _ *merge.Input) { r.write(".git/MERGE_HEAD", r.git("rev-parse", branch)+"\n") }, nil, "You have not concluded your merge"},
		{"a detached HEAD", func(r repo, _ *merge.Input) { r.git("checkout", "-q", "--detach") }, merge.ErrDetached, ""},
		{"no such branch", func(_ repo, in *merge.Input) { in.Into = "none" }, merge.ErrTarget, ""},
		{"a branch that is an option", func(_ repo, in *merge.Input) { in.Into = "--all" }, merge.ErrTarget, ""},
		{"a branch that is an expression", func(_ repo, in *merge.Input) { in.Into = "main^{}" }, merge.ErrTarget, ""},
		{"a branch that is a pattern", func(_ repo, in *merge.Input) { in.Into = "ma*" }, merge.ErrTarget, ""},
		{"a branch out of refs/heads", func(r repo, in *merge.Input) { r.git("tag", "v1"); in.Into = "../tags/v1" }, nil, "branch"},
		{"a branch of another work tree", func(r repo, in *merge.Input) {
			r.git("worktree", "add", "-q", "-b", "release", r.beside("release"))
			in.Into = "release"
		}, nil, "release is checked out at "},
		{"commits that are not a linear chain", func(r repo, in *merge.Input) { in.Base = r.commit("aside") }, nil, "not a linear chain"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			row.make(r, &in)
			if err := r.refused(in, row.says); row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("error %v, want %v", err, row.want)
			}
		})
	}
}

// Git has written the files when it cannot move the branch. It names the lock, and the same merge later finishes.
func TestALockedBranch(t *testing.T) {
	r, in := newRepo(t)
	r.write(".git/refs/heads/main.lock", "")
	if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "refs/heads/main.lock") {
		t.Errorf("error %v", err)
	}
	r.remove(".git/refs/heads/main.lock")
	r.merged(in)
	r.has(mended)
}

// What the user has not committed stays, where git can merge beside it.
func TestChangesThatAreNotInTheWay(t *testing.T) {
	r, in := newRepo(t)
	r.write("other.txt", "1")
	r.commit("other")
	r.write("other.txt", "2")
	r.write("staged.txt", "mine\n")
	r.git("add", "staged.txt")
	r.merged(in)
	if got := r.git("status", "--porcelain"); got != " M other.txt\nA  staged.txt" || r.read("a.txt") != mended {
		t.Errorf("status %q, a.txt %q", got, r.read("a.txt"))
	}
}

// The branch or a file changes while the checks run.
func TestAChangeMeanwhile(t *testing.T) {
	for name, row := range map[string]struct {
		into   string
		change func(repo)
		want   error
		says   string
	}{
		"the branch moves on":         {"main", func(r repo) { r.commit("mine") }, merge.ErrMoved, ""},
		"the branch moves back":       {"main", func(r repo) { r.git("reset", "-q", "--hard", "HEAD~1") }, merge.ErrMoved, ""},
		"another branch moves on":     {"other", func(r repo) { r.git("branch", "-f", "other", branch) }, merge.ErrMoved, ""},
		"a file is changed":           {"main", func(r repo) { r.write("a.txt", "typed while the checks ran\n") }, nil, "Your local changes to the following files would be overwritten by merge: a.txt"},
		"away from the branch":        {"main", func(r repo) { r.git("switch", "-q", "other") }, merge.ErrSwitched, ""},
		"to the branch":               {"other", func(r repo) { r.git("switch", "-q", "other") }, merge.ErrSwitched, ""},
		"the branch is not there now": {"other", func(r repo) { r.git("branch", "-q", "-D", "other") }, merge.ErrTarget, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			r.commit("a second one")
			r.git("branch", "other")
			in.Into = row.into
			p, err := merge.Prepare(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			row.change(r)
			before := r.state()
			if err := p.Apply(t.Context()); err == nil || row.want != nil && !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("error %v, want %v %s", err, row.want, row.says)
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
		r.merged(in)
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
				r.merged(in)
			}
			old := r.git("rev-parse", "main")
			r.write("other.txt", "mine\n")
			r.commit("mine")
			p := r.merged(next)
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
	linked := r.linked("-b", "feature")
	in.Repository = linked.dir
	linked.write("a.txt", nine(lines))
	linked.commit("mine")
	before := r.state()
	p := linked.merged(in)
	linked.has(nine(mended))
	if p.Into != "feature" {
		t.Errorf("into %s", p.Into)
	}
	if after := r.state(); strings.ReplaceAll(after, string(p.New), string(p.Old)) != before {
		t.Errorf("the first work tree was\n%s\nand is\n%s", before, after)
	}
}

func TestARepositoryWithASubmodule(t *testing.T) {
	r, in := newRepo(t)
	part := r.at("part")
	part.write("part.txt", "part\n")
	part.git("init", "-q", "-b", "main")
	part.commit("part")
	r.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", part.dir, "part")
	r.commit("with a submodule")
	r.write("part/part.txt", "the user's own change\n")
	r.merged(in)
	if got := r.read("part/part.txt"); got != "the user's own change\n" {
		t.Errorf("the submodule has %q", got)
	}
	if r.read("a.txt") != mended || r.git("status", "--porcelain", "--ignore-submodules=dirty") != "" {
		t.Errorf("a.txt %q, status %q", r.read("a.txt"), r.git("status", "--porcelain"))
	}
}
