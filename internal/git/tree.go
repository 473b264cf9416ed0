package git

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Mode is the mode of a tree's entry.
type Mode uint32

// The modes that git writes. Old repositories have other permission bits in the modes of regular
// files; see Regular.
const (
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeTree       Mode = 0o040000
	ModeGitlink    Mode = 0o160000
)

const modeType Mode = 0o170000

// Regular reports whether m is a regular file, executable or not.
func (m Mode) Regular() bool { return m&modeType == ModeFile&modeType }

// Executable reports whether m is a regular file that its owner may execute.
func (m Mode) Executable() bool { return m.Regular() && m&0o100 != 0 }

// String returns git's form of the mode: six octal digits.
func (m Mode) String() string { return fmt.Sprintf("%06o", uint32(m)) }

// Perm returns the permission that git gives a regular file of mode m.
func (m Mode) Perm() fs.FileMode {
	if m.Executable() {
		return 0o755
	}
	return 0o644
}

// Entry is one line of a tree.
type Entry struct {
	Name string
	Mode Mode
	ID   ID
}

// key returns the sort key of an entry in git's order of a tree.
func (e Entry) key() string {
	if e.Mode == ModeTree {
		return e.Name + "/"
	}
	return e.Name
}

// ParseTree reads a tree object of the repository of like.
func ParseTree(like ID, content []byte) ([]Entry, error) {
	size := len(like) / 2
	var entries []Entry
	for len(content) > 0 {
		head, rest, ok := bytes.Cut(content, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		if !ok || !named || name == "" || err != nil || len(rest) < size {
			return nil, fmt.Errorf("tree is malformed after %d entries", len(entries))
		}
		entries = append(entries, Entry{Name: name, Mode: Mode(m), ID: ID(hex.EncodeToString(rest[:size]))})
		content = rest[size:]
	}
	return entries, nil
}

// FormatTree returns the tree object that holds the entries, given in any order. Their ids must be
// valid.
func FormatTree(entries []Entry) []byte {
	sorted := slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return strings.Compare(a.key(), b.key()) })
	var out []byte
	for _, e := range sorted {
		out = fmt.Appendf(out, "%o %s\x00", uint32(e.Mode), e.Name)
		id, _ := hex.DecodeString(string(e.ID)) // valid by contract
		out = append(out, id...)
	}
	return out
}
