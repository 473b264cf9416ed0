package scratch_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

func TestMake(t *testing.T) {
	r := userRepo(t, sample)
	commit := head(t, r)
	write(t, r.Dir, files{"main.go": "package dirty\n", "untracked": "mine\n"})
	before := state(t, r.Dir)
	s := open(t, beside(r))
	if _, ok := s.Made(); ok {
		t.Error("made before it was")
	}
	if _, err := s.Changes(t.Context(), patch.Limits{}); !errors.Is(err, scratch.ErrNotMade) {
		t.Errorf("changes before it was made: %v", err)
	}
	for range 2 {
		must(t, s.Make(t.Context(), commit))
		gittest.WantTree(t, s.WorkDir(), sample)
		if got, ok := s.Made(); !ok || got != commit {
			t.Errorf("made of %q, %t; want %s", got, ok, commit)
		}
		if diff := changes(t, s); diff != "" {
			t.Errorf("changes of a fresh checkout:\n%s", diff)
		}
	}
	if state(t, r.Dir) != before {
		t.Error("the user's repository has changed")
	}
}

// An agent, and the build it runs, find a repository like any other.
func TestAtHome(t *testing.T) {
	r := userRepo(t, sample)
	write(t, r.Dir, files{"main.go": "package main\n"})
	commitAll(t, r, "second")
	write(t, r.Dir, files{".git/info/exclude": "private\n"})
	before := state(t, r.Dir)
	s := makeAt(t, beside(r))
	write(t, s.WorkDir(), files{"private": "x"})
	for _, tt := range []struct{ what, script, want string }{
		{"the history is there", "git log --format=%s", "second\nbase\n"},
		{"nothing is changed", "git status --porcelain", ""},
		{"HEAD is detached", "git symbolic-ref -q HEAD || echo detached", "detached\n"},
		{"there is no remote", "git remote", ""},
		{"there is no reference", "git for-each-ref", ""},
		{"there is no hook", "ls .git/hooks 2>/dev/null | wc -l", "0\n"},
		{"a change shows", "echo '// x' >>main.go; git diff --stat | tail -1", " 1 file changed, 1 insertion(+)\n"},
		{"commits can be made", "git commit -q -a -m third; git log -1 --format='%s by %an'", "third by Ratchet\n"},
		{"branches can be made", "git checkout -q -b work; git branch --show-current", "work\n"},
		{"changes can be put away and back", "echo '// y' >>main.go; git stash -q; git stash pop -q; git diff --stat | tail -1", " 1 file changed, 1 insertion(+)\n"},
		{"it is whole", "git fsck --no-dangling --no-progress", ""},
	} {
		if got := agent(t, s, tt.script); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
	if state(t, r.Dir) != before {
		t.Error("the user's repository has changed")
	}
	if want := "--- a/main.go\n+++ b/main.go\n@@ -1 +1,3 @@\n package main\n+// x\n+// y\n"; !strings.HasSuffix(changes(t, s), want) {
		t.Errorf("changes:\n%s", changes(t, s))
	}
}

// repositories are the forms in which a user may have one.
var repositories = []struct {
	name string
	make func(t *testing.T) git.Repo
}{
	{"SHA-256", func(t *testing.T) git.Repo {
		return userRepo(t, sample, "--object-format=sha256")
	}},
	{"a linked work tree", func(t *testing.T) git.Repo {
		r := userRepo(t, sample)
		linked := git.Repo{Dir: filepath.Join(filepath.Dir(r.Dir), "linked")}
		runGit(t, r, "worktree", "add", "-q", "-b", "linked", linked.Dir)
		return linked
	}},
	{"a bare one", func(t *testing.T) git.Repo {
		r := userRepo(t, sample)
		return cloned(t, r, "--bare")
	}},
	{"a shallow clone", func(t *testing.T) git.Repo {
		r := userRepo(t, files{"gone": "x"})
		runGit(t, r, "rm", "-q", "gone")
		write(t, r.Dir, sample)
		commitAll(t, r, "second")
		return cloned(t, r, "--depth=1 --no-local")
	}},
	{"one that borrows objects itself", func(t *testing.T) git.Repo {
		c := cloned(t, userRepo(t, sample), "--shared")
		_, err := os.Stat(filepath.Join(c.Dir, ".git", "objects", "info", "alternates"))
		must(t, err)
		return c
	}},
	{"one whose path has a line feed and quotes", func(t *testing.T) git.Repo {
		r := userRepo(t, sample)
		odd := git.Repo{Dir: filepath.Join(filepath.Dir(r.Dir), "line\nfeed \"ü\"")}
		must(t, os.Rename(r.Dir, odd.Dir))
		return odd
	}},
	{"one that is packed", func(t *testing.T) git.Repo {
		r := userRepo(t, sample)
		runGit(t, r, "repack", "-q", "-a", "-d")
		return r
	}},
}

// cloned clones with the usual trust: the hardened git reaches nothing.
func cloned(t *testing.T, r git.Repo, option string) git.Repo {
	t.Helper()
	c := git.Repo{Dir: filepath.Join(filepath.Dir(r.Dir), "clone")}
	shell(t, r.Dir, "git clone -q "+option+` "$PWD" ../clone`)
	return c
}

func TestFormsOfRepositories(t *testing.T) {
	for _, tt := range repositories {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := apart(t, tt.make(t))
			all := filepath.Dir(spec.Repo) // with what it is a clone or a work tree of
			before := state(t, all)
			s := makeAt(t, spec)
			gittest.WantTree(t, s.WorkDir(), sample)
			if got := agent(t, s, "git status --porcelain; git fsck --no-dangling --no-progress; git log --format=%s | wc -l"); got != "1\n" {
				t.Errorf("status, check and length of history: %q", got)
			}
			write(t, s.WorkDir(), files{"main.go": "changed\n", "new.txt": "new\n"})
			agent(t, s, "git add -A; git commit -q -m work; git gc -q --prune=now")
			gittest.WantTree(t, s.WorkDir(), sample.With(files{"main.go": "changed\n", "new.txt": "new\n"}))
			wantApplied(t, s, spec, sample.With(files{"main.go": "changed\n", "new.txt": "new\n"}))
			if state(t, all) != before {
				t.Error("the user's repository has changed")
			}
		})
	}
}

