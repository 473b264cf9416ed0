package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// asProcess runs this program as a process of its own, and returns its exit code and what it wrote to both outputs.
func asProcess(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "TEMPORAL_ADDRESS=")
	b, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(b)
}

// An engine in the background serves after its command has ended, a second start finds it, and stop ends both of its
// processes. The command is this test binary.
func TestUpInTheBackground(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	dir := t.TempDir()
	up := func(args ...string) string {
		t.Helper()
		code, out := asProcess(t, append(args, "--runs-dir", dir)...)
		if code != 0 {
			t.Fatalf("%v: got exit code %d, want 0: %s", args, code, out)
		}
		return out
	}
	if out := up("up", "--background", "--port", "0", "--ui-port", "0", "--sandbox", "off", "--review", "off"); !strings.Contains(out, "starter stop") {
		t.Errorf("got %q, want how to stop it", out)
	}
	f, err := engine.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if process.Runs(f.UpPID, f.UpKey) {
			_ = syscall.Kill(f.UpPID, syscall.SIGKILL)
		}
	})
	key := process.StartKey(f.PID)
	up("list")
	up("up", "--background")
	if again, err := engine.ReadFile(dir); err != nil || again.UpPID != f.UpPID {
		t.Errorf("a second start: got process %d (%v), want %d", again.UpPID, err, f.UpPID)
	}
	if out := up("stop"); !strings.Contains(out, "stopped") {
		t.Errorf("got %q, want that it has stopped", out)
	}
	if process.Runs(f.UpPID, f.UpKey) || process.Runs(f.PID, key) {
		t.Error("a process runs after stop")
	}
	if out := up("stop"); !strings.Contains(out, "nothing to stop") {
		t.Errorf("again: got %q, want that there is nothing to stop", out)
	}
}

// stop ends no process that has only the number of the one in engine.json.
func TestStopSparesAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	mine := syscall.Getpid()
	if err := engine.WriteFile(dir, engine.File{Address: "127.0.0.1:1", RunsDir: dir, UpPID: mine, UpKey: "of another start"}); err != nil {
		t.Fatal(err)
	}
	if code, out := asProcess(t, "stop", "--runs-dir", dir); code != 0 || !strings.Contains(out, "nothing to stop") {
		t.Errorf("got exit code %d and %q, want nothing to stop", code, out)
	}
}
