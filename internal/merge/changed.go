package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// changedFile is a file in which two commits differ. A commit that does not have it has mode goneMode.
type changedFile struct {
	path    string
	oldMode string
	mode    string
	id      string // of the new content
}

const (
	goneMode      = "000000"
	submoduleMode = "160000"
)

// changedFiles returns the files in which two commits differ.
func (at place) changedFiles(ctx context.Context, from, to run.Commit) (files []changedFile, err error) {
	out, err := at.repo.Run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", string(from), string(to))
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if f := strings.Fields(strings.TrimPrefix(fields[i], ":")); len(f) == 5 {
			files = append(files, changedFile{path: fields[i+1], oldMode: f[0], mode: f[1], id: f[3]})
		}
	}
	return files, err
}

// checkUntracked refuses to write a new file where the work tree has a file that git does not track. Git refuses that
// itself, except for a file that a .gitignore names: it overwrites such a file. The files in done are written already.
func (at place) checkUntracked(changed, done []changedFile) error {
	tracked := map[string]bool{}
	for _, f := range changed {
		tracked[f.path] = f.oldMode != goneMode
	}
	for _, f := range done {
		tracked[f.path] = true
	}
	for _, f := range changed {
		if tracked[f.path] || f.mode == submoduleMode {
			continue
		}
		found, err := at.findUntracked(f.path, tracked)
		if err == nil && found != "" {
			err = fmt.Errorf("%q is in the way, and git does not track it: move it elsewhere, then merge again", found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findUntracked returns a file that is not tracked in the place of a new file, or of a directory above it. It is empty
// if there is none.
func (at place) findUntracked(path string, tracked map[string]bool) (found string, err error) {
	for i, c := range path {
		if c != '/' {
			continue
		}
		info, err := os.Lstat(at.fileAt(path[:i]))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() && tracked[path[:i]] {
			return "", nil
		}
		if err != nil || !info.IsDir() {
			return path[:i], err
		}
	}
	err = filepath.WalkDir(at.fileAt(path), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(at.root, name)
		if below = filepath.ToSlash(below); err == nil && !tracked[below] {
			found, err = below, fs.SkipAll
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return found, err
}

// fileAt returns the path of a file of the work tree.
func (at place) fileAt(name string) string { return filepath.Join(at.root, filepath.FromSlash(name)) }
