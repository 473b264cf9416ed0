package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/file"
)

// builder makes the program in dir, once for all processes.
type builder struct {
	sources  string
	dir      string
	progress func(line string)
	live     func(line string) // see Options.Live
}

func (b builder) program(ctx context.Context) (string, error) {
	path := filepath.Join(b.dir, programName)
	if executable(path) == nil {
		return path, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("the engine must be built once, but the go command is not on PATH: install Go, "+
			"set %s to the path of a built %s, or set TEMPORAL_ADDRESS to use a running server", ProgramVariable, programName)
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return "", fmt.Errorf("the engine is built once into your cache directory, which is not writable: %w; fix: set XDG_CACHE_HOME to a writable directory", err)
	}
	lock, err := b.lock(ctx)
	if err != nil {
		return "", fmt.Errorf("wait for another build of the engine: %w", err)
	}
	defer lock.Close()
	if executable(path) == nil {
		return path, nil
	}
	if err := b.build(ctx, path, lock); err != nil {
		return "", fmt.Errorf("build the engine: %w", err)
	}
	return path, nil
}

// waitNotice is how long a build waits for another one before it says so.
const waitNotice = 50 * time.Millisecond

// lock takes the lock of the directory, and waits for another process that builds.
func (b builder) lock(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(b.dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	soon, cancel := context.WithTimeout(ctx, waitNotice)
	defer cancel()
	if err = file.WaitLock(soon, f, syscall.LOCK_EX); err != nil && soon.Err() != nil && ctx.Err() == nil {
		b.say("waiting for another process to build the engine")
		err = file.WaitLock(ctx, f, syscall.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (b builder) say(format string, args ...any) {
	if b.progress != nil {
		b.progress(fmt.Sprintf(format, args...))
	}
}

func (b builder) build(ctx context.Context, path string, lock *os.File) error {
	tmp := path + ".new"
	out := &buildOutput{}
	total := b.countStale(ctx)
	if err := b.checkRoom(ctx, total); err != nil {
		return err
	}
	b.say("building the engine (Temporal's server and Web UI): only once, takes some minutes")
	cmd := b.goCommand(ctx, "build", "-v", "-ldflags=-s -w", "-o", tmp)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = []*os.File{lock} // a build that outlives this process still holds the lock

	stop := b.trackProgress(out, total)
	err := cmd.Run()
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if full := b.checkRoom(ctx, b.countStale(ctx)); full != nil {
			return full
		}
		return fmt.Errorf("go build in %s: %w: %s", b.sources, err, out.last())
	}
	return os.Rename(tmp, path)
}

// goCommand returns a go command for the program. The end of ctx ends all that it started.
func (b builder) goCommand(ctx context.Context, verb string, args ...string) *exec.Cmd {
	args = append([]string{verb, "-mod=readonly", "-buildvcs=false"}, append(args, ".")...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.sources
	// Without cgo the program reads the user from its environment when the password file does not
	// know the user.
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// buildOutput counts the lines of go build -v that report a download or a compiled package. It
// keeps the last other line.
type buildOutput struct {
	mu       sync.Mutex
	partial  []byte
	fetched  int
	compiled int
	other    string
}

const maxBuildLine = 4 << 10

func (o *buildOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		if len(o.partial)+len(line) <= maxBuildLine {
			o.partial = append(o.partial, line...)
		}
		if !found {
			return n, nil
		}
		o.count(string(o.partial))
		o.partial, p = o.partial[:0], rest
	}
}

func (o *buildOutput) count(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		o.fetched++
	case fs.ValidPath(line) && !strings.Contains(line, " "):
		o.compiled++
	case strings.TrimSpace(line) != "":
		o.other = strings.TrimSpace(line)
	}
}

func (o *buildOutput) counts() (fetched, compiled int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fetched, o.compiled
}

func (o *buildOutput) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.other
}
