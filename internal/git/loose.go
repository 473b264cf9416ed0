package git

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"
)

// objectsDir returns the directory of the repository's objects.
func (r Repo) objectsDir() string { return cmp.Or(r.Objects, filepath.Join(r.GitDir, "objects")) }

// maxStoring bounds the objects that are written at the same time. They wait for the disk together.
const maxStoring = 8

// storeLoose writes the objects as git does: each into a temporary file, which gets its name when it is on disk.
func (r Repo) storeLoose(p *Pack) error {
	root, err := os.OpenRoot(r.objectsDir())
	if err != nil {
		return err
	}
	defer root.Close()
	turns := make(chan struct{}, maxStoring)
	errs := make([]error, len(p.objects))
	var all sync.WaitGroup
	for i, o := range p.objects {
		turns <- struct{}{}
		all.Go(func() {
			errs[i] = o.store(root)
			<-turns
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// looseName returns the name of an object's file below the directory of objects.
func (id ID) looseName() string { return path.Join(string(id[:2]), string(id[2:])) }

func (o newObject) store(root *os.Root) error {
	name := o.id.looseName()
	if err := keepLoose(root, name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.Mkdir(path.Dir(name), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	temp := path.Join(path.Dir(name), "tmp_obj_"+rand.Text()) // git-prune removes such a file
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	err = compress(f, fmt.Appendf(nil, "%s %d\x00", o.kind, len(o.content)), o.content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// keepLoose makes the file of an object that exists durable, and as young as a new one: git-prune leaves it alone.
func keepLoose(root *os.Root, name string) error {
	f, err := openPlain(root, name)
	if err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(root.Chtimes(name, now, now), f.Sync(), f.Close())
}
