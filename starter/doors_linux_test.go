package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// fullDisk is a directory on a disk that has no room.
func fullDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k,mode=700"); errors.Is(err, syscall.EPERM) {
		t.Skip("only the superuser mounts a disk of its own")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	if err := os.WriteFile(filepath.Join(dir, "fill"), bytes.Repeat([]byte("x"), 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAFullDiskIsSaid: an engine without room for its database answers nothing in time. Finding B13.
func TestAFullDiskIsSaid(t *testing.T) {
	need.Suite(t, need.CI)
	full, runsDir := fullDisk(t), t.TempDir()
	f := engine.File{Address: "127.0.0.1:1", API: "https://127.0.0.1:1", DB: filepath.Join(full, "engine.db")}
	_, err := engine.MakeKey(runsDir)
	if err := errors.Join(err, engine.WriteFile(runsDir, f)); err != nil {
		t.Fatal(err)
	}
	got := starter(t.Context(), "", "list", "--runs-dir", runsDir)
	if got.code != exit.Unreachable || !strings.Contains(got.err, "the disk with "+full+" is full") || strings.Count(got.err, "\n") != 1 {
		t.Errorf("code %d: %s", got.code, got.err)
	}
	got = starter(t.Context(), "", "up", "--sandbox", "off", "--port", "0", "--ui-port", "0", "--runs-dir", runsDir, "--db", f.DB)
	if got.code != exit.Failed || !strings.Contains(got.err, "the disk with "+full+" is full") || strings.Count(got.err, "\n") != 2 { // the first is about the sandbox
		t.Errorf("code %d: %s", got.code, got.err)
	}
}
