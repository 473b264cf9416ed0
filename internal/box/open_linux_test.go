package box_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// openBox returns the box of this machine.
func openBox(t testing.TB) *box.Box {
	t.Helper()
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	need.Sandbox(t)
	bwrap := need.Program(t, "bwrap")
	const versioned = "#!/bin/sh\n[ \"$1\" = --version ] && echo bubblewrap "
	for name, test := range map[string]struct {
		config box.Config
		script string
		want   box.Cause
		text   string
	}{
		"no bwrap":                   {config: box.Config{Path: dir}, want: box.NoProgram},
		"a relative PATH":            {config: box.Config{Path: "."}, want: box.NoProgram},
		"an old one":                 {script: versioned + "0.6.3 && exit\n", want: box.OldProgram},
		"something else":             {script: "#!/bin/sh\necho hello\n", want: box.NotStarting},
		"one that always fails":      {script: versioned + "0.8.0 && exit\necho no >&2; exit 1\n", want: box.NotStarting},
		"one that says it ran":       {script: versioned + `0.8.0 && exit; echo '{"exit-code": 0}' >&4` + "\n", want: box.NotStarting},
		"one that says another code": {script: versioned + `0.8.0 && exit; echo '{"exit-code": 0}' >&4; exit 3` + "\n", want: box.NotStarting, text: "ended with exit code 3, but reported 0"},
		"one whose box has no shell": {script: "#!/bin/bash\n[ \"$1\" = --version ] && exec " + bwrap + ` --version
kept=(); while IFS= read -r -d '' arg; do kept+=("$arg"); done <&3; kept+=(--tmpfs /usr/bin)
while [ "$1" != -- ]; do shift; done
exec ` + bwrap + ` --json-status-fd 4 --seccomp 5 "${kept[@]}" "$@"
`, want: box.NotStarting},
		"one that is in a box":        {script: versioned + "0.8.0 && exit\necho 'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)' >&2; exit 1\n", want: box.Nested},
		"one that has a masked /proc": {script: versioned + "0.8.0 && exit\necho \"bwrap: Can't mount proc on /newroot/proc: Operation not permitted\" >&2; exit 1\n", want: box.MaskedProc},
		// The stub drops all options and runs our executable under the name by which it attacks.
		"one that only executes its command": {
			script: versioned + `0.8.0 && exit
while [ "$1" != -- ]; do shift; done; shift; name=$1; shift
echo '{"exit-code": 0}' >&4
exec ` + bashExec(t) + ` -c 'exec -a "$0" ` + self(t) + ` "$@"' "$name" "$@"
`, want: box.Leaks,
		},
		// The stub drops one option alone.
		"one that forgets the network": {
			script: "#!/bin/bash\n[ \"$1\" = --version ] && exec " + bwrap + ` --version
kept=(); while IFS= read -r -d '' arg; do [ "$arg" = --unshare-net ] || kept+=("$arg"); done <&3
while [ "$1" != -- ]; do shift; done
exec ` + bwrap + ` --json-status-fd 4 --seccomp 5 "${kept[@]}" "$@"
`, want: box.Leaks,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.script != "" {
				test.config.Path = t.TempDir()
				write(t, filepath.Join(test.config.Path, "bwrap"), test.script, 0o755)
			}
			_, err := box.Open(t.Context(), test.config)
			u, ok := errors.AsType[*box.Unavailable](err)
			if !ok || u.Cause != test.want || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("got %v", err)
			}
			t.Log(err)
			if u.Cause == box.Leaks && !slices.Contains(u.Leaks, "connect to the host by TCP") {
				t.Errorf("leaks %q", u.Leaks)
			}
		})
	}
}

func bashExec(t *testing.T) string { return need.Program(t, "bash") }

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A bwrap that ends well without a status has run nothing.
func TestBoxThatStartsNothing(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "bwrap")
	write(t, nothing, "#!/bin/sh\nexit 0\n", 0o755)
	_, err := tryInBox(t, openBox(t).WithProgram(nothing), box.Spec{Tree: t.TempDir()}, "exit 1")
	if !errors.Is(err, box.ErrNotBegun) {
		t.Errorf("got %v", err)
	}
}

// Every box shows /usr and /opt. What no program may see is not below them.
func TestAHomeThatEveryBoxShows(t *testing.T) {
	need.Sandbox(t)
	shown, err := os.MkdirTemp("/opt", "ratchet-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(shown)
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(shown, linked); err != nil {
		t.Fatal(err)
	}
	for _, c := range []box.Config{{Home: shown}, {Home: linked}, {Home: t.TempDir(), Dir: shown}, {Home: "/opt"}, {Home: t.TempDir(), Dir: "/opt"}} {
		_, err := box.Open(t.Context(), c)
		if u, ok := errors.AsType[*box.Unavailable](err); !ok || u.Cause != box.Shown || u.Remedy() == "" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The home of a user of the system is below /usr, and nothing in it is that user's.
func TestAHomeThatBelongsToTheSystem(t *testing.T) {
	need.Sandbox(t)
	shown, err := os.MkdirTemp("/opt", "ratchet-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(shown)
	if err := os.Chown(shown, 1, -1); err != nil {
		t.Skip(err)
	}
	if _, err := box.Open(t.Context(), box.Config{Home: shown}); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(shown, "engine.json"), "{}", 0o600)
	_, err = box.Open(t.Context(), box.Config{Home: shown})
	if u, ok := errors.AsType[*box.Unavailable](err); !ok || u.Cause != box.Shown {
		t.Errorf("with a file of ours: %v", err)
	}
}

// A worker lives on while its program is replaced by another version.
func TestAWorkerWhoseProgramIsGone(t *testing.T) {
	b := openBox(t).WithOwn(filepath.Join(t.TempDir(), "gone"))
	if out, _ := inBox(t, b, box.Spec{Tree: t.TempDir()}, "echo runs"); out != "runs\n" {
		t.Errorf("a program that needs nothing of ours: %q", out)
	}
	socket := filepath.Join(t.TempDir(), "s")
	write(t, socket, "", 0o600)
	if _, err := tryInBox(t, b, box.Spec{Tree: t.TempDir(), Bridge: socket}, "true"); err == nil || !strings.Contains(err.Error(), "restart the worker") {
		t.Errorf("got %v", err)
	}
}
