package main

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

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// upLogName is the name of the file in the runs directory that gets the output of an engine in the background.
const upLogName = "up.log"

const backgroundFlag = "background"

// upInBackground starts `starter up` with the same flags as a process that outlives this one, and waits until it serves.
func (c *cli) upInBackground(ctx context.Context) error {
	f, err := c.servingFile()
	if err != nil {
		f, err = c.startBackground(ctx, c.argsWithout(backgroundFlag))
	}
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(f)
	}
	c.printf("ready: engine %s, runs in %s\n", f.Address, f.RunsDir)
	c.printf("it runs in the background (process %d, log %s): `%s` ends it\n", f.UpPID, filepath.Join(f.RunsDir, upLogName), c.hintCommand("stop"))
	return nil
}

// argsWithout returns the arguments of this command without a flag that has no value.
func (c *cli) argsWithout(flag string) []string {
	return slices.DeleteFunc(slices.Clone(c.args), func(arg string) bool { return arg == "--"+flag || arg == "--"+flag+"=true" })
}

// startBackground starts this program with the arguments of `up`, in a session of its own, so that no terminal ends it.
// It returns when engine and worker serve. What the start writes is shown meanwhile.
func (c *cli) startBackground(ctx context.Context, args []string) (f engine.File, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	store, err := rundir.Open(ctx, c.runsDir)
	if err != nil {
		return f, err
	}
	log, err := os.OpenFile(filepath.Join(store.Dir(), upLogName), os.O_WRONLY|os.O_CREATE|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return f, err
	}
	defer log.Close()
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.environ, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return f, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	shown := &logReader{path: log.Name()}
	tick := time.NewTicker(pollFrame)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return f, ctx.Err() // it goes on starting
		case <-ended:
			if f, err := c.servingFile(); err == nil { // another one was faster
				return f, nil
			}
			shown.copyTo(c.err)
			return f, errors.New("the engine did not start")
		case <-tick.C:
			if f, err := c.servingFile(); err == nil && f.UpPID == cmd.Process.Pid {
				return f, nil
			}
			shown.copyTo(c.err)
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
func (c *cli) servingFile() (engine.File, error) {
	f, err := engine.ReadFile(c.runsDir)
	if err == nil && !process.Runs(f.UpPID, f.UpKey) {
		err = fs.ErrNotExist
	}
	return f, err
}

// startIfAway starts an engine in the background if err says that none runs and a person is at the terminal. It returns
// nil if one serves now, and err otherwise.
func (c *cli) startIfAway(ctx context.Context, err error, sandbox string) error {
	away, ok := errors.AsType[*temporalclient.Unreachable](err)
	if !ok || !c.interactive || c.json || away.Source != temporalclient.Nowhere && away.Source != temporalclient.EngineFile {
		return err
	}
	if _, running := c.servingFile(); running == nil { // it does not answer, and a second one would not be better
		return err
	}
	fmt.Fprintf(c.err, "starter: starting the engine in the background; `%s` ends it\n", c.hintCommand("stop"))
	args := []string{"up", "--runs-dir", c.runsDir, "--task-queue", c.queue, "--no-color"}
	if sandbox != "" {
		args = append(args, "--sandbox", sandbox)
	}
	_, err = c.startBackground(ctx, args)
	return err
}

func (c *cli) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the engine and the worker of the runs directory",
		Long: `Stops the ` + "`starter up`" + ` of the runs directory, in the background or in another
terminal, and waits until it has ended. Runs continue at the next start.`,
		Example: "  starter stop",
		Args:    exactArgs(0, "no arguments"),
		RunE:    c.handleWith(func(ctx context.Context, _ []string) error { return c.stopUp(ctx) }),
	}
}

func (c *cli) stopUp(ctx context.Context) error {
	if err := c.mayDecide(); err != nil {
		return err
	}
	f, err := engine.ReadFile(c.runsDir)
	running := err == nil && process.Runs(f.UpPID, f.UpKey)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, engine.ErrNotHere) {
		return err
	}
	if running {
		if err := syscall.Kill(f.UpPID, syscall.SIGTERM); err != nil {
			return fmt.Errorf("stop process %d: %w", f.UpPID, err)
		}
		tick := time.NewTicker(pollFrame)
		defer tick.Stop()
		for process.Runs(f.UpPID, f.UpKey) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	}
	if c.json {
		return c.printJSON(struct {
			RunsDir string `json:"runsDir"`
			Stopped bool   `json:"stopped"`
		}{c.runsDir, running})
	}
	if !running {
		c.printf("nothing to stop: no `starter up` runs on %s\n", display.Line(c.runsDir))
		return nil
	}
	c.printf("stopped; runs continue at the next start\n")
	return nil
}

// unitText returns a unit of systemd for this user that keeps engine and worker running.
func (c *cli) unitText() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(c.runsDir)
	if err != nil {
		return "", err
	}
	quote := func(word string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(word) + `"`
	}
	command := quote(self)
	for _, arg := range c.argsWithout("unit") {
		command += " " + quote(arg)
	}
	if !strings.Contains(command, "--runs-dir") {
		command += " --runs-dir " + quote(dir)
	}
	return "[Unit]\nDescription=Ratchet: engine and worker\n\n[Service]\nExecStart=" + command +
		"\nRestart=always\nRestartSec=2\nKillSignal=SIGTERM\nTimeoutStopSec=40\n\n[Install]\nWantedBy=default.target\n", nil
}
