package workspace_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// hostile are repositories that start a program when a git with the usual trust is run in
// them. CANARY stands for the program. Paths in config are below .git.
var hostile = []struct {
	name   string
	config string // added to .git/config
	files  files  // tracked
	inGit  files  // below .git
}{
	{name: "hooks", inGit: hooks("hooks/")},
	{name: "core.hooksPath", config: "[core]\n\thooksPath = evil\n", files: hooks("evil/")},
	{name: "core.fsmonitor", config: "[core]\n\tfsmonitor = CANARY\n\tuntrackedCache = true\n"},
	{name: "a clean and smudge filter", config: "[filter \"x\"]\n\tclean = CANARY\n\tsmudge = CANARY\n\trequired = true\n",
		files: files{".gitattributes": "* filter=x\n"}},
	{name: "a process filter", config: "[filter \"x\"]\n\tprocess = CANARY\n\trequired = true\n",
		files: files{".gitattributes": "* filter=x\n"}},
	{name: "a filter by info/attributes", config: "[filter \"x\"]\n\tclean = CANARY\n\tsmudge = CANARY\n",
		inGit: files{"info/attributes": "* filter=x\n"}},
	{name: "a filter by core.attributesFile", config: "[core]\n\tattributesFile = evil.attributes\n[filter \"x\"]\n\tclean = CANARY\n\tsmudge = CANARY\n",
		files: files{"evil.attributes": "* filter=x\n"}, inGit: files{"evil.attributes": "* filter=x\n"}},
	{name: "diff.external", config: "[diff]\n\texternal = CANARY\n"},
	{name: "a diff driver's command", config: "[diff \"x\"]\n\tcommand = CANARY\n", files: files{".gitattributes": "* diff=x\n"},
		inGit: files{"info/attributes": "* diff=x\n"}},
	{name: "a diff driver's textconv", config: "[diff \"x\"]\n\ttextconv = CANARY\n\tcachetextconv = true\n", files: files{".gitattributes": "* diff=x\n"},
		inGit: files{"info/attributes": "* diff=x\n"}},
	{name: "pagers", config: "[core]\n\tpager = CANARY\n[pager]\n\tlog = CANARY\n\tstatus = CANARY\n\tdiff = CANARY\n\trev-parse = CANARY\n"},
	{name: "editors", config: "[core]\n\teditor = CANARY\n[sequence]\n\teditor = CANARY\n"},
	{name: "credential helpers", config: "[credential]\n\thelper = !CANARY\n[core]\n\taskPass = CANARY\n"},
	{name: "aliases", config: aliases()},
	{name: "an included configuration", config: "[include]\n\tpath = evil.config\n[includeIf \"onbranch:**\"]\n\tpath = evil.config\n",
		inGit: files{"evil.config": "[core]\n\tfsmonitor = CANARY\n\thooksPath = /\n[filter \"x\"]\n\tclean = CANARY\n\tsmudge = CANARY\n[diff]\n\texternal = CANARY\n"},
		files: files{".gitattributes": "* filter=x\n"}},
	{name: "a configuration of the work tree's own", config: "[extensions]\n\tworktreeConfig = true\n",
		inGit: files{"config.worktree": "[core]\n\tfsmonitor = CANARY\n[filter \"x\"]\n\tclean = CANARY\n\tsmudge = CANARY\n"},
		files: files{".gitattributes": "* filter=x\n"}},
	{name: "signatures", config: "[gpg]\n\tprogram = CANARY\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n[user]\n\tsigningKey = x\n"},
	{name: "a promisor that is asked for objects", config: "[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryFormatVersion = 1\n\tsshCommand = CANARY\n" +
		"[remote \"origin\"]\n\turl = ssh://h/x\n\tpromisor = true\n\tuploadpack = CANARY\n[protocol]\n\tallow = always\n"},
	{name: "a promisor by an external helper", config: "[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryFormatVersion = 1\n" +
		"[remote \"origin\"]\n\turl = ext::CANARY\n\tpromisor = true\n[protocol \"ext\"]\n\tallow = always\n"},
	{name: "a promisor on this disk", config: "[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryFormatVersion = 1\n" +
		"[remote \"origin\"]\n\turl = /tmp\n\tpromisor = true\n\tuploadpack = CANARY\n"},
	{name: "alternates", config: "[core]\n\talternateRefsCommand = CANARY\n"},
	{name: "a submodule", config: "[submodule \"s\"]\n\turl = ext::CANARY\n\tupdate = !CANARY\n\tactive = true\n[submodule]\n\trecurse = true\n[protocol \"ext\"]\n\tallow = always\n",
		files: files{".gitmodules": "[submodule \"s\"]\n\tpath = s\n\turl = ext::CANARY\n\tupdate = !CANARY\n"}},
	{name: "maintenance", config: "[gc]\n\tauto = 1\n\trecentObjectsHook = CANARY\n[maintenance]\n\tauto = true\n"},
	// Git takes hooks from the configuration since 2.54: an older one starts none of these, whatever Ratchet does. Nor
	// does git 2.55 know the switch of an event where a hook has the event's name.
	{name: "hooks by configuration", config: hookNamed("hook \"x\"") + hookNamed("Hook \"x=.enabled.Y\"") + hookNamed("hook.Old") + hookNamed("hook \"\"") +
		hookNamed("hook \"a b\\\"c\"") + "[hook \"reference-transaction\"]\n\tcommand = CANARY\n[include]\n\tpath = evil.config\n",
		inGit: files{"evil.config": hookNamed("hook \"included\"")}},
	{name: "a hook by configuration, without a name", config: hookNamed("hook")},
}

