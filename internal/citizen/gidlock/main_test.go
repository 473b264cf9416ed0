package gidlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen/gidlock"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

const gid dispatch.GardenID = "20260612T093000-0a1b2c"

// As a child the test binary takes the lock in the directory given for a claim,
// and releases it when it is told to, or ends with it.
const (
	asHolder   = "GIDLOCK_TEST_DIR"
	claimOf    = "GIDLOCK_TEST_CLAIM"
	andRelease = "GIDLOCK_TEST_RELEASE"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(asHolder)
	if dir == "" {
		os.Exit(m.Run())
	}
	locks := gidlock.Locks{Dir: dir}
	claim := os.Getenv(claimOf)
	_, err := locks.Acquire(context.Background(), gid, claim)
	if err == nil && os.Getenv(andRelease) != "" {
		_, err = locks.Release(context.Background(), gid, claim)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// holder runs the child to its end, which may be that of a failpoint, and
// returns what it was.
func holder(t *testing.T, dir, claim string, env ...string) *os.ProcessState {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asHolder+"="+dir, claimOf+"="+claim, "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState
}

// foreignProcess is the number of a process that we may not signal.
func foreignProcess(t *testing.T) int {
	t.Helper()
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid > 1 && errors.Is(unix.Kill(pid, 0), unix.EPERM) {
			return pid
		}
	}
	t.Skip("there is no process that we may not signal: root may signal all, and a container may show none")
	return 0
}

func lockFile(l gidlock.Locks) string { return filepath.Join(l.Dir, string(gid)+".lock") }

// onDisk is the holder as another program reads it.
func onDisk(t *testing.T, l gidlock.Locks) (h gidlock.Holder) {
	t.Helper()
	b, err := os.ReadFile(lockFile(l))
	must(t, err)
	must(t, json.Unmarshal(b, &h))
	return h
}

// foreign is a lock as another program writes it.
func foreign(t *testing.T, l gidlock.Locks, change func(*gidlock.Holder)) string {
	t.Helper()
	host, err := os.Hostname()
	must(t, err)
	h := gidlock.Holder{
		GardenID: gid, PID: proctest.Ended(t), Hostname: host, CreatedAt: "2026-06-12T00:30:00.000Z", Nonce: "0123456789abcdef",
		Owner: "entwurf_v2", LockPath: lockFile(l),
	}
	change(&h)
	b, err := json.Marshal(h)
	must(t, err)
	return string(b) + "\n"
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
