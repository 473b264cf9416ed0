package gittest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
)

// Template is a directory that is made once in a test process, and copied from then on: a copy starts no git.
type Template struct {
	once  sync.Once
	files fstest.MapFS
}

// Copy copies the template to a directory that is empty or missing. The first call makes the template.
func (p *Template) Copy(t testing.TB, dir string, fill func(dir string)) {
	t.Helper()
	p.once.Do(func() {
		root, files := filepath.Join(t.TempDir(), "template"), fstest.MapFS{}
		err := os.Mkdir(root, 0o700)
		if err == nil {
			fill(root)
			err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				name, _ := filepath.Rel(root, path)
				if err != nil || name == "." {
					return err
				}
				if d.IsDir() {
					files[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
					return nil
				}
				info, err := d.Info()
				if err != nil {
					return err
				}
				data, err := os.ReadFile(path)
				files[name] = &fstest.MapFile{Data: data, Mode: info.Mode()}
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		p.files = files
	})
	if p.files == nil {
		t.Fatal("the template could not be made")
	}
	if err := os.CopyFS(dir, p.files); err != nil {
		t.Fatal(err)
	}
}
