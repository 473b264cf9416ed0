package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/checkout"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// checkoutTimeout bounds the writing of all files of a repository.
const checkoutTimeout = 10 * time.Minute

// Sync makes the tracked files of the work tree exactly the files that commit has, and removes
// untracked files that no .gitignore covers. Correct files and ignored files stay as they are. Sync
// does not follow leftovers of checks: it removes a symbolic link in the place of a directory and
// does not write through it. It makes a work tree again that cannot be brought to commit. Content
// filters, such as Git LFS, do not run: such files hold their pointers.
//
// Sync makes the work tree's own repository again each time: HEAD is on a branch of the run's name
// at commit, and the user's branches and tags are copied.
func (w *Workspace) Sync(ctx context.Context, commit run.Commit) error {
	if !git.ID(commit).Valid() {
		return fmt.Errorf("sync work tree: commit %q: not a full commit id", string(commit))
	}
	held, err := w.lockForChange(ctx)
	if err == nil {
		defer w.unlock(held)
		err = w.syncLocked(ctx, held, commit)
	}
	if err != nil {
		return fmt.Errorf("sync work tree to %s: %w", commit, err)
	}
	return nil
}

// syncLocked brings the files of the work tree to commit, and makes its repository again.
func (w *Workspace) syncLocked(ctx context.Context, held *os.File, commit run.Commit) error {
	failpoint.Hit("workspace.before-sync")
	err := w.checkoutTree(ctx, held, commit)
	if err == nil || ctx.Err() != nil || errors.Is(err, git.ErrObject) {
		return err
	}
	if err := w.eraseAll(); err != nil {
		return err
	}
	return w.checkoutTree(ctx, held, commit)
}

