package proc_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// keeper runs a family under proc, which keeps a locked file if args[2] says so, and is there to be killed.
func keeper(args []string) {
	f, err := locked(args[1])
	if err != nil {
		panic(err)
	}
	ctx, grace := context.Background(), time.Minute // the control must not see the end of the family
	if args[2] == "keeps" {
		ctx, grace = proc.Keep(ctx, f), 300*time.Millisecond
	}
	proc.Run(ctx, proc.Command{Argv: self("play-family", args[0], "stays"), Stdout: os.Stdout, Grace: grace})
}

func locked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
		}
	}
	return f, err
}

// The family does not hear SIGTERM, so that it outlives whoever started it by the grace.
func TestALockIsHeldUntilAllThatKeepItAreGone(t *testing.T) {
	for _, tc := range []struct {
		keeps string
		left  bool
	}{{"keeps", false}, {"does not", true}} { // the control is the second
		t.Run(tc.keeps, func(t *testing.T) {
			mark, path := newMark(t), filepath.Join(t.TempDir(), "lock")
			parent := startUntilReady(t, self("play-keeper", mark, path, tc.keeps))
			parent.Process.Kill()
			parent.Wait()
			eventually(t, "the lock is free", func() bool {
				f, err := locked(path)
				f.Close()
				return err == nil
			})
			if left := marked(mark); len(left) > 0 != tc.left {
				t.Errorf("left when the lock was free: %v", left)
			}
		})
	}
}

func TestTheProgramItselfDoesNotSeeWhatIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := locked(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	_, err = proc.Run(proc.Keep(t.Context(), f), proc.Command{Argv: []string{"/bin/sh", "-c", "ls -l /proc/$$/fd"}, Stdout: &out})
	if text := out.String(); err != nil || text == "" || strings.Contains(text, path) {
		t.Errorf("%v:\n%s", err, text)
	}
}

func init() { plays["play-keeper"] = keeper }