func TestPrefix(t *testing.T) {
	r := userRepo(t, sample.With(files{"lib/.gitignore": "*.log\n"}))
	spec := beside(r)
	spec.Prefix = "lib/a"
	s := makeAt(t, spec)
	if want := filepath.Join(spec.Dir, "tree", "lib", "a"); s.WorkDir() != want {
		t.Errorf("works in %s, want %s", s.WorkDir(), want)
	}
	write(t, s.WorkDir(), files{"one.txt": "ONE\n", "deep/new.txt": "new\n", "x.log": "ignored", "x.o": "ignored"})
	agent(t, s, "rm two.txt")
	wantApplied(t, s, spec, files{"one.txt": "ONE\n", "deep/new.txt": "new\n"})
}

// A sub-directory that only the user's checkout has is there to work in.
func TestPrefixThatTheCommitDoesNotHave(t *testing.T) {
	r := userRepo(t, sample)
	spec := beside(r)
	spec.Prefix = "not/there"
	s := makeAt(t, spec)
	write(t, s.WorkDir(), files{"new.txt": "new\n"})
	wantApplied(t, s, spec, files{"new.txt": "new\n"})
}

func TestOpenRefuses(t *testing.T) {
	for name, spec := range map[string]scratch.Spec{
		"a prefix that leads out": {Repo: "/r", Dir: "/d", Prefix: "../x"},
		"an absolute prefix":      {Repo: "/r", Dir: "/d", Prefix: "/x"},
		"a relative directory":    {Repo: "/r", Dir: "d"},
		"no repository":           {Dir: "/d"},
	} {
		if _, err := scratch.Open(spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	r, s := made(t)
	gone := open(t, scratch.Spec{Repo: filepath.Join(t.TempDir(), "gone"), Dir: filepath.Join(t.TempDir(), "s")})
	for name, err := range map[string]error{
		"a commit that is missing": s.Make(t.Context(), "1111111111111111111111111111111111111111"),
		"a name of a commit":       s.Make(t.Context(), "HEAD"),
		"a repository that is":     gone.Make(t.Context(), head(t, r)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, ok := s.Made(); ok {
		t.Error("made, though its commit is missing")
	}
	must(t, s.Make(t.Context(), head(t, r)))
	gittest.WantTree(t, s.WorkDir(), sample)
}

// An agent that lives on may stand in the directory while it is made anew.
func TestMakeKeepsTheDirectory(t *testing.T) {
	r := userRepo(t, sample)
	spec := beside(r)
	spec.Prefix = "lib/a"
	s := makeAt(t, spec)
	before, err := os.Stat(s.WorkDir())
	must(t, err)
	must(t, s.Make(t.Context(), head(t, r)))
	after, err := os.Stat(s.WorkDir())
	must(t, err)
	if !os.SameFile(before, after) {
		t.Error("another directory of the same name")
	}
}

// attributed are files that a checkout converts, and ones that do not fit their
// own attributes.
var attributed = files{
	".gitattributes": "*.txt text\n*.bat text eol=crlf\n*.psd filter=lfs\n*.id ident\n*.u16 text working-tree-encoding=UTF-16LE eol=lf\n*.auto text=auto\n",
	"a.txt":          "a\n",
	"win.bat":        "a\nb\n",
	"x.psd":          "version https://git-lfs\n",
	"x.id":           "$Id$\nx\n",
	"x.u16":          "wide\n",
	"crlf.auto":      "a\r\nb\r\n",
}

// withAttributes is a repository of them, stored as given.
func withAttributes(t *testing.T) git.Repo {
	t.Helper()
	r := userRepo(t, attributed.With(files{"crlf.txt": "a\r\nb\r\n"}, ".gitattributes"))
	write(t, r.Dir, files{".gitattributes": attributed[".gitattributes"]})
	runGit(t, r, "add", ".gitattributes")
	runGit(t, r, "commit", "-q", "-m", "attributes", ".gitattributes")
	return r
}

func TestMakeConvertsAsACheckout(t *testing.T) {
	r := withAttributes(t)
	s := makeAt(t, beside(r))
	got := gittest.Tree(t, s.WorkDir())
	for name, want := range map[string]string{
		"a.txt": "a\n", "win.bat": "a\r\nb\r\n", "crlf.txt": "a\r\nb\r\n", "crlf.auto": "a\r\nb\r\n", "x.psd": "version https://git-lfs\n",
		"x.u16": "w\x00i\x00d\x00e\x00\n\x00", "x.id": "$Id: " + runGit(t, r, "rev-parse", "HEAD:x.id") + " $\nx\n",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	agent(t, s, "touch *; chmod 600 *")
	if diff := changes(t, s); diff != "" {
		t.Errorf("changes of files that were only touched:\n%s", diff)
	}
}

func TestRemove(t *testing.T) {
	r, s := made(t)
	before := state(t, r.Dir)
	for range 2 {
		must(t, s.Remove(t.Context()))
	}
	if _, ok := s.Made(); ok {
		t.Error("still made")
	}
	if left, _ := os.ReadDir(filepath.Join(filepath.Dir(r.Dir), "runs")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if state(t, r.Dir) != before {
		t.Error("the user's repository has changed")
	}
}

// damage is what kills, power cuts and agents leave. A mark that is not to be
// trusted is not; Make mends each.
var damage = []struct {
	name string
	made bool
	do   func(t *testing.T, dir string)
}{
	{"files are missing and others are there", true, func(t *testing.T, dir string) {
		must(t, os.RemoveAll(filepath.Join(dir, "tree", "lib")))
		write(t, filepath.Join(dir, "tree"), files{"new/f": "x"})
	}},
	{"the checkout's own repository is gone", true, func(t *testing.T, dir string) {
		must(t, os.RemoveAll(filepath.Join(dir, "tree", ".git")))
	}},
	{"the mark is gone", false, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "made"))) }},
	{"the mark is empty", false, func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "made"), 0)) }},
	{"the mark is cut short", false, func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "made"), 20)) }},
	{"the mark is a FIFO", false, func(t *testing.T, dir string) {
		must(t, os.Remove(filepath.Join(dir, "made")))
		fifo(t, filepath.Join(dir, "made"))
	}},
	{"the index is gone", false, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "shadow", "index"))) }},
	{"the index is cut short", false, func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "shadow", "index"), 300)) }},
	{"the index is empty", false, func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "shadow", "index"), 0)) }},
	{"the index was altered", false, func(t *testing.T, dir string) {
		name := filepath.Join(dir, "shadow", "index")
		text, err := os.ReadFile(name)
		must(t, err)
		text[200] ^= 1
		must(t, os.WriteFile(name, text, 0o600))
	}},
	{"the checkout is gone", false, func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, "tree"))) }},
	{"the checkout is a file", false, func(t *testing.T, dir string) {
		must(t, os.RemoveAll(filepath.Join(dir, "tree")))
		write(t, dir, files{"tree": "x"})
	}},
	{"the checkout is a link to another directory", false, func(t *testing.T, dir string) {
		must(t, os.RemoveAll(filepath.Join(dir, "moved")))
		must(t, os.Rename(filepath.Join(dir, "tree"), filepath.Join(dir, "moved")))
		must(t, os.Symlink("moved", filepath.Join(dir, "tree")))
	}},
	{"locks of killed gits", true, func(t *testing.T, dir string) {
		write(t, dir, files{"shadow/index.lock": "", "shadow/changes.lock": "", "tree/.git/index.lock": ""})
	}},
	{"a stage of a killed worker", true, func(t *testing.T, dir string) {
		write(t, dir, files{"stage/main.go": "x", "stage/.gitignore": "*"})
	}},
	{"half removed", false, func(t *testing.T, dir string) {
		must(t, os.Remove(filepath.Join(dir, "made")))
		must(t, os.RemoveAll(filepath.Join(dir, "tree", "lib")))
		must(t, os.RemoveAll(filepath.Join(dir, "shadow", "refs")))
	}},
	{"read-only directories", true, func(t *testing.T, dir string) {
		write(t, filepath.Join(dir, "tree"), files{"mod/pkg/f": "x"})
		for _, name := range []string{"mod/pkg", "mod", "lib/a", "."} {
			must(t, os.Chmod(filepath.Join(dir, "tree", name), 0o555))
		}
	}},
	{"a tree deeper than a path can be long", true, func(t *testing.T, dir string) {
		deep(t, filepath.Join(dir, "tree"), 300)
	}},
}

