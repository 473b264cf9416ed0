package box_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/need"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

func TestSpecThatIsRefused(t *testing.T) {
	need.Program(t, "bwrap")
	home := t.TempDir()
	b, err := box.Open(t.Context(), box.Config{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	tree, outside, linked := mkdir(t, home, "tree"), filepath.Join(t.TempDir(), "tool"), filepath.Join(t.TempDir(), "link")
	write(t, outside, "#!/bin/sh\n", 0o755)
	if err := os.Symlink(home, linked); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		spec box.Spec
		dir  string
		argv string
		want string
	}{
		"a toolchain that does not exist": {spec: box.Spec{Tree: tree, Read: []string{"/no/such"}}, want: "no such file"},
		"a relative path":                 {spec: box.Spec{Tree: tree, Read: []string{"usr"}}, want: "absolute"},
		"a path with dots":                {spec: box.Spec{Tree: tree, Read: []string{home + "/tree/.."}}, want: "clean"},
		"the home directory":              {spec: box.Spec{Tree: tree, Read: []string{home}}, want: "home directory"},
		"a directory above it":            {spec: box.Spec{Tree: tree, Write: []string{filepath.Dir(home)}}, want: "home directory"},
		"a link to it":                    {spec: box.Spec{Tree: tree, Read: []string{linked}}, want: "home directory"},
		"the home directory as the tree":  {spec: box.Spec{Tree: home}, want: "home directory"},
		"an overlay over the home":        {spec: box.Spec{Tree: tree, Overlays: []box.Overlay{{Lower: home, Upper: tree, Work: tree, Target: tree}}}, want: "home directory"},
		"everything":                      {spec: box.Spec{Tree: tree, Read: []string{"/"}}, want: "system"},
		"the processes of the host":       {spec: box.Spec{Tree: tree, Read: []string{"/proc/self"}}, want: "system"},
		"the sockets of the host":         {spec: box.Spec{Tree: tree, Write: []string{"/run"}}, want: "system"},
		"the repository of the tree":      {spec: box.Spec{Tree: tree, Write: []string{mkdir(t, tree, ".git/hooks")}}, want: ".git"},
		"a directory that is not there":   {spec: box.Spec{Tree: tree}, dir: outside + "x", want: "working directory"},
		"another directory":               {spec: box.Spec{Tree: tree}, dir: filepath.Dir(outside), want: "working directory"},
		"a program that is not there":     {spec: box.Spec{Tree: tree}, argv: outside, want: "name its directory"},
		"less memory than a program has":  {spec: box.Spec{Tree: tree, Limits: box.Limits{Memory: 1}}, want: "memory limit"},
		"no process":                      {spec: box.Spec{Tree: tree, Limits: box.Limits{Processes: -1}}, want: "process limit"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.dir == "" {
				test.dir = tree
			}
			if test.argv == "" {
				test.argv = "/bin/true"
			}
			_, err := proc.Run(t.Context(), proc.Command{Argv: []string{test.argv}, Dir: test.dir, Env: env, Box: b.For(test.spec)})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			if _, ok := errors.AsType[*proc.BoxError](err); !ok && test.dir == tree {
				t.Errorf("no error of the box: %v", err)
			}
		})
	}
}

func TestWhatASpecShows(t *testing.T) {
	b := openBox(t)
	dir := t.TempDir()
	tree, tools, home := mkdir(t, dir, "tree"), mkdir(t, dir, "tools"), mkdir(t, dir, "home")
	write(t, filepath.Join(tools, "tool"), "#!/bin/sh\necho tool\n", 0o755)
	write(t, filepath.Join(mkdir(t, tree, ".git"), "config"), "[core]\n", 0o600)
	out, r := inBox(t, b, box.Spec{Tree: tree, Read: []string{tools}, Write: []string{home}}, tools+`/tool
cat .git/config
echo made > made && echo kept > `+home+`/kept
(echo x >> .git/config) 2>/dev/null || echo refused
(echo x > `+tools+`/new) 2>/dev/null || echo refused
ls `+dir)
	if want := "tool\n[core]\nrefused\nrefused\nhome\ntools\ntree\n"; out != want || r.ExitCode != 0 {
		t.Errorf("got %q, %+v", out, r)
	}
	for path, want := range map[string]string{filepath.Join(tree, "made"): "made\n", filepath.Join(home, "kept"): "kept\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

func TestATreeWithoutARepositoryGetsNone(t *testing.T) {
	b := openBox(t)
	tree := t.TempDir()
	out, _ := inBox(t, b, box.Spec{Tree: tree}, "(mkdir .git || echo x > .git || rm -f .git || mv .git y) 2>/dev/null || echo refused; cat .git; ls /proc/self/fd | tr '\\n' ' '")
	if _, err := os.Lstat(filepath.Join(tree, ".git")); out != "refused\ngitdir: none\n0 1 2 3 " || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%q, %v", out, err)
	}
}

// inBox runs a script in the tree of a spec.
func inBox(t testing.TB, b *box.Box, s box.Spec, script string) (string, proc.Result) {
	t.Helper()
	var out bytes.Buffer
	r, err := proc.Run(t.Context(), shell(b, s, script, &out))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String(), r
}

func tryInBox(t testing.TB, b *box.Box, s box.Spec, script string) (proc.Result, error) {
	t.Helper()
	return proc.Run(t.Context(), shell(b, s, script, io.Discard))
}

// shell is a command that runs a script in a box.
func shell(b *box.Box, s box.Spec, script string, out io.Writer) proc.Command {
	return proc.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: s.Tree, Env: env, Stdout: out, Stderr: out, Box: b.For(s)}
}

func mkdir(t testing.TB, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
