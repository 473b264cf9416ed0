package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unregisterWorkTree ends the registration of the work tree in the user's repository: it removes the directory
// there by which versions up to v0.2 registered it with git.
func (w *Workspace) unregisterWorkTree() error {
	admins := filepath.Join(w.repo.GitDir, "worktrees")
	entries, err := os.ReadDir(admins)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ours := "ratchet-" + string(w.spec.RunID)
	for _, e := range entries {
		admin := filepath.Join(admins, e.Name())
		if e.Name() != ours && !w.ownsAdmin(admin) {
			continue
		}
		err := os.Rename(admin, w.asidePath("old")) // git sees all of it or nothing
		if err == nil {
			err = os.RemoveAll(w.asidePath("old"))
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(w.asidePath("new")), os.RemoveAll(w.asidePath("old")))
}

// asidePath returns a path out of git's sight, where git's directory for the work tree was made and is
// removed.
func (w *Workspace) asidePath(state string) string {
	return filepath.Join(w.repo.GitDir, "ratchet-"+string(w.spec.RunID)+"."+state)
}

// ownsAdmin reports whether git's directory admin belongs to the workspace's work tree.
func (w *Workspace) ownsAdmin(admin string) bool {
	back := readSmallFile(filepath.Join(admin, "gitdir"))
	if back != "" && !filepath.IsAbs(back) {
		back = filepath.Join(admin, back)
	}
	return back != "" && filepath.Clean(back) == filepath.Join(w.spec.Dir, ".git")
}

// readSmallFile returns the text of a small regular file without its final line feeds. It returns the empty
// string for anything else.
func readSmallFile(name string) string {
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 8<<10 {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(b), "\n")
}
