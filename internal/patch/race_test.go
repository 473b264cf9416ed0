package patch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// flip makes dir/d a directory and a symbolic link to outside by turns, until stop is
// closed. In the moment when it is neither the writer may make it a directory again.
func flip(dir, outside string, stop chan struct{}) {
	d, aside := filepath.Join(dir, "d"), filepath.Join(dir, "aside")
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = os.Rename(d, aside)
		_ = os.Symlink(outside, d)
		_ = os.RemoveAll(d)
		_ = os.Rename(aside, d)
	}
}

// race runs write against flip, and gives the number of files that got outside.
func race(t *testing.T, write func(dir string, again func(escapes int) bool)) int {
	t.Helper()
	base := scratch(t)
	dir, outside := filepath.Join(base, "tree"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(dir, "d"), outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	escapes := func() int {
		entries, err := os.ReadDir(outside)
		if err != nil {
			t.Error(err)
		}
		return len(entries)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { flip(dir, outside, stop) })
	write(dir, func(most int) bool { return escapes() < most && !t.Failed() })
	close(stop)
	wg.Wait()
	return escapes()
}

// TestNothingEscapesARace is R22 of the reliability catalogue.
func TestNothingEscapesARace(t *testing.T) {
	need.Suite(t, need.CI)
	enough := 5_000
	if need.Has(need.Nightly) {
		enough = 50_000
	}
	changes, made := 0, 0
	escapes := race(t, func(dir string, again func(int) bool) {
		root := open(t, dir)
		for n := 0; changes < enough && again(1); n++ {
			c := &patch.Change{}
			for i := range 3 {
				c.Files = append(c.Files, patch.FileChange{Path: fmt.Sprintf("d/f%d-%d", n, i), Kind: patch.Added, After: &patch.File{Mode: patch.Regular, Content: []byte("x")}})
			}
			changes++
			if patch.WriteChange(root, c) == nil {
				made++
			}
		}
	})
	t.Logf("%d of %d changes made, %d escapes", made, changes, escapes)
	if escapes > 0 {
		t.Errorf("%d files of %d changes got out of the tree", escapes, changes)
	}
	if made == 0 {
		t.Error("no change was made")
	}
}

// TestARaceIsLost is the control of the test above: looking first and writing then
// gets out of the tree.
func TestARaceIsLost(t *testing.T) {
	writes := 0
	escapes := race(t, func(dir string, again func(int) bool) {
		for ; writes < 2_000_000 && again(1); writes++ {
			parent, err := filepath.EvalSymlinks(filepath.Join(dir, "d"))
			if err != nil || filepath.Dir(parent) != dir {
				continue
			}
			_ = os.WriteFile(filepath.Join(parent, fmt.Sprintf("f%d", writes%100)), []byte("x"), 0o644)
		}
	})
	t.Logf("%d writes, %d escapes", writes, escapes)
	if escapes == 0 {
		t.Error("looking first and writing then did not get out; the race has no power")
	}
}
