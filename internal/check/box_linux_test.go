package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func openBox(t *testing.T) *box.Box {
	t.Helper()
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func boxedSpec(t *testing.T, commands ...string) check.Spec {
	s := spec(t, commands...)
	s.Box, s.Cache = openBox(t), filepath.Join(t.TempDir(), "cache")
	return s
}

func TestStatusOfACommandInABox(t *testing.T) { statusesOfCommands(t, openBox(t)) }

func TestCommandInABoxHasItsDirectories(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(secret), "secret", "canary", 0o600)
	s := boxedSpec(t, `echo 1 > made && touch "$HOME/y" "$TMPDIR/x" "$XDG_CACHE_HOME/z" && ! cat `+secret+` 2>&1 && echo "$TMPDIR"`, "cat made && ! ls $TMPDIR/x")
	report := run(t, s)
	for i, head := range []string{"/tmp\n", "1\n"} {
		if got := report.Checks[i]; got.Status != check.Pass || !strings.Contains(got.Head, head) || got.Sandbox == "" {
			t.Errorf("got %+v", got)
		}
	}
	for _, path := range []string{filepath.Join(s.Dir, "made"), filepath.Join(s.Home, "y"), filepath.Join(s.Cache, "z")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// What every machine has: a host name that resolves, and a list of interfaces.
func TestABoxIsLikeAMachine(t *testing.T) {
	need.Program(t, "python3")
	s := boxedSpec(t, `python3 -c 'import socket; print(socket.gethostbyname(socket.gethostname()), [name for _, name in socket.if_nameindex()])'`)
	if got := run(t, s).Checks[0]; got.Head != "127.0.0.1 ['lo']\n" {
		t.Errorf("got %+v, want the address and the interface of the box", got)
	}
}

// The leak sanitizer cannot work in a box, which is no fault of the program.
func TestASanitizerThatCannotWorkIsNoFailure(t *testing.T) {
	cc := need.Program(t, "gcc")
	const build = `printf '#include <stdlib.h>\nint main(void) { void *p = malloc(1); free(p); return 0; }\n' > a.c && `
	s := boxedSpec(t, build+cc+` -fsanitize=address a.c -o a && ./a`, `ASAN_OPTIONS=detect_leaks=0 ./a`)
	report := run(t, s)
	if got := report.Checks[0]; got.Status != check.Error || !strings.Contains(got.Reason, "ASAN_OPTIONS=detect_leaks=0") {
		t.Errorf("got %+v, want a check that cannot run and its remedy", got)
	}
	if got := report.Checks[1]; got.Status != check.Pass {
		t.Errorf("with the remedy: got %+v, want a pass", got)
	}
}

// The control is a spec that can be had: the same command passes there.
func TestCommandWhoseBoxCannotBeSetUp(t *testing.T) {
	s := boxedSpec(t, "touch ran")
	s.Inside.Read = []string{"/no/such/toolchain"}
	report := run(t, s)
	got := report.Checks[0]
	if got.Status != check.Error || got.ExitCode != -1 || got.Sandbox != "" || !strings.Contains(got.Reason, "/no/such/toolchain") {
		t.Errorf("got %+v", got)
	}
	if v := report.Verdict(); v.Outcome != check.Blocked {
		t.Errorf("the outcome is %s", v.Outcome)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
		t.Error("it ran without its box")
	}
	s.Inside.Read = nil
	if got := run(t, s).Checks[0]; got.Status != check.Pass {
		t.Errorf("the control: %+v", got)
	}
}

func TestCommandInABoxRunsOutOfTime(t *testing.T) {
	t.Parallel()
	s := boxedSpec(t, "setsid sleep 300 & echo begun; sleep 300")
	s.Timeout = 5 * time.Second // a busy machine takes a while to begin a command
	if got := run(t, s).Checks[0]; got.Status != check.Timeout || got.Head != "begun\n" {
		t.Errorf("got %+v", got)
	}
}

// What a check does to its supervisor outside of a box, it cannot do inside.
func TestCommandInABoxReachesNoSupervisor(t *testing.T) {
	for _, signal := range []string{"KILL", "STOP", "TERM"} {
		if got := run(t, boxedSpec(t, "kill -"+signal+" $PPID; kill -"+signal+" 1; exit 3")).Checks[0]; got.Status != check.Fail || got.ExitCode != 3 {
			t.Errorf("SIG%s: %+v", signal, got)
		}
	}
}
