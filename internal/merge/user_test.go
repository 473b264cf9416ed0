package merge_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// Both sides append to a file whose attributes join them: those of the branch, of a directory below, of the user.
func TestAttributesAreThoseOfTheRepository(t *testing.T) {
	for name, set := range map[string]func(r repo){
		"in the tree":       func(r repo) { r.write(".gitattributes", "LOG.md merge=union\n") },
		"in a directory":    func(r repo) { r.write("docs/.gitattributes", "LOG.md merge=union\n") },
		"of the repository": func(r repo) { r.write(".git/info/attributes", "LOG.md merge=union\n") },
		"of a driver": func(r repo) {
			r.write(".gitattributes", "LOG.md merge=both\n")
			r.git("config", "merge.both.driver", "git merge-file --union %A %O %B")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			set(r)
			r.write("docs/LOG.md", "# Log\n")
			in.Base = r.commit("a log")
			r.git("switch", "-q", "-C", branch)
			r.write("docs/LOG.md", "# Log\n- the run's\n")
			in.Head = r.commit("Log it\n\nRatchet-Run: " + string(runID))
			r.git("switch", "-q", "main")
			r.write("docs/LOG.md", "# Log\n- mine\n")
			r.commit("mine")
			r.merged(in)
			if got := r.read("docs/LOG.md"); got != "# Log\n- mine\n- the run's\n" {
				t.Errorf("the log is %q", got)
			}
			r.clean()
		})
	}
}

// Files are written by the user's git: through filters, with its line ends, and not at all where a sparse checkout leaves
// them out.
func TestFilesAreWrittenAsByTheUsersGit(t *testing.T) {
	t.Run("a filter", func(t *testing.T) {
		r, in := newRepo(t)
		r.write(".gitattributes", "*.txt filter=shout\n")
		r.git("config", "filter.shout.smudge", "sed s/^new/NEW/")
		r.git("config", "filter.shout.clean", "sed s/^NEW/new/")
		r.commit("attributes")
		r.merged(in)
		if got := r.read("b/new.txt"); got != "NEW\n" {
			t.Errorf("new.txt is %q", got)
		}
		r.clean()
	})
	t.Run("line ends", func(t *testing.T) {
		r, in := newRepo(t)
		r.git("config", "core.autocrlf", "true")
		r.remove("a.txt")
		r.git("checkout", "-q", "--", "a.txt")
		r.merged(in)
		if got := r.read("a.txt"); got != strings.ReplaceAll(mended, "\n", "\r\n") {
			t.Errorf("a.txt is %q", got)
		}
		r.clean()
	})
	t.Run("a sparse checkout", func(t *testing.T) {
		for _, cone := range []string{"--cone", "--no-cone"} {
			r, in := newRepo(t)
			r.write("c/kept.txt", "kept\n")
			r.commit("more")
			r.git("sparse-checkout", "set", cone, "c")
			r.merged(in)
			if got := r.read("b/new.txt"); !strings.Contains(got, "no such file") || r.git("show", "main:b/new.txt") != "new" || r.read("c/kept.txt") != "kept\n" {
				t.Errorf("%s: new.txt is %q", cone, got)
			}
			r.clean()
		}
	})
	t.Run("a split index", func(t *testing.T) {
		r, in := newRepo(t)
		r.git("update-index", "--split-index")
		r.merged(in)
		r.has(mended)
	})
}

// The hooks for messages run for each commit, in the user's work tree, and those of a merge at its end. The hook of a
// commit's files does not run: git runs none for a commit that it picks.
func TestHooksOfTheRepository(t *testing.T) {
	for _, place := range []string{".git/hooks/", "../hooks/"} {
		r, in := newRepo(t)
		if place != ".git/hooks/" {
			r.git("config", "core.hooksPath", r.beside("hooks"))
		}
		r.write("a.txt", nine(lines))
		r.commit("mine")
		message := r.hook(place+"commit-msg", "echo \"Signed-off-by: $(basename $PWD) $(cat a.txt | head -c 3)\" >>$1\n")
		prepared := r.hook(place+"prepare-commit-msg", "")
		merged := r.hook(place+"post-merge", "")
		commit := r.hook(place+"pre-commit", "exit 1\n")
		checkout := r.hook(place+"post-checkout", "")
		r.merged(in)
		r.has(nine(mended))
		if got := r.git("log", "-2", "--format=%(trailers:key=Signed-off-by,valueonly,separator=)"); got != "shop one\nshop one" {
			t.Errorf("the hook has signed %q", got)
		}
		if n := strings.Count(r.read(prepared), "\n"); n != 2 || strings.Count(r.read(message), "\n") != 2 || r.read(merged) != "0\n" {
			t.Errorf("hooks ran: prepare-commit-msg %q, commit-msg %q, post-merge %q", r.read(prepared), r.read(message), r.read(merged))
		}
		for _, log := range []string{commit, checkout} {
			if got := r.read(log); !strings.Contains(got, "no such file") {
				t.Errorf("%s: %q", log, got)
			}
		}
	}
}

func TestAHookThatRefuses(t *testing.T) {
	r, in := newRepo(t)
	r.hook(".git/hooks/commit-msg", "echo no such ticket >&2; exit 1\n")
	r.refused(in, "no such ticket")
}

