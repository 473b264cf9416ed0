package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRoomOfABuild(t *testing.T) {
	disks := map[string]struct {
		disk  string
		bytes uint64
	}{"/cache": {"a", 500}, "/tmp": {"b", 100}, "/kept": {"a", 500}}
	free := func(dir string) (any, uint64, error) {
		d, known := disks[dir]
		if !known {
			return nil, 0, errors.New("not there")
		}
		return d.disk, d.bytes << 20, nil
	}
	for _, tc := range []struct {
		name  string
		needs []need
		say   string // empty: there is room
	}{
		{"room for all", []need{{"/cache", 300 << 20, "GOCACHE"}, {"/tmp", 100 << 20, "TMPDIR"}, {"/kept", 200 << 20, "XDG_CACHE_HOME"}}, ""},
		{"one disk for two of them", []need{{"/cache", 300 << 20, "GOCACHE"}, {"/kept", 201 << 20, "XDG_CACHE_HOME"}}, "needs 501 MB on the disk of /kept, but only 500 MB are free"},
		{"another disk", []need{{"/cache", 300 << 20, "GOCACHE"}, {"/tmp", 101 << 20, "TMPDIR"}}, "name another directory with TMPDIR"},
		{"nothing to write on a full disk", []need{{"/tmp", 100 << 20, "TMPDIR"}, {"/tmp", 0, "GOCACHE"}}, ""},
		{"a disk that cannot be asked", []need{{"/none", 1 << 40, "GOCACHE"}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			switch err := findRoom(tc.needs, free); {
			case tc.say == "" && err != nil:
				t.Error(err)
			case tc.say != "" && (err == nil || !strings.Contains(err.Error(), tc.say) || !strings.Contains(err.Error(), ProgramVariable)):
				t.Errorf("error is %v, want %q", err, tc.say)
			}
		})
	}
}

// TestABuildWithoutRoomDoesNotBegin has a disk of its own for the program.
func TestABuildWithoutRoomDoesNotBegin(t *testing.T) {
	b := module(t, "package main\nfunc main() {}\n")
	var h heard
	b.progress = h.listen
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=2m"); errors.Is(err, syscall.EPERM) {
		t.Skip("only the superuser mounts a disk of its own")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, 0) })
	b.dir = filepath.Join(disk, "cache", "ratchet")
	_, err := b.program(t.Context())
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "free disk space") || !strings.Contains(err.Error(), b.dir) {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, programName+".new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was built: %v", err)
	}
}
