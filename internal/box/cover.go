package box

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// coverSockets returns the covers of sockets, and of directories that may hold some, at each path by which the other
// mounts show them. One that is gone is passed over. A cover belongs to its socket alone: it stays there when a directory
// above is moved, and what a program puts beside it is no socket of the user.
func (r resolver) coverSockets(sockets []string, shown []mount) (covers []mount, err error) {
	seen := map[string]bool{}
	for _, path := range sockets {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return nil, fmt.Errorf("socket %s: not a clean absolute path", path)
		}
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() && info.Mode().Type() != fs.ModeSocket {
			continue
		}
		dir, dirErr := r.resolve(filepath.Dir(path))
		if err = errors.Join(err, dirErr); err != nil {
			return nil, fmt.Errorf("socket %s: %w", path, err)
		}
		kind := cover
		if info.IsDir() {
			kind = private
		}
		for _, at := range r.pathsOf(filepath.Join(dir, filepath.Base(path)), shown) {
			if !seen[at] && nearestMount(shown, at).showsFile() {
				seen[at], covers = true, append(covers, mount{kind: kind, to: at})
			}
		}
	}
	return covers, nil
}

// showsFile reports whether the mount shows a file of the host that is below its path.
func (m mount) showsFile() bool { return m.kind != private && m.kind != lent }

// coverRuns returns the covers of the directory of the runs. Directories of it can be mounts below them.
func (r resolver) coverRuns(runs string, shown []mount) (covers []mount) {
	if _, err := os.Lstat(runs); err != nil {
		return nil
	}
	for _, at := range r.pathsOf(runs, shown) {
		if !slices.ContainsFunc(covers, func(m mount) bool { return m.to == at }) {
			covers = append(covers, mount{kind: private, to: at})
		}
	}
	return covers
}

// checkApart refuses a mount that is the directory of the runs, or in it and in none of the directories own.
func (r resolver) checkApart(all []mount, runs string, own []string) error {
	if runs == "" {
		return nil
	}
	for _, m := range all {
		real, err := r.resolve(m.from)
		if err != nil || !isUnder(real, runs) {
			continue
		}
		isOwn := func(dir string) bool {
			at, err := r.resolve(dir)
			return err == nil && at != runs && isUnder(at, runs) && isUnder(real, at)
		}
		if !slices.ContainsFunc(own, isOwn) {
			return fmt.Errorf("%s: it is in the runs directory, where a program sees only its own part", m.to)
		}
	}
	return nil
}

// pathsOf returns the paths in the box of a file with its links resolved.
func (r resolver) pathsOf(real string, shown []mount) (paths []string) {
	for _, m := range shown {
		if top, err := r.resolve(m.to); err == nil && isUnder(real, top) {
			paths = append(paths, m.to+strings.TrimPrefix(real, top))
		}
	}
	return paths
}