// checkoutTree brings the work tree to commit with an index that only we use. A check's git cannot
// mislead us through its own index.
func (w *Workspace) checkoutTree(ctx context.Context, held *os.File, commit run.Commit) error {
	shadow, err := w.openShadow(commit)
	if err != nil {
		return err
	}
	root, fresh, err := w.openWorkTree(shadow)
	if err != nil {
		return err
	}
	defer root.Close()
	shadow.Keep, shadow.Timeout = held, checkoutTimeout
	if err := os.RemoveAll(shadow.Index + ".lock"); err != nil { // left by a killed git: we have the lock
		return err
	}
	if fresh { // nothing can be in the way
		err = writeFiles(ctx, shadow, commit)
	} else {
		err = restoreFiles(ctx, shadow, root, commit)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("workspace.before-repository")
	if err := w.makeRepository(ctx, root, commit); err != nil {
		return err
	}
	failpoint.Hit("workspace.after-sync")
	return nil
}

// openShadow makes our own git directory for the work tree, with commit as its HEAD.
func (w *Workspace) openShadow(commit run.Commit) (git.Repo, error) {
	if _, err := makeDirectory(w.shadowPath()); err != nil {
		return git.Repo{}, err
	}
	return git.Shadow(w.shadowPath(), w.repo.GitDir, w.spec.Dir, git.ID(commit), checkout.Excludes(w.repo.GitDir))
}

// openWorkTree opens the top of the work tree, and makes it where it is missing. fresh reports that no file
// was ever written there.
func (w *Workspace) openWorkTree(shadow git.Repo) (top *os.Root, fresh bool, err error) {
	made, err := makeDirectory(w.spec.Dir)
	if err != nil {
		return nil, false, err
	}
	_, err = os.Lstat(shadow.Index)
	fresh = made && errors.Is(err, os.ErrNotExist)
	parent, err := os.OpenRoot(filepath.Dir(w.spec.Dir))
	if err != nil {
		return nil, false, err
	}
	defer parent.Close()
	top, err = parent.OpenRoot(filepath.Base(w.spec.Dir))
	return top, fresh, err
}

// makeDirectory makes a directory where none is there, and removes anything else in its place.
func makeDirectory(path string) (made bool, err error) {
	if fi, err := os.Lstat(path); err == nil && !fi.IsDir() {
		if err := os.Remove(path); err != nil {
			return false, err
		}
	}
	err = os.Mkdir(path, 0o755)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// makeRepository makes the repository that a check's git finds in the work tree. It makes it aside and
// puts it in the place of the old one.
func (w *Workspace) makeRepository(ctx context.Context, root *os.Root, commit run.Commit) error {
	fresh := filepath.Join(w.shadowPath(), "repository")
	if err := os.RemoveAll(fresh); err != nil { // left by a killed worker
		return err
	}
	err := checkout.Repository{
		Common: w.repo.GitDir, Commit: git.ID(commit),
		Index: filepath.Join(w.shadowPath(), "index"), Branch: w.ref, Refs: true,
	}.Make(ctx, fresh)
	if err != nil {
		return err
	}
	failpoint.Hit("workspace.mid-repository")
	if err := git.RemoveAll(root, ".git"); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(w.spec.Dir, ".git"))
}

// writeFiles writes the files of commit, and an index of them.
func writeFiles(ctx context.Context, shadow git.Repo, commit run.Commit) error {
	_, err := shadow.Run(ctx, "read-tree", "--reset", "-u", string(commit))
	if err == nil {
		failpoint.Hit("workspace.mid-sync")
	}
	return err
}

// restoreFiles writes the files of commit and checks the result. It repeats this where something was in
// the way.
func restoreFiles(ctx context.Context, shadow git.Repo, root *os.Root, commit run.Commit) error {
	for try := range 3 {
		if err := writeFiles(ctx, shadow, commit); err != nil {
			return err
		}
		found, err := findStrays(ctx, shadow)
		if err != nil {
			return err
		}
		for _, path := range found.untracked {
			if err := git.RemoveAll(root, path); err != nil {
				return err
			}
		}
		if found.areAccepted(root, try) {
			return nil
		}
		for _, path := range found.changed {
			if err := unblockPath(root, path); err != nil {
				return err
			}
		}
	}
	return errors.New("the files differ from the commit even after git wrote them")
}

// strays holds the files in which a work tree differs from its commit.
type strays struct {
	untracked []string
	changed   []string
}

// areAccepted reports whether nothing is left to do. Git may count a file that it has just written as
// changed, because its line ends do not fit its own attributes. In the second round such a file is
// accepted as git wrote it.
func (s strays) areAccepted(root *os.Root, try int) bool {
	for _, path := range s.changed {
		if try == 0 || !isPlainFile(root, path) {
			return false
		}
	}
	return true
}

// findStrays asks git for the strays. The shadow's HEAD is the commit.
func findStrays(ctx context.Context, shadow git.Repo) (strays, error) {
	out, err := shadow.Run(ctx, "status", "-z", "--porcelain=v1", "--untracked-files=normal",
		"--ignore-submodules=all", "--no-renames")
	if err != nil {
		return strays{}, err
	}
	var s strays
	for record := range strings.SplitSeq(string(out), "\x00") {
		if len(record) < 4 {
			continue
		}
		path := strings.TrimSuffix(record[3:], "/")
		if record[:2] == "??" {
			s.untracked = append(s.untracked, path)
		} else {
			s.changed = append(s.changed, path)
		}
	}
	return s, nil
}

// isPlainFile reports whether path is a regular file or a symbolic link, and every parent a directory.
func isPlainFile(root *os.Root, path string) bool {
	blocker, fi := walkTowards(root, path)
	return blocker == path && fi != nil && !fi.IsDir()
}

// unblockPath removes the thing that keeps git from writing path: path itself, or the first parent that
// is not a directory.
func unblockPath(root *os.Root, path string) error {
	blocker, _ := walkTowards(root, path)
	return git.RemoveAll(root, blocker)
}

// walkTowards descends towards path as far as there are directories. It returns the path where it ended
// and the file info there, which is nil when nothing is there.
func walkTowards(root *os.Root, path string) (string, os.FileInfo) {
	for i := 0; ; i++ {
		next := strings.IndexByte(path[i:], '/')
		if next < 0 {
			fi, _ := root.Lstat(path)
			return path, fi
		}
		i += next
		if fi, err := root.Lstat(path[:i]); err != nil || !fi.IsDir() {
			return path[:i], fi
		}
	}
}