// unnamed takes the identity away that the test's environment gives to every git.
func unnamed(t *testing.T) {
	for _, name := range []string{"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// The committer is who merges, and so is Merged-by without another name. The author is who wrote the change, where that
// is known.
func TestTheCommitterIsTheUser(t *testing.T) {
	r, in := newRepo(t)
	in.By = ""
	unnamed(t)
	r.git("config", "user.name", "Kim Lee")
	r.git("config", "user.email", "kim@example.org")
	in.WrittenBy = map[run.Commit]string{in.Head: "Claude <Code>\nEvil"}
	if p := r.merged(in); p.Unnamed {
		t.Error("the plan does not know the name")
	}
	format := "--format=%cn <%ce>|%an|%(trailers:key=Merged-by,valueonly,separator=)|%(trailers:key=Written-by,valueonly,separator=)"
	if got, want := r.git("log", "-1", format), "Kim Lee <kim@example.org>|Claude CodeEvil via Ratchet|Kim Lee <kim@example.org>|Claude <Code>"; got != want {
		t.Errorf("committer, author, merged by, written by: got %s, want %s", got, want)
	}
	if got, want := r.git("log", "-1", "--skip=1", "--format=%an"), "t"; got != want {
		t.Errorf("the author of a commit of whom nothing is known: got %s, want %s", got, want)
	}
}

func TestAUserWithoutAName(t *testing.T) {
	r, in := newRepo(t)
	unnamed(t)
	r.git("config", "user.useConfigOnly", "true")
	if p := r.merged(in); !p.Unnamed {
		t.Error("the plan does not say so")
	}
	if got := r.git("log", "-1", "--format=%cn <%ce>"); got != "Ratchet <ratchet@localhost>" {
		t.Errorf("committer %s", got)
	}
}

func TestCommitsAreSignedWhereGitIsToldTo(t *testing.T) {
	keygen := need.Program(t, "ssh-keygen")
	for _, squash := range []bool{false, true} {
		r, in := newRepo(t)
		in.Squash = squash
		key := r.beside("key")
		r.run(keygen, "-q", "-t", "ed25519", "-N", "", "-f", key)
		public, _ := strings.CutSuffix(r.read(key+".pub"), "\n")
		r.write("../signers", "t@localhost "+public+"\n")
		for name, value := range map[string]string{"commit.gpgSign": "true", "gpg.format": "ssh", "user.signingKey": key, "gpg.ssh.allowedSignersFile": r.beside("signers")} {
			r.git("config", name, value)
		}
		p := r.merged(in)
		for commit := range strings.Lines(r.git("rev-list", string(p.Old)+".."+string(p.New))) {
			r.git("verify-commit", strings.TrimSpace(commit))
		}
		r.git("reset", "-q", "--hard", string(p.Old))
		r.git("config", "user.signingKey", r.beside("none"))
		r.refused(in, "failed to write commit object")
	}
}

// The user's settings do not change what a merge is.
func TestSettingsForMerges(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"of commands": {
			"merge.ff": "false", "merge.renormalize": "true", "merge.conflictStyle": "diff3", "branch.main.mergeOptions": "--squash --no-commit",
			"commit.template": "/none", "commit.cleanup": "scissors", "commit.verbose": "true", "rerere.enabled": "true", "rebase.autoStash": "true",
		},
		"of work trees": {"index.sparse": "true", "core.sparseCheckout": "true", "core.autocrlf": "input", "submodule.recurse": "true", "extensions.worktreeConfig": "true", "core.untrackedCache": "true"},
		"of output": {
			"core.commentChar": "G", "core.editor": "false", "core.abbrev": "5", "core.quotePath": "false", "color.ui": "always", "diff.noprefix": "true", "diff.external": "false",
			"status.short": "true", "log.showSignature": "true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			r.write("a.txt", nine(lines))
			old := r.commit("mine")
			for name, value := range settings {
				r.git("config", name, value)
			}
			r.merged(in)
			r.has(nine(mended))
			if got := r.git("log", "--no-color", "--format=%s|%(trailers:key=Goal,valueonly,separator=)", string(old)+"..main"); got != "Add a file|Mend it\nShout two|Mend it" {
				t.Errorf("log:\n%s", got)
			}
			r.git("reset", "-q", "--hard", string(old))
			r.write("a.txt", strings.Replace(lines, "two", "2", 1))
			r.commit("a conflict")
			if _, err := r.merge(in); err == nil || !strings.Contains(err.Error(), "conflicts with the branch in a.txt;") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestAWorkTreeOfABareConfiguration merges in a linked work tree that git takes for bare, because the configuration that it
// shares says so.
func TestAWorkTreeOfABareConfiguration(t *testing.T) {
	r, in := newRepo(t)
	wt := r.linked("-b", "wt")
	wt.write("a.txt", nine(lines))
	wt.commit("on wt")
	r.git("config", "core.bare", "true")
	r.git("config", "extensions.worktreeConfig", "true")
	in.Repository = wt.dir
	p, err := merge.Prepare(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(t.Context()); err != nil || p.Into != "wt" {
		t.Fatalf("into %q, %v", p.Into, err)
	}
	r.git("config", "core.bare", "false")
	wt.has(nine(mended))
	if main := r.git("rev-parse", "main"); main != string(in.Base) {
		t.Errorf("main is at %s", main)
	}
}
