package scratch

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// compare compares an item with the commit's entry of the same name.
func (v *survey) compare(e entry, it item) error {
	was := e.stamp
	if was.before(v.index.made) && was.changed == it.stamp.changed && was.modified == it.stamp.modified && was.inode == it.stamp.inode {
		if was.size != it.stamp.size { // no program has changed the file
			return fmt.Errorf("%s: %w", it.path, ErrNotMade)
		}
		return nil
	}
	switch {
	case e.mode == git.ModeSymlink && it.symlink():
		return v.link(e, it)
	case e.mode.Regular() && it.regular():
		return v.content(e, it)
	case e.mode.Regular():
		v.add(it.path, "%s is in the place of a file", it.what())
	default:
		v.add(it.path, "%s is in the place of a symbolic link or submodule", it.what())
	}
	return nil
}

func (v *survey) link(e entry, it item) error {
	to, err := v.tree.Readlink(it.path)
	if err != nil {
		return err
	}
	if git.Identify(e.id, git.Blob, []byte(to)) != e.id {
		v.add(it.path, "symbolic links cannot be changed")
	}
	return nil
}

// content puts a file on the stage unless it has the commit's bytes and mode.
func (v *survey) content(e entry, it item) error {
	big := it.size > int64(v.limits.File)
	if !big || it.size == int64(e.stamp.size) {
		same, err := v.same(e, it)
		if same && it.exec == e.mode.Executable() {
			return nil
		}
		if err != nil {
			return v.unread(it, err)
		}
	}
	if v.permits(it.path) {
		return v.put(it, &v.changed)
	}
	return nil
}

// same reports whether a file has the same bytes as the commit's file.
func (v *survey) same(e entry, it item) (bool, error) {
	f, now, err := open(v.tree, it.path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if now.size != it.size {
		return false, nil
	}
	h := newHash(e.id)
	fmt.Fprintf(h, "blob %d\x00", it.size)
	if _, err := io.Copy(h, io.LimitReader(f, it.size)); err != nil {
		return false, err
	}
	return hex.EncodeToString(h.Sum(nil)) == string(e.id), nil
}

// put puts a file on the stage and its path into paths.
func (v *survey) put(it item, paths *[]string) error {
	if it.size > int64(v.limits.File) {
		v.add(it.path, "the file has %d bytes; at most %d are taken", it.size, v.limits.File)
		return nil
	}
	if err := v.copy(it); err != nil {
		return v.unread(it, err)
	}
	*paths = append(*paths, it.path)
	return nil
}

// copy copies a file to the stage, with at most as many bytes as it had when it was listed.
func (v *survey) copy(it item) error {
	if it.size > v.bytes {
		v.add("", "the files that were changed have more than %d bytes", v.limits.Total)
		return errEnough
	}
	f, now, err := open(v.tree, it.path)
	if err != nil {
		return err
	}
	defer f.Close()
	v.bytes -= it.size
	return v.stage.write(it.path, now.exec, io.LimitReader(f, it.size))
}

// unread handles a file that could not be read. A file that has just disappeared counts as deleted.
func (v *survey) unread(it item, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		v.add(it.path, "the file cannot be read")
		return nil
	case errors.Is(err, fs.ErrNotExist):
		delete(v.seen, it.path)
		return nil
	}
	return err
}
