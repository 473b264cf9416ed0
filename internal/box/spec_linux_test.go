package box_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func TestSpecThatIsRefused(t *testing.T) {
	need.Sandbox(t)
	home := t.TempDir()
	runs := mkdir(t, t.TempDir(), "runs")
	b, err := box.Open(t.Context(), box.Config{Home: home, Dir: runs})
	if err != nil {
		t.Fatal(err)
	}
	tree, outside, linked := mkdir(t, home, "tree"), filepath.Join(t.TempDir(), "tool"), filepath.Join(t.TempDir(), "link")
	write(t, outside, "#!/bin/sh\n", 0o755)
	services, inRuns := filepath.Join(filepath.Dir(linked), "services"), filepath.Join(filepath.Dir(linked), "other")
	socket := below(t, "/run")
	for at, to := range map[string]string{linked: home, services: socket, inRuns: mkdir(t, runs, "other")} {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
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
		"a directory by way of a process": {spec: box.Spec{Tree: tree, Read: []string{"/proc/self/root" + tree}}, want: "system"},
		"the sockets of the host":         {spec: box.Spec{Tree: tree, Write: []string{"/run"}}, want: "system"},
		"a socket of the host":            {spec: box.Spec{Tree: tree, Read: []string{socket}}, want: "system"},
		"a link to the sockets":           {spec: box.Spec{Tree: tree, Read: []string{services}}, want: "system"},
		"the runs directory":              {spec: box.Spec{Tree: tree, Read: []string{runs}, Own: []string{runs}}, want: "runs directory"},
		"a directory in it":               {spec: box.Spec{Tree: tree, Write: []string{mkdir(t, runs, "other")}, Own: []string{mkdir(t, runs, "own")}}, want: "runs directory"},
		"a link to one in it":             {spec: box.Spec{Tree: tree, Read: []string{inRuns}}, want: "runs directory"},
		"the repository of the tree":      {spec: box.Spec{Tree: tree, Write: []string{mkdir(t, tree, ".git/hooks")}}, want: ".git"},
		"a directory that is not there":   {spec: box.Spec{Tree: tree}, dir: outside + "x", want: "working directory"},
		"another directory":               {spec: box.Spec{Tree: tree}, dir: filepath.Dir(outside), want: "working directory"},
		"a program that is not there":     {spec: box.Spec{Tree: tree}, argv: outside, want: "name its directory"},
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

// below returns the path of something in a directory of the machine.
func below(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Skipf("nothing is in %s: %v", dir, err)
	}
	return filepath.Join(dir, entries[0].Name())
}

// A directory that a person names, as for a toolchain, may hold the runs. The program sees its own part of them.
func TestTheRunsAreCoveredWhereADirectoryHoldsThem(t *testing.T) {
	need.Sandbox(t)
	top, tree := t.TempDir(), t.TempDir()
	runs, linked := mkdir(t, top, "state/.runs"), filepath.Join(t.TempDir(), "linked")
	b, err := box.Open(t.Context(), box.Config{Dir: runs})
	if err != nil {
		t.Fatal(err)
	}
	own := mkdir(t, runs, "part/own")
	write(t, filepath.Join(own, "file"), "own\n", 0o600)
	write(t, filepath.Join(runs, "engine.json"), "secret\n", 0o600)
	write(t, filepath.Join(top, "tool"), "tool\n", 0o600)
	if err := os.Symlink(top, linked); err != nil {
		t.Fatal(err)
	}
	look := func(top string) string {
		return fmt.Sprintf("cat %[1]s/tool; cd %[1]s/state/.runs && find . | sort; cat part/own/file; true", top)
	}
	for name, tt := range map[string]struct {
		spec   box.Spec
		script string
		want   string
	}{
		"no part of its own":            {box.Spec{Tree: tree, Read: []string{top}}, look(top), "tool\n.\n"},
		"a part to read":                {box.Spec{Tree: tree, Read: []string{top, own}, Own: []string{own}}, look(top), "tool\n.\n./part\n./part/own\n./part/own/file\nown\n"},
		"its tree":                      {box.Spec{Tree: own, Read: []string{top}}, look(top) + "; echo x > " + own + "/made && echo made; rm " + own + "/made", "tool\n.\n./part\n./part/own\n./part/own/.git\n./part/own/file\nown\nmade\n"},
		"the directory, by a link":      {box.Spec{Tree: tree, Read: []string{linked}}, look(linked), "tool\n.\n"},
		"the directory, to write":       {box.Spec{Tree: tree, Write: []string{top}}, look(top) + "; mv " + top + "/state/.runs " + top + "/x || echo stays", "tool\n.\nstays\n"},
		"the directory, and one within": {box.Spec{Tree: tree, Read: []string{top, top + "/state"}}, look(top), "tool\n.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := inBox(t, b, tt.spec, "("+tt.script+") 2>/dev/null"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNoOverlayIsLaidOverTheRuns(t *testing.T) {
	need.Sandbox(t)
	home := t.TempDir()
	runs := mkdir(t, home, "state/runs")
	b, err := box.Open(t.Context(), box.Config{Home: home, Dir: runs})
	if err != nil {
		t.Fatal(err)
	}
	for dir, good := range map[string]bool{
		mkdir(t, home, "cache"): true, runs: false, filepath.Dir(runs): false, mkdir(t, runs, "cache"): false, home: false,
	} {
		if err := b.CheckLower(dir); (err == nil) != good {
			t.Errorf("%s: %v", dir, err)
		}
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

// TestWhatIsReadOnlyCannotBeReplaced has a program of the box change a file that its spec shows
// read-only in a directory that it can write. What the host finds at the file's path is judged.
func TestWhatIsReadOnlyCannotBeReplaced(t *testing.T) {
	b := openBox(t)
	const replace = `echo evil > "$TOOL" || { mv local moved && mkdir local && cp -r moved/. local/ && rm -f "$TOOL" && echo evil > "$TOOL"; }`
	for name, tt := range map[string]struct {
		write, read []string // below the home
		script      string
		refused     string // empty: the spec is good, and holds
	}{
		"in the directory itself":           {[]string{"state"}, []string{"state/tool"}, `cd state; TOOL=tool; echo evil > tool; echo x > n; mv -f n tool; rm -f tool`, ""},
		"below a directory of it":           {[]string{"state"}, []string{"state/local/tool"}, "cd state; TOOL=local/tool; " + replace, "could be replaced"},
		"below a directory that is shown":   {[]string{"state"}, []string{"state/local", "state/local/tool"}, "cd state; TOOL=local/tool; " + replace, ""},
		"below one that is also writable":   {[]string{"state", "state/local"}, []string{"state/local/tool"}, "cd state; TOOL=local/tool; " + replace, ""},
		"two levels below a writable one":   {[]string{"state", "state/local/bin"}, []string{"state/local/bin/tool"}, "cd state; TOOL=local/bin/tool; " + replace, "could be replaced"},
		"by the name of a link, in another": {[]string{"linked"}, []string{"state/tool"}, "cd linked; echo evil > tool", "could be written"},
		"in what a link leads to":           {[]string{"state"}, []string{"linked/tool"}, "cd state; echo evil > tool", "could be written"},
		"the same directory by a link":      {[]string{"linked"}, []string{"state"}, "cd linked; echo evil > tool", "could be written"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for _, file := range []string{"state/tool", "state/local/tool", "state/local/bin/tool"} {
				mkdir(t, home, filepath.Dir(file))
				write(t, filepath.Join(home, file), "good\n", 0o755)
			}
			if err := os.Symlink("state", filepath.Join(home, "linked")); err != nil {
				t.Fatal(err)
			}
			var s box.Spec
			for _, path := range tt.write {
				s.Write = append(s.Write, filepath.Join(home, path))
			}
			for _, path := range tt.read {
				s.Read = append(s.Read, filepath.Join(home, path))
			}
			_, err := proc.Run(t.Context(), proc.Command{
				Argv: []string{"/bin/sh", "-c", "cd '" + home + "'; " + tt.script}, Dir: s.Write[0], Env: env, Box: b.For(s),
			})
			if (err != nil) != (tt.refused != "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("got %v", err)
			}
			for _, path := range tt.read {
				tool := filepath.Join(home, path)
				if info, err := os.Stat(tool); err == nil && info.IsDir() {
					tool = filepath.Join(tool, "tool")
				}
				if got, err := os.ReadFile(tool); err != nil || string(got) != "good\n" {
					t.Errorf("%s: %q, %v", path, got, err)
				}
			}
		})
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
// Small files of /etc are copies: they hold what those of the machine hold at the start, and no program can
// change them for another one of its box.
func TestProgramsHaveTheFilesOfEtc(t *testing.T) {
	const meddle = `chmod u+w /etc/passwd; echo planted >> /etc/passwd; rm -f /etc/group; ln -s /tmp /etc/hosts~; `
	asBoth(t, func(t *testing.T) {
		b, tree := openBox(t), t.TempDir()
		in := func(b *box.Box, script string) string {
			var out bytes.Buffer
			if _, err := proc.Run(t.Context(), shell(b, box.Spec{Tree: tree}, script, &out)); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		for _, file := range []string{"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/os-release"} {
			want, err := os.ReadFile(file)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if file == "/etc/hosts" { // the box's own name is added
				want = append(want, "127.0.0.1 box\n"...)
			}
			if got := in(b, "("+meddle+") 2>/dev/null; cat "+file); got != string(want) {
				t.Errorf("%s is %.200q inside, and %.200q outside", file, got, want)
			}
		}
		if got := in(b, "ls -l /proc/self/fd | grep -c /etc/"); got != "0\n" {
			t.Errorf("descriptors that lead to /etc: %s", got)
		}
		weakened, _ := weak(t, b, "root") // the control
		if got := in(weakened, meddle+"tail -n 1 /etc/passwd"); got != "planted\n" {
			t.Errorf("without the belt: %s", got)
		}
	})
}

// A program writes to its own output by its name in /proc, although /proc is read-only.
func TestProgramsWriteToDevStdout(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		b, tree := openBox(t), t.TempDir()
		var out bytes.Buffer
		const script = `echo one > /dev/stdout; echo two >> /proc/self/fd/2; echo three > file; exec 4<>file; echo 3 > /dev/fd/4; cat file; : > /dev/null`
		if r, err := proc.Run(t.Context(), shell(b, box.Spec{Tree: tree}, script, &out)); err != nil || r.ExitCode != 0 || out.String() != "one\ntwo\n3\n" {
			t.Errorf("%q, %+v, %v", out.String(), r, err)
		}
		for _, file := range []string{"/proc/self/oom_score_adj", "/proc/self/comm", "/proc/sys/kernel/hostname"} {
			out.Reset()
			if r, err := proc.Run(t.Context(), shell(b, box.Spec{Tree: tree}, ": >> "+file, &out)); err != nil || r.ExitCode == 0 {
				t.Errorf("%s can be written: %+v, %v", file, r, err)
			}
		}
	})
}

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
