package merge_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func (r repo) run(name string, args ...string) {
	r.Helper()
	if out, err := exec.CommandContext(r.Context(), name, args...).CombinedOutput(); err != nil {
		r.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// object writes an object that git itself would not make, and returns its id.
func (r repo) object(kind, content string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "git", "hash-object", "-w", "--literally", "-t", kind, "--stdin")
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(content)
	out, err := cmd.Output()
	if err != nil {
		r.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// entry is an entry of a tree as git stores it.
func entry(mode, name, id string) string {
	raw := make([]byte, len(id)/2)
	for i := range raw {
		for _, c := range id[2*i : 2*i+2] {
			raw[i] = raw[i]<<4 | byte(strings.IndexRune("0123456789abcdef", c))
		}
	}
	return mode + " " + name + "\x00" + string(raw)
}

// planted makes the run's branch one commit with the tree.
func (r repo) planted(in *merge.Input, tree string) {
	r.Helper()
	id := r.object("tree", tree)
	in.Head = run.Commit(r.object("commit", "tree "+id+"\nparent "+string(in.Base)+"\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nEvil\n\nRatchet-Run: "+string(runID)+"\n"))
	r.git("update-ref", "refs/heads/"+branch, string(in.Head))
}

// The run's branch holds what git should never check out. Git refuses it, and nothing is written.
func TestTreesThatReachOutOfTheWorkTree(t *testing.T) {
	for name, tree := range map[string]func(r repo, evil, dir string) string{
		".git":                  func(_ repo, _, dir string) string { return entry("40000", ".git", dir) },
		".git, in capitals":     func(_ repo, _, dir string) string { return entry("40000", ".GIT", dir) },
		"git~1":                 func(_ repo, _, dir string) string { return entry("40000", "git~1", dir) },
		"..":                    func(_ repo, _, dir string) string { return entry("40000", "..", dir) },
		"a path":                func(_ repo, evil, _ string) string { return entry("100755", "../evil", evil) },
		"a link as .gitmodules": func(r repo, _, _ string) string { return entry("120000", ".gitmodules", r.object("blob", "a.txt")) },
		behindLink: func(r repo, _, dir string) string {
			return entry("120000", "evil", r.object("blob", "..")) + entry("40000", "evil", dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, in := newRepo(t)
			evil := r.object("blob", "#!/bin/sh\ntouch "+r.beside("canary")+"\n")
			r.planted(&in, tree(r, evil, r.object("tree", entry("100755", "evil", evil))))
			if name == behindLink { // git takes one of the two
				_, _ = r.merge(in)
			} else {
				r.refused(in, "")
			}
			for _, path := range []string{r.beside("evil"), filepath.Join(r.dir, ".git", "evil"), r.beside("canary")} {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("%s was written", path)
				}
			}
		})
	}
}

const behindLink = "a file behind a link"

// A link of the run's is written as a link, and no file behind one.
func TestALinkOutOfTheWorkTree(t *testing.T) {
	r, in := newRepo(t)
	r.onBranch(&in, func() { r.link("../outside", "c") })
	r.onBranch(&in, func() { r.remove("c"); r.write("c/file", "the run's\n") })
	r.write("../outside/file", "mine\n")
	r.merged(in)
	if r.read("../outside/file") != "mine\n" || r.read("c/file") != "the run's\n" {
		t.Errorf("outside %q, in the tree %q", r.read("../outside/file"), r.read("c/file"))
	}
}

// The run's attributes name filters, drivers and a program to compare. Those that the user's configuration does not have
// do not exist, whatever files the run brings along.
func TestAttributesOfARun(t *testing.T) {
	r, in := newRepo(t)
	canary := r.beside("canary")
	r.onBranch(&in, func() {
		r.write(".gitattributes", "* filter=evil diff=evil merge=evil text eol=lf working-tree-encoding=UTF-8 ident\n")
		r.write(".gitconfig", "[filter \"evil\"]\n\tsmudge = touch "+canary+"\n\trequired\n[merge \"evil\"]\n\tdriver = touch "+canary+"\n")
		r.write("config", r.read(".gitconfig"))
		r.write(".lfsconfig", "[lfs]\n\turl = file:///none\n")
	})
	r.onBranch(&in, func() { r.write("a.txt", strings.Replace(mended, "four", "FOUR", 1)) })
	r.write("a.txt", nine(lines))
	r.commit("mine")
	r.merged(in)
	if _, err := os.Lstat(canary); err == nil {
		t.Error("a program of the run was started")
	}
	if got := r.read("a.txt"); got != nine(strings.Replace(mended, "four", "FOUR", 1)) {
		t.Errorf("a.txt is %q", got)
	}
}

// The user's hooks are files of the work tree, which the run changes. None of the run's is started, neither in the
// temporary work tree nor with the files in place.
func TestHooksThatARunChanges(t *testing.T) {
	for _, place := range []string{".githooks", ".husky/_"} {
		r, in := newRepo(t)
		r.git("config", "core.hooksPath", place)
		mine := r.hook(place+"/commit-msg", "")
		in.Base = r.commit("hooks")
		r.git("switch", "-q", "-C", branch)
		for _, name := range []string{"commit-msg", "prepare-commit-msg", "post-merge", "post-checkout", "reference-transaction", "post-index-change", "post-commit"} {
			r.hook(place+"/"+name, "touch "+r.beside("canary")+"\n")
		}
		r.git("add", "-A")
		r.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "Better hooks\n\nRatchet-Run: "+string(runID))
		in.Head = run.Commit(r.git("rev-parse", "HEAD"))
		r.git("-c", "core.hooksPath=/dev/null", "switch", "-q", "main")
		if err := os.RemoveAll(r.beside("canary")); err != nil {
			t.Fatal(err)
		}
		before := r.read(mine)
		p := r.merged(in)
		if top, _, _ := strings.Cut(place, "/"); p.HooksOff != top {
			t.Errorf("the plan says that hooks are off because of %q, want %q", p.HooksOff, top)
		}
		if _, err := os.Lstat(r.beside("canary")); err == nil {
			t.Errorf("%s: a hook of the run was started", place)
		}
		if r.read(mine) == before {
			t.Error("the control: the user's own hook was not started")
		}
		if !strings.Contains(r.read(place+"/post-merge"), "canary") {
			t.Error("the control: the hooks of the run are not there")
		}
	}
}

// The run adds a submodule whose address is a program, and one below another path. Git clones neither.
func TestASubmoduleOfARun(t *testing.T) {
	r, in := newRepo(t)
	r.git("config", "submodule.recurse", "true")
	r.git("config", "submodule.active", ".")
	r.onBranch(&in, func() {
		r.write(".gitmodules", "[submodule \"evil\"]\n\tpath = evil\n\turl = ext::sh -c touch% "+r.beside("canary")+"\n")
		r.write("evil/file", "")
		r.at("shop/evil").git("init", "-q", "-b", "main")
		r.at("shop/evil").commit("part")
	})
	if _, err := r.merge(in); err != nil {
		t.Log(err)
	}
	if _, err := os.Lstat(r.beside("canary")); err == nil {
		t.Error("a program of the run was started")
	}
}
