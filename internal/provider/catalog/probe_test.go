package catalog_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	program := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := proctest.WriteProgram(path, "#!/bin/sh\n"+script+"\n"); err != nil {
			t.Fatal(err)
		}
		return path
	}
	works, broken := program("works", `test "$1" = --version && echo 1.2.3`), program("broken", "echo no libc; exit 1")
	slow := program("slow", "exec sleep 600")
	for _, tc := range []struct {
		name, spec string
		environ    []string
		want       string // of the error; empty: none
	}{
		{"a key that is missing", "anthropic:m", nil, "provider anthropic:m: ANTHROPIC_API_KEY is not set: give the worker a key"},
		{"a key that is there", "anthropic:m", []string{"ANTHROPIC_API_KEY=k"}, ""},
		{"another server needs no key", "openai:m", []string{"OPENAI_BASE_URL=http://127.0.0.1:1/v1"}, ""},
		{"an address that is none", "openai:m", []string{"OPENAI_BASE_URL=ftp://x"}, "OPENAI_BASE_URL"},
		{"a program that is missing", "claude", []string{"CLAUDE_BIN=" + dir + "/none"}, "no program at " + dir + "/none"},
		{"a program that says its version", "claude", []string{"CLAUDE_BIN=" + works}, ""},
		{"a program that does not", "codex", []string{"CODEX_BIN=" + broken}, "--version ended with exit code 1"},
		{"pi by its command line", "pi", []string{"RATCHET_PI=" + broken + " --offline"}, "printed \"no libc\\n\": reinstall it"},
		{"a slow program is no fault", "claude", []string{"CLAUDE_BIN=" + slow}, ""},
		{"a directory of answers that is missing", "replay:none", nil, "none"},
		{"a command that is there", "command:./works", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec, err := catalog.Parse(tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			limit := time.Minute
			if strings.Contains(tc.name, "slow") {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err = spec.Probe(ctx, catalog.Env{Dir: dir, Environ: append([]string{"PATH=/usr/bin:/bin"}, tc.environ...)})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	for text, want := range map[string]bool{
		"replay:answers": true, "command:./agent.py": true, "acp:/opt/agent acp": true,
		"command:agent": false, "acp:opencode acp": false, "claude": false, "anthropic:m": false, "pi": false,
	} {
		spec, err := catalog.Parse(text)
		if err != nil || spec.Named() != want {
			t.Errorf("%s: %v, %v", text, spec.Named(), err)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	home := t.TempDir()
	runs := filepath.Join(home, "runs")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	warm, hot := 0.7, 1.5
	servers := func(command string) setup.Options {
		return setup.Options{Servers: map[string]setup.Server{"docs": {Command: command}}}
	}
	for _, tc := range []struct {
		name, spec string
		x          setup.Options
		want       string // of the error; empty: none
	}{
		{"none", "replay:answers", setup.Options{}, ""},
		{"recorded answers take none", "replay:answers", setup.Options{Temperature: &warm}, "replay does not support a temperature"},
		{"the bounds of a model", "anthropic:m", setup.Options{Temperature: &warm, MaxOutputTokens: 100}, ""},
		{"too hot for one API", "anthropic:m", setup.Options{Temperature: &hot}, "takes 0 to 1"},
		{"not for the other", "openai:m", setup.Options{Temperature: &hot}, ""},
		{"a program gets them", "command:./agent", setup.Options{Temperature: &hot, MaxOutputTokens: 100}, ""},
		{"a mode of Claude Code", "claude", setup.Options{Mode: "acceptEdits"}, ""},
		{"a mode of another agent", "claude", setup.Options{Mode: "read-only"}, "unknown mode"},
		{"a mode that a run never has", "claude", setup.Options{Mode: "bypassPermissions"}, "needs the sandbox"},
		{"a mode of Codex", "codex", setup.Options{Mode: "read-only"}, ""},
		{"a mode that widens Codex", "codex", setup.Options{Mode: "full-access"}, "wider"},
		{"a mode of a gateway", "openclaw", setup.Options{Mode: "guarded"}, ""},
		{"a mode that the gateway lacks", "openclaw", setup.Options{Mode: "plan"}, "mode \"plan\""},
		{"a server", "codex", servers("sh"), ""},
		{"a server that is not there", "claude", servers("ratchet-no-such"), "MCP server docs: no program ratchet-no-such in /usr/bin, /bin"},
		{"a server of the repository's", "acp:opencode acp", servers("./server"), "relative path"},
		{"pi has no servers", "pi", servers("sh"), "pi does not support MCP servers"},
		{"the runs", "claude", setup.Options{ReadDirs: []string{runs}}, "runs directory"},
		{"the home directory", "pi", setup.Options{ReadDirs: []string{home}}, "home directory"},
		{"a directory", "pi", setup.Options{ReadDirs: []string{"/usr/share"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec, err := catalog.Parse(tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			err = spec.CheckOptions(t.Context(), catalog.Env{State: runs, Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + home}}, tc.x)
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
