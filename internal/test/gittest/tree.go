package gittest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Files maps paths to contents. The path of an executable file ends in "*"; the content of a symbolic link is "-> " and
// its target.
type Files map[string]string

// With returns the files with changes and without those that are deleted.
func (f Files) With(changes Files, deleted ...string) Files {
	f = maps.Clone(f)
	maps.Copy(f, changes)
	for _, name := range deleted {
		delete(f, name)
	}
	return f
}

// Tree returns the files below a directory, without git's own.
func Tree(t testing.TB, dir string) Files {
	t.Helper()
	got := Files{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case name == ".git" && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || name == ".git":
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			got[name] = "-> " + to
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if fi.Mode()&0o100 != 0 {
			name += "*"
		}
		got[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// WantTree fails the test unless the directory has exactly these files.
func WantTree(t testing.TB, dir string, want Files) {
	t.Helper()
	got := Tree(t, dir)
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if text, ok := want[name]; !ok || text != got[name] {
			t.Errorf("%s: %q; want %q (there: %t)", name, got[name], text, ok)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[name]; !ok {
			t.Errorf("%s: missing", name)
		}
	}
}
