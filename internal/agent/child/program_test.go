package child_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

func write(t *testing.T, path, script string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(script), mode); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir+"/a/text", "", 0o600)
	write(t, dir+"/b/text", "", 0o700)
	write(t, dir+"/b/tool", "", 0o700)
	write(t, dir+"/c/tool", "", 0o700)
	write(t, dir+"/a/tool/dir", "", 0o700)
	path := "c:" + dir + "/a::" + dir + "/a:" + dir + "/b:" + dir + "/c"
	tests := map[string]struct{ name, want, fails string }{
		"the first on the path":      {name: "tool", want: dir + "/b/tool"},
		"not a file without a right": {name: "text", want: dir + "/b/text"},
		"a path":                     {name: dir + "/c/tool", want: dir + "/c/tool"},
		"a relative path":            {name: "./c/tool", want: dir + "/c/tool"},
		"nowhere":                    {name: "none", fails: "no program none in " + dir + "/a, " + dir + "/b, " + dir + "/c"},
		"a path to nothing":          {name: dir + "/none", fails: "no such file"},
		"a path to a text":           {name: dir + "/a/text", fails: "not an executable program"},
		"a path to a directory":      {name: dir + "/a/tool", fails: "not an executable program"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := child.FindProgram(tt.name, path)
			switch {
			case tt.fails == "" && (err != nil || got != tt.want):
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
				t.Errorf("got %q, %v, want an error with %q", got, err, tt.fails)
			}
		})
	}
}

func TestFindWithoutAPath(t *testing.T) {
	for _, path := range []string{"", "bin:."} {
		if got, err := child.FindProgram("sh", path); err == nil || !strings.Contains(err.Error(), "PATH has no absolute directory") {
			t.Errorf("PATH %q: got %q, %v", path, got, err)
		}
	}
}

func TestEnvironLetsNothingElseThrough(t *testing.T) {
	ours := child.ParseEnviron([]string{"PATH=/bin", "SECRET=s", "KEY=old", "KEY=new", "LC_ALL=C", "LC=x", "EMPTY=", "HOME=/h"})
	got := child.BuildEnviron(ours, []string{"KEY", "HOME", "EMPTY", "UNSET"}, []string{"LC_"}, map[string]string{"HOME": "/other"})
	want := []string{"EMPTY=", "HOME=/other", "KEY=new", "LANG=C.UTF-8", "LC_ALL=C", "PATH=/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVersion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tool")
	env := []string{"PATH=/usr/bin:/bin"}
	tests := map[string]struct{ script, want, fails string }{
		"a number": {script: `echo "$1 $2 1.2.3 (tool 4)"`, want: "1.2.3"},
		"a word":   {script: `echo "$1 $2 v1.2.3"`, want: "v1.2.3"},
		"failure":  {script: "echo what; exit 2", fails: `exit code 2 and printed "what`},
		"nothing":  {script: "exit 0", fails: "exit code 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			write(t, file, tt.script, 0o600)
			got, err := child.ReadVersion(t.Context(), []string{"/bin/sh", file, "x"}, env)
			if got != tt.want || (err == nil) != (tt.fails == "") {
				t.Errorf("got %q, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("got %v, want %q", err, tt.fails)
			}
		})
	}
	t.Run("too late", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got, err := child.ReadVersion(ctx, []string{"/bin/sh", file}, env); err == nil {
			t.Errorf("got %q", got)
		}
	})
}

func TestAManifestIsAskedForOnceForEachStateOfAProgram(t *testing.T) {
	script := filepath.Join(t.TempDir(), "agent.js")
	write(t, script, "one", 0o600)
	argv := []string{"/bin/sh", script}
	missing := func(why string) agent.Manifest { return agent.MissingManifest(setup.Pi, "pi", why) }
	var asked int
	var ms child.Manifests
	get := func(argv []string, version string, whole bool) string {
		return ms.GetOrDetect(t.Context(), argv, missing, func(context.Context) (agent.Manifest, bool) {
			asked++
			return agent.Manifest{Version: version}, whole
		}).Version
	}
	steps := []struct {
		whole      bool
		want       string
		asked      int
		change     string
		otherShell bool
	}{
		{whole: false, want: "0", asked: 1},
		{whole: true, want: "1", asked: 2}, // what was not whole was not kept
		{whole: true, want: "1", asked: 2},
		{whole: true, want: "3", asked: 3, change: "another"},
		{whole: true, want: "4", asked: 4, otherShell: true},
	}
	for i, s := range steps {
		if s.change != "" {
			write(t, script, s.change, 0o600)
		}
		if s.otherShell {
			argv = []string{"/bin/bash", script}
		}
		if got := get(argv, string(rune('0'+i)), s.whole); got != s.want || asked != s.asked {
			t.Errorf("step %d: got version %q after %d questions, want %q after %d", i, got, asked, s.want, s.asked)
		}
	}
}

func TestAManifestThatHangsIsMissing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	missing := func(why string) agent.Manifest { return agent.MissingManifest(setup.Pi, "pi", why) }
	var ms child.Manifests
	m := ms.GetOrDetect(ctx, []string{"/bin/sh"}, missing, func(context.Context) (agent.Manifest, bool) {
		cancel()
		<-over
		return agent.Manifest{}, false
	})
	close(over)
	if m.Status != agent.Unsupported || !strings.Contains(m.Unavailable, "/bin/sh did not answer in time") {
		t.Errorf("got %+v", m)
	}
}