// deep makes n directories with long names below each other.
func deep(t *testing.T, dir string, n int) {
	t.Helper()
	at, err := os.OpenRoot(dir)
	must(t, err)
	for range n {
		name := strings.Repeat("d", 100)
		must(t, at.Mkdir(name, 0o755))
		next, err := at.OpenRoot(name)
		must(t, err)
		must(t, at.Close())
		at = next
	}
	must(t, at.Close())
}

func TestMakeMends(t *testing.T) {
	r := userRepo(t, sample)
	before := state(t, r.Dir)
	for _, tt := range damage {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := apart(t, r)
			s := makeAt(t, spec)
			tt.do(t, spec.Dir)
			if _, ok := s.Made(); ok != tt.made {
				t.Errorf("made: %t, want %t", ok, tt.made)
			}
			if _, err := s.Changes(t.Context(), patch.Limits{}); errors.Is(err, scratch.ErrNotMade) == tt.made {
				t.Errorf("changes: %v", err)
			}
			must(t, s.Make(t.Context(), head(t, r)))
			gittest.WantTree(t, s.WorkDir(), sample)
			if got := agent(t, s, "git status --porcelain"); got != "" {
				t.Errorf("status: %s", got)
			}
			if diff := changes(t, s); diff != "" {
				t.Errorf("changes:\n%s", diff)
			}
			tt.do(t, spec.Dir)
			must(t, s.Remove(t.Context()))
			if state(t, r.Dir) != before {
				t.Error("the user's repository has changed")
			}
		})
	}
}

