package rundir_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// smallDisk is a file system of 256 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=700")
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip("needs the right to mount")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves the file system without a free byte.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullDiskKeepsWhatIsThere(t *testing.T) {
	disk := smallDisk(t)
	store, err := rundir.Open(t.Context(), disk)
	if err != nil {
		t.Fatal(err)
	}
	d := store.Run(told.Input.RunID)
	record(t, d, between(0, 3))
	ref, err := d.Keep("plan/iter-0001.md", []byte("old"))
	if err != nil {
		t.Fatal(err)
	}
	before := read(t, logFile(d))
	free := fill(t, disk)

	if _, err := d.Keep("plan/iter-0001.md", bytes.Repeat([]byte("new "), 64<<10)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("keep: %v", err)
	}
	if b, err := d.Load(ref); err != nil || string(b) != "old" {
		t.Errorf("the artifact is %q, %v", b, err)
	}
	if _, err := d.Record(between(4, len(steps)-1)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("record: %v", err)
	}
	if got := read(t, logFile(d)); !bytes.HasPrefix(got, before) {
		t.Errorf("the log is\n%s\nwas\n%s", got, before)
	}
	if state, err := d.State(); err != nil || *state.LastEventID != *steps[3].State.LastEventID {
		t.Errorf("state %+v, %v", state, err)
	}
	if _, err := d.Rebuild(); err != nil {
		t.Error(err)
	}
	each(t, d.Path(), func(name string, _ []byte) {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s was left behind", name)
		}
	})
	free()
	record(t, d, between(4, len(steps)-1))
	wantWhole(t, d)
}
