package command_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/command"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// A program in the box reads its request and its directory, reaches what the operator names, and
// nothing else. The control is the same program without a box.
func TestAProgramInTheBox(t *testing.T) {
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	model, engine := serve("model"), serve("engine")
	dir, home := t.TempDir(), t.TempDir()
	secret := filepath.Join(home, "secret")
	script := fmt.Sprintf(`#!/bin/sh
read request
case $request in *'"prompt"'*) echo request;; esac
cat notes
curl -sS -m 60 http://%s/; echo
curl -sS -m 60 http://%s/ 2>/dev/null && echo
cat %s 2>/dev/null
echo x > written 2>/dev/null
echo x > "${TMPDIR:-/tmp}/x" && echo temporary
`, model, engine, secret)
	for path, text := range map[string]string{filepath.Join(dir, "agent.sh"): script, filepath.Join(dir, "notes"): "notes\n", secret: "secret\n"} {
		if err := proctest.WriteProgram(path, text); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		sandbox child.Sandbox
		want    string
		written bool
	}{
		"boxed": {child.Sandbox{Box: b, Network: []string{model}}, "request\nnotes\nmodel\ntemporary\n", false},
		"plain": {child.Sandbox{Network: []string{model}}, "request\nnotes\nmodel\nengine\nsecret\ntemporary\n", true},
	} {
		for _, argv := range [][]string{{"./agent.sh"}, {"sh", "./agent.sh"}, {filepath.Join(dir, "agent.sh")}} {
			p := command.New(command.Config{Argv: argv, Dir: dir, Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + t.TempDir()}, Sandbox: tt.sandbox})
			resp, err := p.Generate(t.Context(), provider.Request{RunID: "r1", Phase: run.Execute, Role: run.Developer, Iteration: 1, Prompt: provider.Prompt{User: "x"}, Constraints: provider.Constraints{TimeoutMs: 60_000, PatchFirst: true}}, func(provider.Progress) {})
			if err != nil || resp.RawText != tt.want {
				t.Errorf("%s, %q: %q, %v, want %q", name, argv, resp.RawText, err, tt.want)
			}
			_, err = os.Stat(filepath.Join(dir, "written"))
			if (err == nil) != tt.written {
				t.Errorf("%s: the directory was written: %v", name, err == nil)
			}
			os.Remove(filepath.Join(dir, "written"))
		}
	}
	p := command.New(command.Config{Argv: []string{"./agent.sh"}, Dir: "/", Environ: []string{"PATH=/usr/bin:/bin"}, Sandbox: child.Sandbox{Box: b}})
	if _, err := p.Generate(t.Context(), provider.Request{RunID: "r1", Phase: run.Execute, Role: run.Developer, Iteration: 1, Prompt: provider.Prompt{User: "x"}, Constraints: provider.Constraints{TimeoutMs: 60_000, PatchFirst: true}}, func(provider.Progress) {}); err == nil || !strings.Contains(err.Error(), "/") {
		t.Errorf("a box that cannot be: %v", err)
	}
}
