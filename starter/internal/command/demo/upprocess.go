package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/localhost"
)

// upProcess is `starter up` as a child of this process: an engine, and a process that carries the worker.
// It ends when this process does, in any way, because it reads a pipe whose other end is here.
type upProcess struct {
	Client *runs.Client
	Engine engine.File

	cmd    *exec.Cmd
	input  io.Closer
	done   chan struct{} // closed when the process has ended and was waited for
	hangUp func()        // closes the client
}

// startUp starts `starter up` on this runs directory and free ports, and returns when engine and worker
// are ready. The child reports on the standard error what its start does. The error is a *exit.ChildError for a
// child that gave up, and the error of ctx when ctx ended first.
func startUp(ctx context.Context, c *factory.Factory, sandbox run.Sandbox, environ []string) (_ *upProcess, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"up", "--" + localhost.ForDemoFlag, "--json", "--port", "0", "--ui-port", "0", "--sandbox", string(sandbox), "--runs-dir", c.RunsDir, "--task-queue", c.Queue}
	if c.Plain {
		args = append(args, "--no-color")
	}
	u := &upProcess{cmd: exec.Command(self, args...), done: make(chan struct{}), hangUp: func() {}}
	u.cmd.Env, u.cmd.Stderr = environ, c.Err
	ready, err := u.startChild()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", self, err)
	}
	defer func() {
		if err != nil {
			u.stop()
		}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case line := <-ready:
		return u, u.connect(ctx, c, line)
	}
}

// startChild starts the child. The channel gets the first line that the child writes, which is empty if it ends
// without one.
func (u *upProcess) startChild() (ready <-chan []byte, err error) {
	if u.input, err = u.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := u.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	first := make(chan []byte, 1)
	go func() {
		defer close(u.done)
		r := bufio.NewReader(out)
		line, _ := r.ReadBytes('\n')
		first <- line
		_, _ = io.Copy(io.Discard, r)
		_ = u.cmd.Wait()
	}()
	return first, nil
}

// connect reads engine.json, which the child has written before its first line, and reaches the engine.
func (u *upProcess) connect(ctx context.Context, c *factory.Factory, line []byte) error {
	var ready engine.File
	if len(line) == 0 {
		<-u.done
		return &exit.ChildError{Code: max(u.cmd.ProcessState.ExitCode(), exit.Failed)}
	}
	err := json.Unmarshal(line, &ready)
	if err == nil {
		u.Engine, err = engine.ReadFile(c.RunsDir)
	}
	if err == nil && u.Engine.PID != ready.PID {
		err = fmt.Errorf("%s is of another engine, process %d: two were started in %s at once", engine.FileName, u.Engine.PID, c.RunsDir)
	}
	if err != nil {
		return err
	}
	key, err := engine.ReadKey(c.RunsDir)
	if err != nil {
		return err
	}
	t, err := temporalclient.Dial(ctx, temporalclient.Options{Engine: u.Engine.Address, Key: key, Open: u.Engine.Open})
	if err != nil {
		return err
	}
	u.Client, u.hangUp = c.ClientOf(t), sync.OnceFunc(t.Close)
	return nil
}

// worker returns the process that carries the worker.
func (u *upProcess) worker() int { return u.cmd.Process.Pid }

func (u *upProcess) processes() processes { return processes{Engine: u.Engine.PID, Worker: u.worker()} }

// stop ends the worker and the engine and returns when both have ended. A second call does nothing.
func (u *upProcess) stop() {
	u.hangUp()
	_ = u.input.Close()
	late := time.NewTimer(2 * localhost.StopTimeout)
	defer late.Stop()
	select {
	case <-u.done:
	case <-late.C:
		_ = u.cmd.Process.Kill()
		<-u.done
	}
}

// kill sends SIGKILL to the engine and to the process of the worker, and returns when both have died of
// it.
func (u *upProcess) kill(ctx context.Context) error {
	u.hangUp()
	if process.Parent(u.Engine.PID) != u.worker() {
		return fmt.Errorf("process %d is not the engine that process %d started: it is not killed", u.Engine.PID, u.worker())
	}
	key := process.StartKey(u.Engine.PID)
	for _, pid := range []int{u.Engine.PID, u.worker()} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill -9 %d: %w", pid, err)
		}
	}
	tick := time.NewTicker(follow.PollFrame)
	defer tick.Stop()
	for process.Runs(u.Engine.PID, key) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	<-u.done
	if s, ok := u.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
		return fmt.Errorf("process %d did not die of kill -9: %s", u.worker(), u.cmd.ProcessState)
	}
	return nil
}
