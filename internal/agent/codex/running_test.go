package codex_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
)

const aThread = "01a1ff68-7d39-77c1-a399-9ece65cbfca3"

func TestRunning(t *testing.T) {
	home := t.TempDir()
	locks := filepath.Join(home, ".codex", "thread-writer-locks")
	a := codex.New(codex.Config{Environ: []string{"HOME=" + home}}).(agent.Prober)
	if got, err := a.Running(aThread); got || err == nil {
		t.Errorf("a client that keeps no locks: %v, %v", got, err)
	}
	if err := os.MkdirAll(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	says := func(what string, want bool) {
		t.Helper()
		if got, err := a.Running(aThread); got != want || err != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	says("a thread that nobody opened", false)
	path := filepath.Join(locks, aThread+".lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	says("a lock that was left", false)
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	says("a lock that is held", true)
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	says("a lock that was released", false)
	says("asked again", false)
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("who asked still has it: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Symlink(aThread+".lock", path)); err != nil { // to itself
		t.Fatal(err)
	}
	if got, err := a.Running(aThread); got || err == nil {
		t.Errorf("a lock that cannot be opened: %v, %v", got, err)
	}
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Running(aThread); got || err == nil {
		t.Errorf("a pipe that nobody writes: %v, %v", got, err)
	}
	if err := errors.Join(os.RemoveAll(locks), os.Symlink(t.TempDir(), locks)); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Running(aThread); got || err == nil {
		t.Errorf("locks elsewhere: %v, %v", got, err)
	}
	for _, id := range []string{"", "x", "../" + aThread} {
		if got, err := a.Running(id); got || !errors.Is(err, agent.ErrNoSession) {
			t.Errorf("%q: %v, %v", id, got, err)
		}
	}
}

func TestRunningElsewhere(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "thread-writer-locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := codex.New(codex.Config{Environ: []string{"HOME=/nowhere", "CODEX_HOME=" + home}}).(agent.Prober)
	if got, err := a.Running(aThread); got || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// The real client holds its thread as long as it runs.
func TestTheRealClientRuns(t *testing.T) {
	realClient(t)
	_, c, s, _ := live(t)
	a := codex.New(c).(agent.Prober)
	if got, err := a.Running(s.ID()); !got || err != nil {
		t.Errorf("while it runs: %v, %v", got, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Running(s.ID()); got || err != nil {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}
