//go:build !linux

package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc/keeper"
)

// run works without a supervisor here: it ends the process group, and package keeper does so after our own death. Neither
// ends processes that left the group. The program has no terminal, and can put nothing into ours.
func run(ctx context.Context, c Command, path string, stdin *os.File, inside *Enclosure) (Result, error) {
	if inside != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: errors.New("this system has no sandbox")}
	}
	out, err := openOutput(c)
	if err != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	cmd := &exec.Cmd{
		Path:        path,
		Args:        c.Argv,
		Dir:         c.Dir,
		Env:         append([]string{}, c.Env...),
		Stdout:      out.stdout,
		Stderr:      out.stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	keep, err := keeper.Start(kept(ctx), c.Grace)
	if err != nil {
		out.close()
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	defer keep.Release() // after the group has ended
	if err := cmd.Start(); err != nil {
		out.close()
		return Result{}, &StartError{Program: c.Argv[0], Err: whyNot(err)}
	}
	if err := keep.Watch(cmd.Process.Pid); err != nil {
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		cmd.Wait()
		out.close()
		return Result{}, &StartError{Program: c.Argv[0], Err: fmt.Errorf("keeper: %w", err)}
	}
	out.begin()
	if c.Started != nil {
		c.Started(cmd.Process.Pid)
	}
	group := -cmd.Process.Pid
	exited := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		unix.Kill(group, unix.SIGTERM)
		select {
		case <-exited:
		case <-time.After(c.Grace):
			unix.Kill(group, unix.SIGKILL)
		}
	})
	err = cmd.Wait()
	told := !release()
	close(exited)
	unix.Kill(group, unix.SIGKILL)
	out.awaitWriters()
	if cmd.ProcessState == nil {
		return Result{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	return result(ctx, cmd.ProcessState, told), nil
}

func result(ctx context.Context, state *os.ProcessState, told bool) Result {
	r := Result{ExitCode: state.ExitCode(), End: Exited}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = unix.SignalName(status.Signal())
	}
	if told {
		r.End = endOf(ctx)
	}
	return r
}

func whyNot(err error) error {
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOEXEC) {
		return fmt.Errorf("%w: %w", ErrNotExecutable, err)
	}
	return err
}

// signalled returns r: only boxes report signals as exit codes.
func signalled(r Result) Result { return r }

// isSupervisor returns false: there are no supervisors here.
func isSupervisor(int) bool { return false }
