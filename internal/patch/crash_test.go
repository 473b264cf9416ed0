package patch_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/need"
	"github.com/ratchet-dev/ratchet/internal/patch"
)

const (
	crashDir  = "RATCHET_TEST_CRASH_DIR"  // the test binary writes a change here and kills itself
	crashSeed = "RATCHET_TEST_CRASH_SEED" // which change
	crashStep = "RATCHET_TEST_CRASH_STEP" // before which step
)

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // of which the corpus was made
	if dir := os.Getenv(crashDir); dir != "" {
		if err := crash(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crash writes the change of a seed and dies by SIGKILL before a step, if it comes so far.
func crash(dir string) error {
	seed, err1 := strconv.ParseUint(os.Getenv(crashSeed), 10, 64)
	last, err2 := strconv.Atoi(os.Getenv(crashStep))
	root, err3 := os.OpenRoot(dir)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, c := randomChange(seed)
	n := 0
	return patch.WriteFaulty(root, c, func(string, string) error {
		if n++; n > last {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	})
}

// randomChange is a tree and a change of 2 to 20 of its files.
func randomChange(seed uint64) (map[string]string, *patch.Change) {
	r := rand.New(rand.NewPCG(seed, 5))
	files := make(map[string]string)
	c := &patch.Change{}
	text := func() []byte { return bytes.Repeat(fmt.Appendf(nil, "%x\n", r.Uint64()), 1+r.IntN(50)) }
	for i := range 2 + r.IntN(19) {
		name := fmt.Sprintf("d%d/f%d", r.IntN(4), i)
		before, after := &patch.File{Mode: patch.Regular, Content: text()}, &patch.File{Mode: patch.Regular, Content: text()}
		f := patch.FileChange{Path: name, Before: before, After: after}
		switch f.Kind = []patch.Kind{patch.Added, patch.Modified, patch.Modified, patch.Deleted, patch.Renamed, patch.ModeOnly}[r.IntN(6)]; f.Kind {
		case patch.Added:
			f.Path, f.Before = "new/"+name, nil
		case patch.Deleted:
			f.After = nil
		case patch.Renamed:
			f.OldPath, f.Path = name, "moved/"+name
		case patch.ModeOnly:
			f.After = &patch.File{Mode: patch.Executable, Content: before.Content}
		}
		if f.Before != nil {
			files[name] = string(before.Content)
		}
		c.Files = append(c.Files, f)
	}
	for i := range r.IntN(3) { // a file becomes a directory, a directory a file
		file, dir := fmt.Sprintf("s%d", i), fmt.Sprintf("t%d", i)
		for _, name := range []string{file, dir + "/a", dir + "/b/c"} {
			old := text()
			files[name] = string(old)
			c.Files = append(c.Files, patch.FileChange{Path: name, Kind: patch.Deleted, Before: &patch.File{Mode: patch.Regular, Content: old}})
		}
		for _, name := range []string{file + "/x", file + "/y/z", dir} {
			c.Files = append(c.Files, patch.FileChange{Path: name, Kind: patch.Added, After: &patch.File{Mode: patch.Regular, Content: text()}})
		}
	}
	return files, c
}

// TestNoChangeIsEverHalfMade is R5 of the reliability catalogue: whatever fails or dies at
// whatever step, the tree is in its old or its new state once Recover has run.
func TestNoChangeIsEverHalfMade(t *testing.T) {
	patches := 50
	if need.Has(need.Nightly) {
		patches = 500
	}
	outcomes := make(map[string]int)
	for seed := range uint64(patches) {
		dir := scratch(t)
		files, c := randomChange(seed)
		lay(t, dir, files)
		before := picture(t, dir)
		after := finished(t, seed)
		step := rand.New(rand.NewPCG(seed, 7)).IntN(6*len(c.Files) + 8)
		root := open(t, dir)
		how := []string{"one error", "errors from a step on", "one error", "errors from a step on", "killed"}[seed%5]
		if how == "killed" {
			kill(t, dir, seed, step)
		} else {
			n := 0
			_ = patch.WriteFaulty(root, c, func(string, string) error {
				if n++; n == step || how != "one error" && n > step {
					return syscall.EIO
				}
				return nil
			})
		}
		if err := patch.Recover(root); err != nil {
			t.Fatalf("seed %d, %s at step %d: recover: %v", seed, how, step, err)
		}
		switch got := picture(t, dir); {
		case maps.Equal(got, before):
			outcomes[how+": as before"]++
		case maps.Equal(got, after):
			outcomes[how+": made"]++
		default:
			t.Fatalf("seed %d, %s at step %d: the tree is mixed", seed, how, step)
		}
		root.Close()
	}
	t.Log(outcomes)
	if outcomes["killed: as before"] == 0 || outcomes["one error: as before"] == 0 {
		t.Error("the faults hit nothing")
	}
}

// finished is the picture of the tree of a seed with its change made.
func finished(t *testing.T, seed uint64) map[string]string {
	t.Helper()
	dir := scratch(t)
	files, c := randomChange(seed)
	for _, f := range c.Files {
		if f.Kind == patch.Renamed {
			delete(files, f.OldPath)
		}
		if f.After == nil {
			delete(files, f.Path)
			continue
		}
		delete(files, f.Path)
		name := f.Path
		if f.After.Mode == patch.Executable {
			name += "*"
		}
		files[name] = string(f.After.Content)
	}
	lay(t, dir, files)
	return picture(t, dir)
}

func kill(t *testing.T, dir string, seed uint64, step int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashSeed+"="+strconv.FormatUint(seed, 10), crashStep+"="+strconv.Itoa(step))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Exited()) {
		t.Fatalf("seed %d: %v\n%s", seed, err, out)
	}
}

// TestHalfMadeChangesAreNoticed is the control of the test above: a writer that
// writes file after file leaves mixed trees, and the comparison sees them.
func TestHalfMadeChangesAreNoticed(t *testing.T) {
	mixed := 0
	for seed := range uint64(50) {
		dir := scratch(t)
		files, c := randomChange(seed)
		lay(t, dir, files)
		before, after := picture(t, dir), finished(t, seed)
		for _, f := range c.Files[:len(c.Files)/2] {
			naive(t, dir, f)
		}
		if got := picture(t, dir); !maps.Equal(got, before) && !maps.Equal(got, after) {
			mixed++
		}
	}
	if mixed == 0 {
		t.Error("no mixed tree was seen")
	}
}

func naive(t *testing.T, dir string, f patch.FileChange) {
	t.Helper()
	gone := slices.DeleteFunc([]string{f.OldPath, f.Path}, func(s string) bool { return s == "" })
	for _, name := range gone {
		_ = os.Remove(filepath.Join(dir, name))
	}
	if f.After != nil {
		lay(t, dir, map[string]string{f.Path: string(f.After.Content)})
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
