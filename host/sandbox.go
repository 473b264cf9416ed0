package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// NoBox is the error of a machine without a box that holds.
type NoBox struct {
	Cause  error
	Remedy string // in one line; empty if none is known
}

// Error returns the cause and the remedy in one line.
func (e *NoBox) Error() string {
	if e.Remedy == "" {
		return e.Cause.Error()
	}
	return fmt.Sprintf("%v; fix: %s", e.Cause, e.Remedy)
}

// Unwrap returns the cause.
func (e *NoBox) Unwrap() error { return e.Cause }

// OpenBox tests the box of this machine, as a worker with this configuration does. The error is a
// *NoBox.
func (c Config) OpenBox(ctx context.Context) (*box.Box, error) {
	path, _ := c.lookup("PATH")
	home, _ := c.lookup("HOME")
	b, err := box.Open(ctx, box.Config{Home: home, Path: path, Dir: c.RunsDir})
	if err == nil {
		return b, nil
	}
	none := &NoBox{Cause: err}
	if u, ok := errors.AsType[*box.Unavailable](err); ok {
		none.Remedy = u.Remedy()
		if u.Cause == box.NoProgram {
			none.Remedy = installRemedy(os.ReadFile("/etc/os-release"))
		}
	}
	return nil, none
}

// installers are the commands that install bubblewrap, by the names of systems in os-release.
var installers = []struct{ systems, command string }{
	{"debian ubuntu", "apt install bubblewrap"},
	{"fedora rhel centos", "dnf install bubblewrap"},
	{"arch", "pacman -S bubblewrap"},
	{"suse opensuse", "zypper install bubblewrap"},
	{"alpine", "apk add bubblewrap"},
}

// installRemedy returns how bubblewrap is installed on the system that os-release describes.
func installRemedy(osRelease []byte, err error) string {
	var names []string
	for line := range strings.Lines(string(osRelease)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "ID" || key == "ID_LIKE" {
			names = append(names, strings.Fields(strings.Trim(value, `"'`))...)
		}
	}
	for _, i := range installers {
		if err == nil && slices.ContainsFunc(strings.Fields(i.systems), func(s string) bool { return slices.Contains(names, s) }) {
			return i.command
		}
	}
	return "install bubblewrap"
}

// openSandbox tests the box unless the worker goes without it. A worker whose box does not hold
// serves all the same, starts no program of a run, and warns of it.
func (c Config) openSandbox(ctx context.Context) activities.Sandbox {
	s := activities.Sandbox{Policy: c.Sandbox.WithDefault()}
	if s.Policy.Off() {
		c.warn(errors.New("sandbox off: checks, command providers and agents of runs with --sandbox off can do everything that this user can; other runs execute nothing"))
		return s
	}
	if s.Box, s.Missing = c.OpenBox(ctx); s.Missing != nil {
		c.warn(fmt.Errorf("this worker executes no checks, command providers or agents: %w", s.Missing))
	}
	return s
}

// greetingUnder returns how programs are asked what they are, for a run with the policy.
func greetingUnder(sandbox activities.Sandbox, want run.Sandbox) acp.Greeting {
	held, err := sandbox.Admit(want)
	return acp.Greeting{Box: held, Unboxed: held == nil && err == nil}
}

func (c Config) warn(err error) {
	if c.Warn != nil {
		c.Warn(err)
	}
}
