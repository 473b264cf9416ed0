package git

import (
	"bufio"
	"encoding/binary"
	"errors"
	"math"
	"os"
)

// TreeFile is a regular file below a tree.
type TreeFile struct {
	Path string // relative to the tree
	Mode Mode
	Size int64 // bytes
}

// maxListed bounds the entries that are listed here, and so the depth. With more of them git is quicker.
const maxListed = 128

// ListFiles returns the regular files below a tree in git's order, and starts no git. It returns false for a tree
// that is large, or of which something is not in the repository's own files as git writes it: the caller then asks
// git, which has the last word.
func (o *Objects) ListFiles(tree ID) (files []TreeFile, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := lister{objects: o, left: maxListed}
	if !tree.Valid() || l.list(tree, "") != nil {
		return nil, false
	}
	for i, id := range l.ids {
		size, err := o.files.size(id)
		if err != nil {
			return nil, false
		}
		l.files[i].Size = size
	}
	return l.files, true
}

type lister struct {
	objects *Objects
	files   []TreeFile // without their sizes
	ids     []ID       // of the files
	left    int        // entries that may still be listed
}

// list adds the files of a tree. prefix is its path with a slash at the end, or empty.
func (l *lister) list(tree ID, prefix string) error {
	object, err := l.objects.readFiles(tree)
	if err != nil {
		return err
	}
	entries, err := ParseTree(tree, object.Content)
	if l.left -= len(entries); err != nil || object.Kind != Tree || l.left < 0 {
		return errors.Join(err, errUnusual)
	}
	for _, e := range entries {
		switch name := prefix + e.Name; {
		case e.Mode&modeType == ModeTree:
			if err := l.list(e.ID, name+"/"); err != nil {
				return err
			}
		case e.Mode.Regular():
			l.files, l.ids = append(l.files, TreeFile{Path: name, Mode: e.Mode}), append(l.ids, e.ID)
		}
	}
	return nil
}

// size returns the size of an object. It reads no more than the beginning, and does not compare the content with the
// id: git does neither.
func (f *objectFiles) size(id ID) (int64, error) {
	loose, err := f.openLoose(id)
	if err == nil {
		return loose.size, loose.file.Close()
	}
	if !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	p, at, err := f.findPacked(id)
	if err != nil {
		return 0, err
	}
	code, size, in, err := f.openEntry(p, at)
	if _, whole := packedKinds[code]; whole || err != nil {
		return size, err
	}
	return f.readDeltaSize(code, in, id)
}

// readDeltaSize returns the size of the object that a delta makes. in is right after the size of the delta itself.
func (f *objectFiles) readDeltaSize(code byte, in *bufio.Reader, like ID) (int64, error) {
	var err error
	switch code {
	case offsetDelta:
		_, err = readBack(in)
	case nameDelta:
		_, err = in.Discard(len(like) / 2)
	default:
		err = errUnusual
	}
	if err != nil {
		return 0, err
	}
	delta, err := f.inflateHead(in)
	if err != nil {
		return 0, err
	}
	_, err1 := binary.ReadUvarint(delta) // the size of the base
	size, err2 := binary.ReadUvarint(delta)
	if size > math.MaxInt64 {
		err2 = errUnusual
	}
	return int64(size), errors.Join(err1, err2)
}
