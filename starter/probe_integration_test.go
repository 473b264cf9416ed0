package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// The worker's environment decides whether a provider can work, not that of the command: what is missing
// there is one line and no run, what is there is enough.
func TestProvidersAreLookedForOnTheWorker(t *testing.T) {
	b := bench{t, filepath.Join(t.TempDir(), ".runs"), clitest.Repository(t), answers(t)}
	client := filepath.Join(t.TempDir(), "claude")
	clitest.Write(t, client, "#!/bin/sh\ntouch \"$0.asked\"\ntest \"$1\" = --version && echo 2.1.0 && exit\nexit 9\n")
	broken := filepath.Join(t.TempDir(), "codex")
	clitest.Write(t, broken, "#!/bin/sh\nprintf '\\033[2Jno libc\\n'; exit 127\n")
	for _, file := range []string{client, broken} {
		if err := os.Chmod(file, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "")
	t.Setenv("OPENAI_API_KEY", "of-the-worker")
	t.Setenv("CLAUDE_BIN", client)
	t.Setenv("CODEX_BIN", broken)
	stop := bringUp(t, b.runsDir)
	t.Setenv("ANTHROPIC_API_KEY", "of-the-command")
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("CLAUDE_BIN", "/nowhere/claude")
	t.Setenv("CODEX_BIN", "")
	run := func(code int, spec string) result {
		t.Helper()
		return b.expect(code, "run", "--sandbox", "off", "--repo", b.repo, "--goal", "x", "--provider", "replay:"+b.answers, "--evaluator", spec, "--check", passes, "--detach")
	}
	for spec, want := range map[string]string{
		"anthropic:claude-x":                    "provider anthropic:claude-x: ANTHROPIC_API_KEY is not set: give the worker a key",
		"codex":                                 "on the worker: provider codex: " + broken + " --version ended with exit code 127",
		"command:no-such-program-here":          "on the worker: provider command:no-such-program-here: no program no-such-program-here on PATH: install it, or name its path",
		"command:" + b.repo + "/none.py --fast": "no program at " + b.repo + "/none.py",
	} {
		got := run(exit.Failed, spec)
		if !strings.Contains(got.err, want) || strings.HasPrefix(want, "no program") == strings.Contains(got.err, "on the worker: ") || strings.ContainsRune(got.err, 0x1b) {
			t.Errorf("%s: %q, want %q", spec, got.err, want)
		}
	}
	if left := b.expect(0, "list", "--json").out; strings.TrimSpace(left) != "[]" {
		t.Errorf("runs are left behind: %s", left)
	}
	for _, spec := range []string{"openai:gpt-x", "claude", "command:sh -c true"} {
		id := strings.TrimSpace(run(0, spec).out)
		b.expect(0, "cancel", id)
	}
	if _, err := os.Stat(client + ".asked"); err != nil {
		t.Errorf("the client was not asked for its version: %v", err)
	}
	stop()
}
