package scratch

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// compareItem compares an item with the commit's entry of the same name.
func (v *survey) compareItem(e indexEntry, it item) error {
	was := e.stamp
	if was.changedBefore(v.index.made) && was.changed == it.stamp.changed && was.modified == it.stamp.modified && was.inode == it.stamp.inode {
		if was.size != it.stamp.size { // no program has changed the file
			return fmt.Errorf("%s: %w", it.path, ErrNotMade)
		}
		return nil
	}
	switch {
	case e.mode == git.ModeSymlink && it.isSymlink():
		return v.compareLink(e, it)
	case e.mode.Regular() && it.isRegular():
		return v.stageContent(e, it)
	case e.mode.Regular():
		v.add(it.path, "%s has replaced a file", it.kindInWords())
	default:
		v.add(it.path, "%s has replaced a symbolic link or submodule", it.kindInWords())
	}
	return nil
}

func (v *survey) compareLink(e indexEntry, it item) error {
	to, err := v.tree.Readlink(it.path)
	if err != nil {
		return err
	}
	if git.Identify(e.id, git.Blob, []byte(to)) != e.id {
		v.add(it.path, "symbolic links cannot be changed")
	}
	return nil
}

// stageContent puts a file on the stage unless it has the commit's bytes and mode.
func (v *survey) stageContent(e indexEntry, it item) error {
	big := it.size > int64(v.limits.File)
	if !big || it.size == int64(e.stamp.size) {
		same, err := v.sameBytes(e, it)
		if same && it.exec == e.mode.Executable() {
			return nil
		}
		if err != nil {
			return v.noteUnreadable(it, err)
		}
	}
	if v.permitsPath(it.path) {
		return v.putOnStage(it, &v.changed)
	}
	return nil
}

// sameBytes reports whether a file has the same bytes as the commit's file.
func (v *survey) sameBytes(e indexEntry, it item) (bool, error) {
	f, now, err := openRegular(v.tree, it.path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if now.size != it.size {
		return false, nil
	}
	h := e.id.NewHash()
	fmt.Fprintf(h, "blob %d\x00", it.size)
	if _, err := io.Copy(h, io.LimitReader(f, it.size)); err != nil {
		return false, err
	}
	return hex.EncodeToString(h.Sum(nil)) == string(e.id), nil
}

// putOnStage puts a file on the stage and its path into paths.
func (v *survey) putOnStage(it item, paths *[]string) error {
	if it.size > int64(v.limits.File) {
		v.add(it.path, "the file has %d bytes; at most %d are allowed", it.size, v.limits.File)
		return nil
	}
	if err := v.copyToStage(it); err != nil {
		return v.noteUnreadable(it, err)
	}
	*paths = append(*paths, it.path)
	return nil
}

// copyToStage copies a file to the stage, with at most as many bytes as it had when it was listed.
func (v *survey) copyToStage(it item) error {
	if it.size > v.bytes {
		v.add("", "the changed files have more than %d bytes", v.limits.Total)
		return errEnough
	}
	f, now, err := openRegular(v.tree, it.path)
	if err != nil {
		return err
	}
	defer f.Close()
	v.bytes -= it.size
	return v.stage.write(it.path, now.exec, io.LimitReader(f, it.size))
}

// noteUnreadable handles a file that could not be read. A file that has just disappeared counts as deleted.
func (v *survey) noteUnreadable(it item, err error) error {
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
