package keeper

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// locked is a file with a lock of ours, which keepers hold.
func locked(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// isFree reports whether another could take the lock of the file.
func isFree(t *testing.T, f *os.File) bool {
	t.Helper()
	other, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	err = unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		t.Fatal(err)
	}
	return err == nil
}

// program starts a script in a group of its own. It returns when the script has said a line.
func program(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Kill(-cmd.Process.Pid, unix.SIGKILL); cmd.Wait() })
	return cmd
}

// The end of the pipe is what a keeper sees of the death of its starter.
func TestTheGroupEndsWithItsStarter(t *testing.T) {
	for name, script := range map[string]string{
		"it ends when it is asked to":    "sleep 600 & echo on; wait",
		"it ignores that it is asked to": "trap '' TERM; sleep 600 & echo on; wait; wait",
		"its leader has ended before it": "sleep 600 & echo on",
	} {
		t.Run(name, func(t *testing.T) {
			f := locked(t)
			k, err := Start([]*os.File{f}, 3*tick)
			if err != nil {
				t.Fatal(err)
			}
			cmd := program(t, script)
			if err := k.Watch(cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
			f.Close()
			if isFree(t, f) {
				t.Fatal("the lock is free while the group runs")
			}
			k.told.Close()
			cmd.Wait() // the group is gone for a keeper once its parents know
			k.cmd.Wait()
			eventually.Holds(t, "the group is gone", func() bool { return errors.Is(unix.Kill(-cmd.Process.Pid, 0), unix.ESRCH) })
			eventually.Holds(t, "the lock is free", func() bool { return isFree(t, f) })
		})
	}
}

func TestAReleasedKeeperEndsNothing(t *testing.T) {
	f := locked(t)
	k, err := Start([]*os.File{f}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "sleep 600 & echo on; wait")
	if err := k.Watch(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	k.Release()
	if err := unix.Kill(-cmd.Process.Pid, 0); err != nil {
		t.Errorf("got %v, want that the group runs", err)
	}
	f.Close()
	if !isFree(t, f) {
		t.Error("the lock is held")
	}
}
