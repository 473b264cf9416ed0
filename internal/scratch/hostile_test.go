package scratch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// armed is a git directory that starts a program when a git with the usual trust
// works with it. CANARY stands for the program.
type armed struct {
	name    string
	config  string // added to its config
	files   files  // in the work tree
	inGit   files  // in the git directory
	harmful string // what a trusting git is asked to do
}

var arms = []armed{
	{name: "hooks", inGit: hooks("hooks/"), harmful: "git commit -q --allow-empty -m x"},
	{name: "core.hooksPath", config: "[core]\n\thooksPath = evil\n", files: hooks("evil/"), harmful: "git commit -q --allow-empty -m x"},
	{name: "core.fsmonitor", config: "[core]\n\tfsmonitor = CANARY\n", harmful: "git status"},
	{name: "a clean and smudge filter", config: "[filter \"x\"]\n\tclean = CANARY\n\tsmudge = CANARY\n\trequired = true\n",
		files: files{".gitattributes": "* filter=x\n"}, harmful: "git add -A"},
	{name: "a process filter", config: "[filter \"x\"]\n\tprocess = CANARY\n\trequired = true\n",
		files: files{".gitattributes": "* filter=x\n"}, harmful: "git add -A"},
	{name: "a filter by info/attributes", config: "[filter \"x\"]\n\tclean = CANARY\n\tsmudge = CANARY\n",
		inGit: files{"info/attributes": "* filter=x\n"}, harmful: "git add -A"},
	{name: "a diff driver", config: "[diff \"x\"]\n\ttextconv = CANARY\n\tcommand = CANARY\n", files: files{".gitattributes": "* diff=x\n"}, harmful: "git diff"},
	{name: "diff.external", config: "[diff]\n\texternal = CANARY\n", harmful: "git diff"},
	{name: "an included configuration", config: "[include]\n\tpath = evil.config\n", files: files{".gitattributes": "* filter=x\n"},
		inGit: files{"evil.config": "[core]\n\tfsmonitor = CANARY\n[filter \"x\"]\n\tclean = CANARY\n\tsmudge = CANARY\n"}, harmful: "git status"},
	{name: "a configuration of the work tree's own", config: "[extensions]\n\tworktreeConfig = true\n",
		inGit: files{"config.worktree": "[core]\n\tfsmonitor = CANARY\n"}, harmful: "git status"},
	{name: "aliases", config: "[alias]\n\tst = !CANARY\n\tcheck-ignore = !CANARY\n\tupdate-index = !CANARY\n\tread-tree = !CANARY\n", harmful: "git st"},
	{name: "a promisor", config: "[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryFormatVersion = 1\n[remote \"origin\"]\n\turl = /tmp\n\tpromisor = true\n\tuploadpack = CANARY\n",
		harmful: "git cat-file -p 1111111111111111111111111111111111111111"},
	{name: "an alternate's command", config: "[core]\n\talternateRefsCommand = CANARY\n"},
	{name: "signatures", config: "[gpg]\n\tprogram = CANARY\n[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = x\n", harmful: "git commit -q --allow-empty -m x"},
}

func hooks(dir string) files {
	f := files{}
	for _, name := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit", "fsmonitor-watchman"} {
		f[dir+name+"*"] = "#!/bin/sh\nexec CANARY\n"
	}
	return f
}

// canary is a program that leaves a mark when it is started.
func canary(t *testing.T) (program, mark string) {
	t.Helper()
	dir := t.TempDir()
	program, mark = filepath.Join(dir, "canary"), filepath.Join(dir, "started")
	must(t, proctest.WriteProgram(program, "#!/bin/sh\necho \"$0 $*\" >>'"+mark+"'\nexit 1\n"))
	return program, mark
}

func aim(f files, program string) files {
	aimed := files{}
	for name, text := range f {
		aimed[name] = strings.ReplaceAll(text, "CANARY", program)
	}
	return aimed
}