// hookNamed is a hook by configuration that is on, with a section's name.
func hookNamed(section string) string {
	return "[" + section + "]\n\tcommand = CANARY\n\tevent = post-checkout\n\tevent = reference-transaction\n\tevent = post-index-change\n\tenabled = true\n"
}

func hooks(dir string) files {
	f := files{}
	for _, name := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-commit", "prepare-commit-msg",
		"commit-msg", "post-commit", "post-merge", "pre-auto-gc", "post-rewrite", "update", "fsmonitor-watchman", "query-watchman"} {
		f[dir+name+"*"] = "#!/bin/sh\nexec CANARY\n"
	}
	return f
}

func aliases() string {
	var b strings.Builder
	b.WriteString("[alias]\n")
	for _, name := range []string{"rev-parse", "status", "log", "cat-file", "update-ref", "worktree", "read-tree", "diff-tree", "ls-tree"} {
		b.WriteString("\t" + name + " = !CANARY\n")
	}
	return b.String()
}

// canary is a program that leaves a file when it is started.
func canary(t *testing.T) (program, mark string) {
	t.Helper()
	dir := t.TempDir()
	program, mark = filepath.Join(dir, "canary"), filepath.Join(dir, "started")
	must(t, proctest.WriteProgram(program, "#!/bin/sh\necho \"$0 $*\" >>'"+mark+"'\nexit 1\n"))
	return program, mark
}

func arm(f files, program string) files {
	armed := files{}
	for name, text := range f {
		armed[name] = strings.ReplaceAll(text, "CANARY", program)
	}
	return armed
}

func TestHostileRepositoryStartsNothing(t *testing.T) {
	need.Suite(t, need.CI)
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			program, mark := canary(t)
			r := userRepo(t, sample.With(arm(tt.files, program)))
			if tt.name == "a submodule" {
				addGitlink(t, r)
			}
			gitDir := filepath.Join(r.Dir, ".git")
			write(t, gitDir, arm(tt.inGit, program))
			config, err := os.ReadFile(filepath.Join(gitDir, "config"))
			must(t, err)
			write(t, gitDir, files{"config": string(config) + strings.ReplaceAll(tt.config, "CANARY", program)})
			must(t, os.Chtimes(filepath.Join(r.Dir, "main.go"), when, when)) // its content must be looked at
			t.Setenv("GIT_EXTERNAL_DIFF", program)
			t.Setenv("GIT_SSH_COMMAND", program)
			t.Setenv("GIT_TRACE", mark)

			everything(t, r)
			if text, err := os.ReadFile(mark); err == nil {
				t.Errorf("started: %s", text)
			}
		})
	}
}

