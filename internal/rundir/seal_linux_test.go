package rundir_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A power cut takes the bytes that the kernel has yet to write.
func TestTheSealIsOnDisk(t *testing.T) {
	d := newDir(t)
	for i := range steps {
		record(t, d, upTo(i))
		if n := countUnwritten(t, sealOf(logFile(d))); n > 0 {
			t.Fatalf("after event %d the kernel has yet to write %d pages of the seal", i+1, n)
		}
	}
}

// A process that is killed before it has synced the seal leaves it to the kernel.
func TestTheSealOfAKilledProcessIsPutOnDisk(t *testing.T) {
	runs := t.TempDir()
	d := openRun(t, runs)
	record(t, d, upTo(3))
	name := sealOf(logFile(d))
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(read(t, name), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	record(t, openRun(t, runs), upTo(3))
	if n := countUnwritten(t, name); n > 0 {
		t.Errorf("the kernel has yet to write %d pages of the seal", n)
	}
}

// countUnwritten returns the number of the pages of a file that are in memory only.
func countUnwritten(t *testing.T, name string) uint64 {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &system); err != nil || system.Type == unix.TMPFS_MAGIC {
		t.Skipf("needs a disk below the temporary directory, which is on %x: %v", system.Type, err)
	}
	var pages unix.Cachestat_t
	err = unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &pages, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("needs Linux 6.5")
	}
	if err != nil {
		t.Fatal(err)
	}
	return pages.Dirty + pages.Writeback
}
