package checkout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// The bounds of borrowing. The depth is git's own; git has no bound for the others.
const (
	maxDepth      = 6
	maxBorrowed   = 64       // directories
	maxAlternates = 64 << 10 // bytes of a list of them
	maxEntries    = 1 << 10  // in one of them: git makes 258, and temporary ones
)

// ErrBorrowed reports a list of borrowed objects that leads to something else.
var ErrBorrowed = errors.New("this list may only name directories of git objects")

// Borrowed returns the directories of objects that a git directory borrows, and that those borrow in
// turn, as git reads their lists. It leaves out directories that do not exist. It believes the list of the
// git directory itself: call it before a foreign program could write there.
//
// The lists of the others may be foreign, and a box shows what they name. The error matches ErrBorrowed for a
// directory that holds anything but objects, and for one that only they name and that is in or above
// private. Without such a directory git would report missing objects to programs, which they may take for a fault of
// the files.
func Borrowed(gitDir, private string) (found []string, err error) {
	level := []string{filepath.Join(gitDir, "objects")}
	for depth := range maxDepth {
		var next []string
		for _, objects := range level {
			list := filepath.Join(objects, "info", "alternates")
			names, err := readAlternates(list)
			if err != nil {
				return nil, err
			}
			for _, dir := range names {
				if !filepath.IsAbs(dir) {
					dir = filepath.Join(objects, dir)
				}
				dir = filepath.Clean(dir)
				if info, err := os.Stat(dir); err != nil || !info.IsDir() || slices.Contains(found, dir) {
					continue
				}
				err := checkObjects(dir)
				if err == nil && depth > 0 {
					err = checkApart(dir, private)
				}
				if err == nil && len(found) == maxBorrowed {
					err = fmt.Errorf("it is one of more than %d", maxBorrowed)
				}
				if err != nil {
					return nil, fmt.Errorf("%s names %s: %w: %w", list, dir, err, ErrBorrowed)
				}
				found, next = append(found, dir), append(next, dir)
			}
		}
		level = next
	}
	return found, nil
}

// readAlternates returns the names in a list, which may not exist.
func readAlternates(list string) (names []string, err error) {
	b, err := file.Read(list, maxAlternates)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case errors.Is(err, file.ErrIrregular), errors.Is(err, file.ErrTooLarge):
		return nil, fmt.Errorf("%w: %w", err, ErrBorrowed)
	case err != nil:
		return nil, err
	}
	text, _, _ := strings.Cut(string(b), "\x00")
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if name, after, quoted := udiff.UnquoteName(text); quoted {
			line, rest = name, after[min(1, len(after)):]
		}
		if line != "" && text[0] != '#' {
			names = append(names, line)
		}
		text = rest
	}
	return names, nil
}

// The names of entries beside packs in a directory of objects: git's directories of loose objects, and files and
// directories that a killed git may leave. Other programs leave the last two.
var (
	keeping = regexp.MustCompile(`^(pack|info|[0-9a-f]{2})$`)
	leaving = regexp.MustCompile(`^(tmp_obj.*|bulk_fsync_.*|incoming-.*|schedule.*|maintenance\.lock|loose-object-idx.*|\.nfs.*|\.DS_Store)$`)
)

// checkObjects returns an error unless a directory is one of git's objects, by its own name and the names in it.
func checkObjects(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if filepath.Base(real) != "objects" {
		return fmt.Errorf("the directory %s does not have the name objects", real)
	}
	f, err := os.Open(real)
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !leaving.MatchString(name) && (e.Type().IsRegular() || !keeping.MatchString(name)) {
			return fmt.Errorf("it holds %q", name)
		}
	}
	if len(entries) > maxEntries {
		return fmt.Errorf("it holds more than %d entries", maxEntries)
	}
	return nil
}

// checkApart returns an error if one of two directories holds the other.
func checkApart(dir, private string) error {
	a, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	b, err := filepath.Abs(private)
	if err != nil {
		return err
	}
	if b, err = filepath.EvalSymlinks(b); err != nil {
		return err
	}
	for _, way := range [][2]string{{a, b}, {b, a}} {
		if rel, err := filepath.Rel(way[0], way[1]); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%s belongs to Ratchet", private)
		}
	}
	return nil
}