// arm puts a into the repository at dir.
func (a armed) arm(t *testing.T, dir, program string) {
	t.Helper()
	write(t, dir, aim(a.files, program))
	gitDir := filepath.Join(dir, ".git")
	write(t, gitDir, aim(a.inGit, program))
	f, err := os.OpenFile(filepath.Join(gitDir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(strings.ReplaceAll(a.config, "CANARY", program))
	must(t, err)
	must(t, f.Close())
}

func wantSilence(t *testing.T, mark string) {
	t.Helper()
	if text, err := os.ReadFile(mark); err == nil {
		t.Errorf("started: %s", text)
	}
}

// Neither the user's configuration nor what an agent makes of the checkout's own
// starts anything.
func TestArmedRepositoriesStartNothing(t *testing.T) {
	need.Suite(t, need.CI)
	plain := userRepo(t, sample)
	pristine := state(t, plain.Dir)
	for _, a := range arms {
		t.Run("the user's with "+a.name, func(t *testing.T) {
			program, mark := canary(t)
			r := userRepo(t, sample.With(aim(a.files, program)))
			commit := head(t, r)
			armed{config: a.config, inGit: a.inGit}.arm(t, r.Dir, program)
			before := state(t, r.Dir)
			t.Setenv("GIT_EXTERNAL_DIFF", program)
			t.Setenv("GIT_TRACE", mark)
			s := open(t, beside(r))
			must(t, s.Make(t.Context(), commit))
			write(t, s.WorkDir(), files{"main.go": "changed\n", "new": "new\n"})
			if diff := changes(t, s); !strings.Contains(diff, "+changed\n") {
				t.Errorf("changes:\n%s", diff)
			}
			must(t, s.Make(t.Context(), commit))
			must(t, s.Remove(t.Context()))
			wantSilence(t, mark)
			if state(t, r.Dir) != before {
				t.Error("the user's repository has changed")
			}
		})
		t.Run("the checkout's with "+a.name, func(t *testing.T) {
			t.Parallel()
			program, mark := canary(t)
			s := makeAt(t, apart(t, plain))
			a.arm(t, s.WorkDir(), program)
			write(t, s.WorkDir(), files{"main.go": "changed\n", "new": "new\n"})
			if diff := changes(t, s); !strings.Contains(diff, "+changed\n") {
				t.Errorf("changes:\n%s", diff)
			}
			must(t, s.Make(t.Context(), head(t, plain)))
			gittest.WantTree(t, s.WorkDir(), sample)
			must(t, s.Remove(t.Context()))
			wantSilence(t, mark)
			if state(t, plain.Dir) != pristine {
				t.Error("the user's repository has changed")
			}
		})
	}
}

// The control: a git with the usual trust does start the canary in most of them.
func TestArmedRepositoriesBite(t *testing.T) {
	need.Suite(t, need.CI)
	bites := 0
	r := userRepo(t, sample)
	for _, a := range arms {
		program, mark := canary(t)
		s := makeAt(t, apart(t, r))
		a.arm(t, s.WorkDir(), program)
		write(t, s.WorkDir(), files{"main.go": "changed\n"})
		cmd := exec.CommandContext(t.Context(), "sh", "-c", a.harmful)
		cmd.Dir, cmd.WaitDelay = s.WorkDir(), time.Second
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
		_ = cmd.Run() // a canary in the wrong place makes git fail, too
		if _, err := os.Stat(mark); err == nil {
			bites++
		}
	}
	t.Logf("%d of %d bite", bites, len(arms))
	if bites < 10 {
		t.Errorf("%d of %d start a program for a trusting git, want 10 or more", bites, len(arms))
	}
}

// Whatever an agent does with git in its checkout stays there.
func TestGitInTheCheckoutDoesNotReachTheUser(t *testing.T) {
	r := userRepo(t, sample)
	before := state(t, r.Dir)
	for _, script := range []string{
		"git checkout -q -b main; git commit -q --allow-empty -m x; git branch other; git tag v1; git stash -q -u || true",
		"git config user.name evil; git config core.hooksPath /tmp; git config --worktree core.bare true || true; git remote add origin /nowhere",
		"git update-ref refs/heads/main HEAD; git update-ref refs/heads/main HEAD~0; git symbolic-ref HEAD refs/heads/gone; git pack-refs --all",
		"git worktree add -q --detach ../../w; git worktree prune; git worktree list",
		"echo x >>main.go; git commit -q -am x; git reset -q --hard HEAD~1; git reflog expire --expire=now --all; git gc -q --aggressive --prune=now",
		"git repack -q -a -d -f; git prune; git prune-packed -q; git pack-redundant --all || true; git multi-pack-index write; git commit-graph write --reachable",
		"rm -rf .git/refs .git/HEAD; git status || true; git init -q; git fsck || true",
		"git replace HEAD $(git commit-tree -m x HEAD^{tree}); git notes add -m x; git bundle create ../b HEAD; git maintenance run",
		"rm -f .git/objects/*/*; git rev-list HEAD | git pack-objects -q --revs .git/objects/pack/pack >/dev/null; git clean -q -fdx",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			s := makeAt(t, apart(t, r))
			agent(t, s, script)
			_, err := s.Changes(t.Context(), patch.Limits{})
			must(t, err)
			must(t, s.Make(t.Context(), head(t, r)))
			if state(t, r.Dir) != before {
				t.Error("the user's repository has changed")
			}
		})
	}
}