func addGitlink(t *testing.T, r git.Repo) {
	t.Helper()
	runGit(t, r, "update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,s")
	tree := runGit(t, r, "write-tree")
	runGit(t, r, "reset", "-q", "--soft", runGit(t, r, "commit-tree", "-m", "link", "-p", "HEAD", tree))
}

// everything does all that this package can do.
func everything(t *testing.T, r git.Repo) {
	t.Helper()
	src, err := workspace.Inspect(t.Context(), r.Dir, "")
	must(t, err)
	must(t, workspace.Reserve(t.Context(), r.Dir, "ratchet/free", src.Base))
	must(t, workspace.Unreserve(t.Context(), r.Dir, "ratchet/free", src.Base))
	spec := specOf(t, r)
	w := open(t, spec)
	must(t, w.Prepare(t.Context()))
	f, err := w.Tree(t.Context(), src.Base).Lookup("main.go")
	must(t, err)
	c, err := w.Commit(t.Context(), commitOf(src.Base, change(patch.FileChange{
		Path: "main.go", Kind: patch.Modified, Before: &f, After: regular("package changed\n"),
	})))
	must(t, err)
	write(t, filepath.Join(r.Dir, ".git"), files{"refs/replace/" + string(c): string(src.Base) + "\n"})
	must(t, w.CheckBranch(t.Context(), c))
	write(t, w.Dir(), files{"main.go": "dirty\n", "rubbish": "x"})
	must(t, w.Sync(t.Context(), c))
	wantFile(t, filepath.Join(w.Dir(), "main.go"), "package changed\n")
	_, err = w.Files(t.Context(), c)
	must(t, err)
	_, _, err = w.Read(t.Context(), c, "main.go", 100)
	must(t, err)
	var diff strings.Builder
	must(t, w.Diff(t.Context(), src.Base, c, &diff))
	if !strings.Contains(diff.String(), "+package changed\n") {
		t.Errorf("diff: %s", diff.String())
	}
	_, err = w.DiffStat(t.Context(), src.Base, c)
	must(t, err)
	_, _, _ = w.Read(t.Context(), "1111111111111111111111111111111111111111", "x", 1) // missing: a promisor would be asked
	if err := w.Sync(t.Context(), "1111111111111111111111111111111111111111"); err == nil {
		t.Error("a missing commit was checked out")
	}
	must(t, w.Remove(t.Context()))
}

func wantFile(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s: %q, %v; want %q", name, got, err, want)
	}
}

// The control: a git with the usual trust does start the canary in most of them, so the
// test above looks at something.
func TestHostileRepositoriesBite(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	bites := 0
	for _, tt := range hostile {
		program, mark := canary(t)
		r := userRepo(t, sample.With(arm(tt.files, program)))
		gitDir := filepath.Join(r.Dir, ".git")
		write(t, gitDir, arm(tt.inGit, program))
		config, err := os.ReadFile(filepath.Join(gitDir, "config"))
		must(t, err)
		write(t, gitDir, files{"config": string(config) + strings.ReplaceAll(tt.config, "CANARY", program)})
		must(t, os.Chtimes(filepath.Join(r.Dir, "main.go"), when, when))
		trusting(t, r.Dir)
		if _, err := os.Stat(mark); err == nil {
			bites++
		}
	}
	t.Logf("%d of %d bite", bites, len(hostile))
	if bites < 12 {
		t.Errorf("%d of %d start a program for a trusting git, want 12 or more", bites, len(hostile))
	}
}

// trusting runs git as a user does.
func trusting(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"status"}, {"diff"}, {"checkout", "-q", "-f", "-b", "x"}, {"log", "-p", "-1"}, {"commit", "-q", "--allow-empty", "-m", "x"},
		{"worktree", "add", "-q", "-b", "y", dir + "-w"}, {"diff", "HEAD~1"}, {"submodule", "update", "--init"},
		{"cat-file", "-p", "1111111111111111111111111111111111111111"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.WaitDelay = time.Second
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x"}
		_ = cmd.Run() // a canary in the wrong place makes git fail, too
	}
}
