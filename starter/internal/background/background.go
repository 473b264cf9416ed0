// Package background starts `starter up` in the background, and stops it.
package background

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
)

// upLogName is the name of the file in the runs directory that gets the output of an engine in the background.
const upLogName = "up.log"

const Flag = "background"

// Up starts `starter up` with the same flags as a process that outlives this one, and waits until it serves.
func Up(ctx context.Context, c *factory.Factory) error {
	f, err := servingFile(c)
	if err != nil {
		f, err = startBackground(ctx, c, argsWithout(c, Flag))
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(f)
	}
	c.Printf("ready: engine %s, runs in %s\n", f.Address, f.RunsDir)
	c.Printf("it runs in the background (process %d, log %s): `%s` ends it\n", f.UpPID, filepath.Join(f.RunsDir, upLogName), c.Hint("stop"))
	return nil
}

// argsWithout returns the arguments of this command without a flag that has no value.
func argsWithout(c *factory.Factory, flag string) []string {
	return slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool { return arg == "--"+flag || arg == "--"+flag+"=true" })
}

// startBackground starts this program with the arguments of `up`, in a session of its own, so that no terminal ends it.
// It returns when engine and worker serve. What the start writes is shown meanwhile.
func startBackground(ctx context.Context, c *factory.Factory, args []string) (f engine.File, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	store, err := rundir.Open(ctx, c.RunsDir)
	if err != nil {
		return f, err
	}
	log, err := os.OpenFile(filepath.Join(store.Dir(), upLogName), os.O_WRONLY|os.O_CREATE|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return f, err
	}
	defer log.Close()
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Environ, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return f, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	shown := &logReader{path: log.Name()}
	tick := time.NewTicker(follow.PollFrame)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return f, ctx.Err() // it continues to start
		case <-ended:
			if f, err := servingFile(c); err == nil { // another one was faster
				return f, nil
			}
			shown.copyTo(c.Err)
			return f, errors.New("the engine did not start")
		case <-tick.C:
			if f, err := servingFile(c); err == nil && f.UpPID == cmd.Process.Pid {
				return f, nil
			}
			shown.copyTo(c.Err)
		}
	}
}

// logReader shows the lines of a log as they are written.
type logReader struct {
	path string
	at   int64
}

// copyTo writes the whole lines that are new.
func (l *logReader) copyTo(w io.Writer) {
	f, err := os.Open(l.path)
	if err != nil {
		return
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, l.at, 1<<20))
	if err != nil {
		return
	}
	whole := b[:strings.LastIndex(string(b), "\n")+1]
	l.at += int64(len(whole))
	for line := range strings.Lines(string(whole)) {
		fmt.Fprintln(w, display.Line(strings.TrimRight(line, "\n")))
	}
}

// servingFile returns engine.json of a `starter up` that runs.
func servingFile(c *factory.Factory) (engine.File, error) {
	f, err := engine.ReadFile(c.RunsDir)
	if err == nil && !process.Runs(f.UpPID, f.UpKey) {
		err = fs.ErrNotExist
	}
	return f, err
}

// StartIfAway starts an engine in the background if err says that none runs and a person is at the terminal. It returns
// nil if one serves now, and err otherwise.
func StartIfAway(ctx context.Context, c *factory.Factory, err error, sandbox string) error {
	away, ok := errors.AsType[*temporalclient.Unreachable](err)
	if !ok || !c.Interactive || c.JSON || away.Source != temporalclient.Nowhere && away.Source != temporalclient.EngineFile {
		return err
	}
	if _, running := servingFile(c); running == nil { // it does not answer, and a second one would not be better
		return err
	}
	fmt.Fprintf(c.Err, "starter: starting the engine in the background; `%s` ends it\n", c.Hint("stop"))
	args := []string{"up", "--runs-dir", c.RunsDir, "--task-queue", c.Queue, "--no-color"}
	if sandbox != "" {
		args = append(args, "--sandbox", sandbox)
	}
	_, err = startBackground(ctx, c, args)
	return err
}

func Stop(ctx context.Context, c *factory.Factory) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	f, err := engine.ReadFile(c.RunsDir)
	running := err == nil && process.Runs(f.UpPID, f.UpKey)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if running {
		if err := syscall.Kill(f.UpPID, syscall.SIGTERM); err != nil {
			return fmt.Errorf("stop process %d: %w", f.UpPID, err)
		}
		tick := time.NewTicker(follow.PollFrame)
		defer tick.Stop()
		for process.Runs(f.UpPID, f.UpKey) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	}
	if c.JSON {
		return c.PrintJSON(struct {
			RunsDir string `json:"runsDir"`
			Stopped bool   `json:"stopped"`
		}{c.RunsDir, running})
	}
	if !running {
		c.Printf("nothing to stop: no `starter up` runs on %s\n", display.Line(c.RunsDir))
		return nil
	}
	c.Printf("stopped; runs continue at the next start\n")
	return nil
}

// Unit returns a unit of systemd for this user that keeps engine and worker running.
func Unit(c *factory.Factory) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(c.RunsDir)
	if err != nil {
		return "", err
	}
	quote := func(word string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(word) + `"`
	}
	command := quote(self)
	for _, arg := range argsWithout(c, "unit") {
		command += " " + quote(arg)
	}
	if !strings.Contains(command, "--runs-dir") {
		command += " --runs-dir " + quote(dir)
	}
	return "[Unit]\nDescription=Ratchet: engine and worker\n\n[Service]\nExecStart=" + command +
		"\nRestart=always\nRestartSec=2\nKillSignal=SIGTERM\nTimeoutStopSec=40\n\n[Install]\nWantedBy=default.target\n", nil
}
