package patch_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// killDir names the directory to which the test binary writes a change, until it is killed.
const killDir = "RATCHET_TEST_KILL_DIR"

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // of which the corpus was made
	if dir := os.Getenv(killDir); dir != "" {
		root, err := os.OpenRoot(dir)
		if err == nil {
			err = patch.WriteChange(root, manyFiles())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killedFiles is the number of files of manyFiles.
const killedFiles = 300

// oldText and newText are large enough to be seen half-written.
func oldText() []byte { return bytes.Repeat([]byte("old\n"), 16<<10) }
func newText() []byte { return bytes.Repeat([]byte("new\n"), 16<<10) }

func manyFiles() *patch.Change {
	c := &patch.Change{}
	before, after := &patch.File{Mode: patch.Regular, Content: oldText()}, &patch.File{Mode: patch.Regular, Content: newText()}
	for i := range killedFiles {
		c.Files = append(c.Files, patch.FileChange{Path: fmt.Sprintf("d/%03d", i), Kind: patch.Modified, Before: before, After: after})
	}
	return c
}

// A kill in the middle leaves some files as before, but none half-written, and beside them only new files that are not
// in their places.
func TestKilledWhileWriting(t *testing.T) {
	need.Suite(t, need.CI)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mixed := 0
	for range 10 {
		dir := scratch(t)
		files := make(map[string]string)
		for i := range killedFiles {
			files[fmt.Sprintf("d/%03d", i)] = string(oldText())
		}
		lay(t, dir, files)
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), killDir+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for first := filepath.Join(dir, "d/000"); ; { // until it is replaced
			text, err := os.ReadFile(first)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, oldText()) || t.Context().Err() != nil {
				break
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		entries, err := os.ReadDir(filepath.Join(dir, "d"))
		if err != nil {
			t.Fatal(err)
		}
		was, made := 0, 0
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(dir, "d", e.Name()))
			switch {
			case err != nil:
				t.Fatal(err)
			case strings.HasPrefix(e.Name(), ".ratchet-"):
			case bytes.Equal(text, oldText()):
				was++
			case bytes.Equal(text, newText()):
				made++
			default:
				t.Errorf("%s: got %d bytes, want the old file or the new one", e.Name(), len(text))
			}
		}
		if was+made != killedFiles {
			t.Errorf("got %d files, want %d", was+made, killedFiles)
		}
		if was > 0 && made > 0 {
			mixed++
		}
	}
	if mixed == 0 {
		t.Error("no kill fell between two files")
	}
}

// scratch is a temporary directory in memory where there is such a thing: a
// process that is killed needs no disk.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "patch")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
