package scratch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// index holds the content of our own index: the files of the commit, each as it was when git had
// written it.
type index struct {
	commit  run.Commit
	made    time.Time    // when all of them were written
	entries []indexEntry // by path, byte by byte
}

// indexEntry is one file, symbolic link or submodule of the commit.
type indexEntry struct {
	path  string
	mode  git.Mode
	id    git.ID
	stamp stamp
}

// stamp identifies an untouched file. No program can set the time of change.
type stamp struct {
	changed, modified [2]uint32 // seconds and nanoseconds
	inode, size       uint32    // the low bits
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{
		changed:  [2]uint32{uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec)},
		modified: [2]uint32{uint32(st.Mtim.Sec), uint32(st.Mtim.Nsec)},
		inode:    uint32(st.Ino), size: uint32(st.Size),
	}
}

// changedBefore reports whether a file was last changed before t. A later change of such a file must show
// in its stamp.
func (s stamp) changedBefore(t time.Time) bool {
	return time.Unix(int64(s.changed[0]), int64(s.changed[1])).Before(t)
}

var errIndex = errors.New("the index is malformed")

// Lengths in version 2 of git's index (gitformat-index): of its header, of the part of an entry
// before its id, and of the flags after the id.
const (
	indexHeader = 12
	beforeID    = 40
	indexFlags  = 2
)

// parseIndex reads an index of version 2. The repository has the same kind of ids as like.
func parseIndex(like git.ID, text []byte) (*index, error) {
	sum := like.NewHash()
	end := len(text) - sum.Size()
	if end < indexHeader || !bytes.HasPrefix(text, []byte("DIRC\x00\x00\x00\x02")) {
		return nil, errIndex
	}
	if sum.Write(text[:end]); !bytes.Equal(sum.Sum(nil), text[end:]) {
		return nil, errIndex
	}
	n := binary.BigEndian.Uint32(text[8:])
	x := &index{}
	for text = text[indexHeader:end]; n > 0; n-- {
		head := beforeID + sum.Size() + indexFlags
		if len(text) < head {
			return nil, errIndex
		}
		length := bytes.IndexByte(text[head:], 0)
		padded := (head + length + 8) &^ 7 // at least one NUL
		if length <= 0 || padded > len(text) {
			return nil, errIndex
		}
		x.entries = append(x.entries, parseEntry(text[:head], string(text[head:head+length])))
		text = text[padded:]
	}
	return x, nil
}

func parseEntry(head []byte, path string) indexEntry {
	number := func(i int) uint32 { return binary.BigEndian.Uint32(head[4*i:]) }
	return indexEntry{
		path: path,
		mode: git.Mode(number(6)),
		id:   git.ID(hex.EncodeToString(head[beforeID : len(head)-indexFlags])),
		stamp: stamp{
			changed: [2]uint32{number(0), number(1)}, modified: [2]uint32{number(2), number(3)},
			inode: number(5), size: number(9),
		},
	}
}

func (x *index) find(path string) (indexEntry, bool) {
	i, ok := slices.BinarySearchFunc(x.entries, path, func(e indexEntry, path string) int { return strings.Compare(e.path, path) })
	if !ok {
		return indexEntry{}, false
	}
	return x.entries[i], true
}

// entriesBelow returns the entries below a directory, "." for the top.
func (x *index) entriesBelow(dir string) []indexEntry {
	if dir == "." {
		return x.entries
	}
	search := func(path string) int {
		i, _ := slices.BinarySearchFunc(x.entries, path, func(e indexEntry, path string) int { return strings.Compare(e.path, path) })
		return i
	}
	return x.entries[search(dir+"/"):search(dir+"0")] // the character after the slash
}
