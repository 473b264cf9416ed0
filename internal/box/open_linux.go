package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// openLimit is the time that Open has for its self-test, also on a busy machine.
const openLimit = 30 * time.Second

// Open makes the box of this machine and tests it: a program in it tries the attacks of package
// inner, and what they do is judged outside too. The error is an [*Unavailable] when there is no box,
// or when an attack succeeded. A second call tests again.
func Open(ctx context.Context, c Config) (*Box, error) {
	b := &Box{filter: systemCallFilter(), limits: standardLimits}
	if nativeArch == 0 {
		return nil, &Unavailable{Cause: NoSystem, Err: errors.New("this architecture has no system call filter")}
	}
	for _, step := range []func() error{
		func() error { return b.find(c) },
		func() error { return b.checkShown(c.Dir) },
		func() error { return b.readVersion(ctx) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.host = readHost()
	b.findLimits()
	err := b.selfTest(ctx)
	if boxErr, ok := errors.AsType[*proc.BoxError](err); ok && b.groups != nil && !errors.Is(err, ErrNotBegun) {
		b.groups, b.unbound = nil, "cannot enter the control group: "+boxErr.Err.Error()
		err = b.selfTest(ctx)
	}
	if err != nil {
		return nil, explainFailure(err)
	}
	b.overlay = b.tryOverlay(ctx, c.Dir)
	return b, nil
}

// find finds bwrap, our executable and the home directory.
func (b *Box) find(c Config) (err error) {
	if b.home = c.Home; b.home == "" {
		if b.home, err = homeDir(); err != nil {
			return err
		}
	}
	if b.home, err = filepath.EvalSymlinks(b.home); errors.Is(err, os.ErrNotExist) {
		b.home = "" // nothing to keep
	} else if err != nil {
		return err
	}
	if b.runs, err = resolveDir(c.Dir); err != nil {
		return err
	}
	if b.own, err = os.Executable(); err != nil {
		return err
	}
	b.program, _ = proc.LookPath("bwrap", "", []string{"PATH=" + cmp.Or(c.Path, os.Getenv("PATH"))})
	if b.program == "" {
		return &Unavailable{Cause: NoProgram}
	}
	return nil
}

// resolveDir returns the absolute path of a directory without links. One that does not exist keeps its links.
func resolveDir(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return at, nil
	}
	return real, nil
}

// checkShown refuses a home directory of ours, or a directory of runs, below a directory that every box shows.
func (b *Box) checkShown(dir string) error {
	for what, path := range map[string]string{"the home directory": b.home, "the runs directory": dir} {
		if path == "" {
			continue
		}
		at, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		real, err := filepath.EvalSymlinks(at)
		if err == nil && InSystem(real) && holdsOurs(real) { // else it is a home of the system's
			return &Unavailable{Cause: Shown, Err: fmt.Errorf("%s %s", what, path)}
		}
	}
	return nil
}

// holdsOurs reports whether a directory or one of its entries belongs to our user. One that cannot be read may hold
// some that does.
func holdsOurs(dir string) bool {
	ours := func(path string) bool {
		info, err := os.Lstat(path)
		if err != nil {
			return false
		}
		of, ok := info.Sys().(*syscall.Stat_t)
		return ok && int(of.Uid) == os.Geteuid()
	}
	entries, err := os.ReadDir(dir)
	return err != nil || ours(dir) || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return ours(filepath.Join(dir, e.Name())) })
}

// homeDir returns the home directory by HOME, else by the list of users.
func homeDir() (string, error) {
	if home, err := os.UserHomeDir(); err == nil {
		return home, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("home directory: %w", err)
	}
	return u.HomeDir, nil
}

var versionForm = regexp.MustCompile(`^bubblewrap ((\d+)\.(\d+)\S*)`)

// readVersion asks bwrap for its version. The first one that can disable user namespaces is 0.8.
func (b *Box) readVersion(ctx context.Context) error {
	out := proc.NewHeadTail(256, 0)
	_, err := proc.Run(ctx, proc.Command{Argv: []string{b.program, "--version"}, Stdout: out, Stderr: out})
	if err != nil {
		return &Unavailable{Cause: NotStarting, Err: err}
	}
	of := versionForm.FindStringSubmatch(out.String())
	if of == nil {
		return &Unavailable{Cause: NotStarting, Err: fmt.Errorf("%s --version says %.80q", b.program, out.String())}
	}
	major, _ := strconv.Atoi(of[2])
	minor, _ := strconv.Atoi(of[3])
	if b.version = of[1]; major == 0 && minor < 8 {
		return &Unavailable{Cause: OldProgram, Err: fmt.Errorf("version %s", b.version)}
	}
	return nil
}

func (b *Box) findLimits() {
	groups, err := findGroups()
	if err != nil {
		b.unbound = err.Error()
		return
	}
	b.groups = groups
}

// explainFailure finds the cause on this machine of a self-test that failed.
func explainFailure(err error) error {
	if known, ok := errors.AsType[*Unavailable](err); ok {
		return known
	}
	return &Unavailable{Cause: causeOf(err.Error(), readSetting), Err: err}
}

// readSetting returns a setting of the kernel without its line end, or "".
func readSetting(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

// causeOf returns why bwrap does not start, by what it says and by the settings of the kernel.
func causeOf(said string, setting func(path string) string) Cause {
	says := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(said, part) })
	}
	refused := says("ermission denied", "not permitted", "user namespace")
	switch {
	case says("nesting depth", "No space left on device", "disable user namespaces"):
		return Nested
	case setting("/proc/sys/user/max_user_namespaces") == "0", setting("/proc/sys/kernel/unprivileged_userns_clone") == "0" && refused:
		return Sysctl
	case says("mount proc"):
		return MaskedProc
	case setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && refused:
		return AppArmor
	case strings.Contains(setting("/proc/self/status"), "Seccomp:\t2") && refused:
		return Seccomp
	}
	return NotStarting
}
