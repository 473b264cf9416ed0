package child_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// A person names a further directory for its files. What listens in it acts for the person.
func TestASocketInAFurtherDirectoryIsCovered(t *testing.T) {
	boxed := child.Sandbox{Box: openBox(t)}
	for name, give := range map[string]func(o *agent.Options, dir string){
		"to read":            func(o *agent.Options, dir string) { o.ReadDirs = []string{dir} },
		"to write":           func(o *agent.Options, dir string) { o.Dirs = []string{dir} },
		"for a reader alone": func(o *agent.Options, dir string) { o.Dirs, o.Sandbox = []string{dir}, agent.ReadOnly },
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "named-") // the path of a socket must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			write(t, dir+"/file", "file", 0o600)
			write(t, dir+"/tmp/file", "", 0o600)
			linked := filepath.Join(t.TempDir(), "linked")
			if err := os.Symlink(dir, linked); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", dir+"/tmp/s")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, " reached") }))
			for _, at := range []string{dir, linked} {
				o := agent.Options{Sandbox: agent.WorkspaceWrite}
				give(&o, at)
				script := "cat " + at + "/file; curl -s -m 60 --unix-socket " + at + "/tmp/s http://x/ || echo ' refused'"
				for s, want := range map[*child.Sandbox]string{&boxed: "file refused", {}: "file reached"} {
					if got := newPlace(t).run(t, *s, o, script); got != want {
						t.Errorf("%s, in a box: %v: got %q, want %q", at, s.Held(), got, want)
					}
				}
			}
		})
	}
}

// The runs may be below a directory that a person names, and hold more files than a start looks at.
func TestTheRunsAreNotLookedAt(t *testing.T) {
	need.Sandbox(t)
	p := newPlace(t)
	runs := filepath.Join(p.checkout, ".runs")
	write(t, runs+"/file", "", 0o600)
	t.Chdir(runs) // the path of a socket must be short
	l, err := net.Listen("unix", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for n := range 1024 { // with the first one more than a box covers
		if err := os.Link("s", fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := box.Open(t.Context(), box.Config{Home: p.home, Dir: runs})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.run(t, child.Sandbox{Box: b}, agent.Options{Sandbox: agent.ReadOnly}, "cat file; ls -A .runs"); got != "file" {
		t.Errorf("got %q", got)
	}
}