// A power cut takes the bytes of a file that was not written out yet, and leaves
// its times: nobody has changed it. Here the index says that there were more.
func TestFileThatAPowerCutEmptied(t *testing.T) {
	r, s := made(t)
	reindex(t, beside(r), "README.md", func(e []byte) { binary.BigEndian.PutUint32(e[36:], 999) })
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(filepath.Join(beside(r).Dir, "made"), later, later)) // long after the files
	if _, err := s.Changes(t.Context(), patch.Limits{}); !errors.Is(err, scratch.ErrNotMade) {
		t.Errorf("error %v, want %v", err, scratch.ErrNotMade)
	}
	if _, ok := s.Made(); ok {
		t.Error("still made")
	}
}

// reindex alters what our index says of a file: the 62 bytes before its path.
func reindex(t *testing.T, spec scratch.Spec, path string, alter func(entry []byte)) {
	t.Helper()
	name := filepath.Join(spec.Dir, "shadow", "index")
	text, err := os.ReadFile(name)
	must(t, err)
	text = text[:len(text)-sha1.Size]
	at := bytes.Index(text, []byte(path+"\x00"))
	alter(text[at-62 : at])
	sum := sha1.Sum(text)
	must(t, os.WriteFile(name, append(text, sum[:]...), 0o600))
}
