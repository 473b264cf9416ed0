package command_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/command"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// desk is a directory of the user with a program in it, and what no program in the box may see.
type desk struct {
	home, dir, runs, keys string
	toolchains            []string
}

func newDesk(t *testing.T) desk {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "desk-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := desk{home: t.TempDir(), dir: dir, runs: filepath.Join(dir, ".runs")}
	d.keys = filepath.Join(d.home, ".ssh")
	for _, err := range []error{
		os.Mkdir(d.keys, 0o700), os.WriteFile(d.keys+"/id", []byte("key\n"), 0o600),
		os.Mkdir(d.runs, 0o700), os.WriteFile(d.runs+"/engine.json", []byte("secret\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// ask runs the script as the program of a provider, in the box or without one, and returns its answer.
func (d desk) ask(t *testing.T, boxed bool, argv []string, script string) (string, error) {
	t.Helper()
	c := command.Config{Argv: argv, Dir: d.dir, Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + d.home}}
	if boxed {
		need.Sandbox(t)
		var err error
		c.Sandbox.Toolchains = d.toolchains
		if c.Sandbox.Box, err = box.Open(t.Context(), box.Config{Home: d.home, Dir: d.runs}); err != nil {
			t.Fatal(err)
		}
	}
	if err := proctest.WriteProgram(filepath.Join(d.dir, "agent.sh"), script); err != nil {
		t.Fatal(err)
	}
	resp, err := command.New(c).Generate(t.Context(), provider.Request{
		RunID: "r1", Phase: run.Execute, Role: run.Developer, Iteration: 1, Prompt: provider.Prompt{User: "x"},
		Constraints: provider.Constraints{TimeoutMs: 60_000, PatchFirst: true},
	}, func(provider.Progress) {})
	return resp.RawText, err
}

// A program of the user, such as a development server, listens where it works.
func TestNoSocketInItsDirectoryIsReached(t *testing.T) {
	for _, name := range []string{".overmind.sock", "tmp/sockets/puma.sock"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			socket := filepath.Join(d.dir, name)
			if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "reached\n") }))
			script := "#!/bin/sh\ncurl -s -m 60 --unix-socket " + name + " http://x/ || echo refused\n"
			if got, err := d.ask(t, true, []string{"./agent.sh"}, script); err != nil || got != "refused\n" {
				t.Errorf("got %q, %v", got, err)
			}
			if got, err := d.ask(t, false, []string{"./agent.sh"}, script); err != nil || got != "reached\n" { // the control
				t.Errorf("without a box: %q, %v", got, err)
			}
		})
	}
}

// TestAnInterpreterInAToolchain runs a script whose interpreter is in a directory of --toolchain alone.
func TestAnInterpreterInAToolchain(t *testing.T) {
	need.Sandbox(t)
	d := newDesk(t)
	tools := t.TempDir()
	if err := os.Mkdir(filepath.Join(tools, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := proctest.WriteProgram(filepath.Join(tools, "bin", "mysh"), "#!/bin/sh\nexec /bin/sh \"$@\"\n"); err != nil {
		t.Fatal(err)
	}
	script := "#!/usr/bin/env mysh\necho done\n"
	d.toolchains = []string{tools}
	if got, err := d.ask(t, true, []string{"./agent.sh"}, script); err != nil || got != "done\n" {
		t.Errorf("got %q, %v, want done", got, err)
	}
	d.toolchains = nil
	if got, err := d.ask(t, true, []string{"./agent.sh"}, script); err == nil { // the control
		t.Errorf("without the toolchain: got %q, want an error", got)
	}
}

// Whoever wrote the repository wrote the first line of its script.
func TestNoFirstLineShowsFilesOfTheUser(t *testing.T) {
	for name, tt := range map[string]struct {
		line string // KEYS stands for the directory of the user's keys
		argv []string
	}{
		"the system's shell":         {"#!/bin/sh", []string{"./agent.sh"}},
		"as an argument of a shell":  {"#!KEYS", []string{"sh", "./agent.sh"}},
		"a value of an option":       {"#!/usr/bin/env -S -u KEYS sh", []string{"./agent.sh"}},
		"its directory as a program": {"#!/usr/bin/env KEYS", []string{"sh", "./agent.sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			script := strings.ReplaceAll(tt.line, "KEYS", d.keys) + "\ncat " + d.keys + "/id " + d.runs + "/engine.json 2>/dev/null; echo end\n"
			if got, err := d.ask(t, true, tt.argv, script); err != nil || got != "end\n" {
				t.Errorf("got %q, %v", got, err)
			}
			if got, err := d.ask(t, false, tt.argv, script); err != nil || got != "key\nsecret\nend\n" { // the control
				t.Errorf("without a box: %q, %v", got, err)
			}
		})
	}
}
