package git

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Ref is a reference and the object that it leads to.
type Ref struct {
	Name string // the full name, such as refs/heads/main
	ID   ID
}

// The bounds of the files that are read here. Git reads larger ones.
const (
	maxRefFile    = 4 << 10
	maxUseFile    = 1 << 20
	maxPackedRefs = 64 << 20
	maxRefDepth   = 64 // directories below each other
)

// ReadRefs reads references from the files of the git directory at common, and starts no git. A pattern that
// ends with a slash stands for all references below it, and any other pattern for the reference of that name. The
// references come in the order of their names.
//
// ReadRefs believes only files as git writes them. It returns false for everything else, such as a symbolic link, a
// reference that leads nowhere, or a name that git would refuse: the caller then asks git, which has the last word. A
// true answer is git's own.
func ReadRefs(common string, patterns ...string) (refs []Ref, ok bool) {
	root, err := os.OpenRoot(common)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	if _, ok := readHead(root, "HEAD"); !ok { // references in another format have a HEAD that leads nowhere
		return nil, false
	}
	r := refReader{root: root, found: map[string]string{}}
	// Git packs a reference before it removes its file. The files are therefore read first.
	for _, p := range patterns {
		if strings.HasSuffix(p, "/") {
			dir := strings.TrimSuffix(p, "/")
			err = r.readBelow(root, dir, dir, maxRefDepth)
		} else {
			err = r.readLoose(p)
		}
		if err != nil {
			return nil, false
		}
	}
	if r.readPacked(patterns) != nil {
		return nil, false
	}
	for name := range r.found {
		id, ok := r.resolve(name)
		if !ok {
			return nil, false
		}
		refs = append(refs, Ref{name, id})
	}
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs, true
}

// symbolicRef begins the value of a reference that is another name of one.
const symbolicRef = "ref: "

// refReader collects the values of references: an id, or symbolicRef and a name.
type refReader struct {
	root  *os.Root
	found map[string]string
}

var errUnusual = errors.New("not a form that is read here")

// readBelow reads the files of all references below dir, a directory of parent. Their names begin with full. It
// opens each directory once: a way from the root opens all directories on it.
func (r refReader) readBelow(parent *os.Root, dir, full string, depth int) error {
	if depth == 0 {
		return errUnusual
	}
	if there, err := isDirectory(parent, dir); err != nil || !there {
		return err
	}
	at, err := parent.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	names, err := listNames(at, ".")
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".lock") {
			continue // as git does
		}
		text, err := readPlain(at, name, maxRefFile)
		switch {
		case err == nil:
			err = r.add(path.Join(full, name), text)
		case errors.Is(err, errDirectory):
			err = r.readBelow(at, name, path.Join(full, name), depth-1)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was packed or deleted meanwhile
			return err
		}
	}
	return nil
}

// readLoose reads the file of one reference, if it has one.
func (r refReader) readLoose(name string) error {
	if !isRefName(name) {
		return errUnusual
	}
	text, err := readPlain(r.root, name, maxRefFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, errDirectory):
		return nil
	case err != nil:
		return err
	}
	return r.add(name, text)
}

// add adds the reference that has a file with the text.
func (r refReader) add(name string, text []byte) error {
	value, ok := refValue(text)
	if !ok || !isRefName(name) {
		return errUnusual
	}
	r.found[name] = value
	return nil
}

// readPacked adds the packed references that match a pattern and have no file.
func (r refReader) readPacked(patterns []string) error {
	text, err := readPlain(r.root, "packed-refs", maxPackedRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	matches := func(name []byte) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return string(name) == p || strings.HasSuffix(p, "/") && bytes.HasPrefix(name, []byte(p))
		})
	}
	var last []byte // the name before
	peeled := false // the line before tells what a tag leads to
	for line := range bytes.Lines(text) {
		if line[0] == '#' && last == nil && bytes.HasPrefix(line, []byte("# pack-refs with: ")) {
			last = []byte{}
			continue
		}
		if line[0] == '^' && len(last) > 0 && !peeled {
			peeled = true
			continue
		}
		id, name, ok := bytes.Cut(line, []byte(" "))
		name, whole := bytes.CutSuffix(name, []byte("\n"))
		if !ok || !whole || bytes.Compare(name, last) <= 0 { // git looks for a name by halves
			return errUnusual
		}
		last, peeled = name, false
		if !matches(name) {
			continue
		}
		if !isObjectOfRef(string(id)) || !isRefName(string(name)) {
			return errUnusual
		}
		if _, loose := r.found[string(name)]; !loose {
			r.found[string(name)] = string(id)
		}
	}
	return nil
}

// resolve returns the object of a reference. It follows another name of a reference only if that one was read too.
func (r refReader) resolve(name string) (ID, bool) {
	value := r.found[name]
	if target, symbolic := strings.CutPrefix(value, symbolicRef); symbolic {
		value = r.found[target]
	}
	return ID(value), isObjectOfRef(value)
}

func isObjectOfRef(id string) bool { return ID(id).Valid() && ID(id) != ID(id).Zero() }

// readHead returns the value in a file HEAD. It may lack the line feed at its end, which git does not need: a program of
// the user's may have written it.
func readHead(root *os.Root, name string) (value string, ok bool) {
	text, err := readPlain(root, name, maxRefFile)
	if err != nil {
		return "", false
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return refValue(text)
}

// refValue returns the value in the file of a reference. It returns false unless the file is as git writes it.
func refValue(text []byte) (value string, ok bool) {
	value, ok = strings.CutSuffix(string(text), "\n")
	if target, symbolic := strings.CutPrefix(value, symbolicRef); symbolic {
		return value, ok && isRefName(target)
	}
	return value, ok && isObjectOfRef(value)
}

// isRefName reports whether name is surely a valid name of a reference. It knows nothing of git's exceptions.
func isRefName(name string) bool {
	if !strings.HasPrefix(name, "refs/") || strings.ContainsAny(name, " ~^:?*[\\\x7f") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	if strings.ContainsFunc(name, func(c rune) bool { return c < ' ' }) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

var errDirectory = errors.New("a directory")

// openPlain opens a regular file for reading. It follows no link at its end, which the root would follow to another
// name below it, and waits for no pipe.
func openPlain(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errDirectory
	case !info.Mode().IsRegular():
		return nil, errUnusual
	}
	f, err := root.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errUnusual, err, f.Close())
	}
	return f, nil
}

// readPlain reads a regular file of at most so many bytes.
func readPlain(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := openPlain(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if int64(len(text)) > most {
		return nil, errUnusual
	}
	return text, err
}

// isDirectory reports whether a directory is there. Anything but a directory, a file and nothing is unusual.
func isDirectory(root *os.Root, dir string) (bool, error) {
	info, err := root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil || !info.IsDir() {
		return false, errors.Join(err, errUnusual)
	}
	return true, nil
}

// listNames returns the names in a directory, and none where there is no directory.
func listNames(root *os.Root, dir string) ([]string, error) {
	if there, err := isDirectory(root, dir); err != nil || !there {
		return nil, err
	}
	d, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