// A checkout may live inside the user's: a git that does not find the one does
// not find the other either.
func TestCheckoutInsideTheUsersRepository(t *testing.T) {
	r := userRepo(t, sample.With(files{".gitignore": "/runs/\n"}))
	gitDir := filepath.Join(r.Dir, ".git")
	before := state(t, gitDir)
	s := makeAt(t, scratch.Spec{Repo: r.Dir, Dir: filepath.Join(r.Dir, "runs", "scratch")})
	agent(t, s, "rm .git/HEAD; ! git add -A; ! git commit -q -am x; rm -rf .git; ! git add -A; ! git config user.name evil; ! git branch evil")
	if state(t, gitDir) != before {
		t.Error("the user's repository has changed")
	}
	if diff := changes(t, s); diff != "" {
		t.Errorf("changes:\n%s", diff)
	}
	if got := shell(t, r.Dir, "git status --porcelain"); got != "" {
		t.Errorf("status of the user's: %s", got)
	}
	must(t, s.Remove(t.Context()))
}

// A process that the agent left behind goes on while changes are looked for:
// nothing waits for it, and nothing outside is read.
func TestChangesWhileTheTreeIsSwapped(t *testing.T) {
	need.Suite(t, need.CI)
	_, s := made(t)
	outside := t.TempDir()
	write(t, outside, files{"secret": "SECRET\n", "one.txt": "SECRET\n"})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		swap(s.WorkDir(), outside, stop)
	}()
	told := 0
	for range 60 {
		diff, err := s.Changes(t.Context(), patch.Limits{})
		if strings.Contains(string(diff), "SECRET") {
			t.Fatalf("read from outside:\n%s", diff)
		}
		if err == nil {
			told++
		}
	}
	close(stop)
	<-done
	t.Logf("%d of 60 told changes", told)
}

// swap lets two names be files, links, FIFOs and directories in turn.
func swap(dir, outside string, stop <-chan struct{}) {
	at := func(name string) string { return filepath.Join(dir, name) }
	for {
		for _, name := range []string{"main.go", "lib"} {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.RemoveAll(at(name))
			_ = os.Symlink(filepath.Join(outside, "secret"), at(name))
			_ = os.Remove(at(name))
			_ = os.WriteFile(at(name), []byte("own\n"), 0o644)
			_ = os.Remove(at(name))
			_ = exec.Command("mkfifo", at(name)).Run()
			_ = os.Remove(at(name))
			_ = os.Symlink(outside, at(name))
			_ = os.Remove(at(name))
			_ = os.MkdirAll(at(name+"/a"), 0o755)
			_ = os.WriteFile(at(name+"/a/one.txt"), []byte("own\n"), 0o644)
		}
	}
}
