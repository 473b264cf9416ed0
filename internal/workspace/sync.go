package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// checkoutTimeout bounds the writing of all files of a repository.
const checkoutTimeout = 10 * time.Minute

// Sync makes the tracked files of the work tree those of commit, exactly, and
// removes untracked files that no .gitignore covers. What checks left there is
// not followed: a symbolic link in the place of a directory is removed, not written through. A
// work tree that cannot be brought there is made anew. Content filters, such
// as those of Git LFS, do not run: such files are their pointers.
func (w *Workspace) Sync(ctx context.Context, commit run.Commit) error {
	if !git.ID(commit).Valid() {
		return fmt.Errorf("sync work tree: commit %q: not a full commit id", string(commit))
	}
	held, err := w.enter(ctx)
	if err == nil {
		defer held.Close()
		err = w.sync(ctx, held, commit)
	}
	if err != nil {
		return fmt.Errorf("sync work tree to %s: %w", commit, err)
	}
	return nil
}

func (w *Workspace) sync(ctx context.Context, held *os.File, commit run.Commit) error {
	failpoint.Hit("workspace.before-sync")
	if admin := w.admin(); admin != "" {
		err := w.checkout(ctx, held, admin, commit)
		if err == nil || ctx.Err() != nil || errors.Is(err, git.ErrObject) {
			return err
		}
	}
	admin, err := w.remake(ctx)
	if err != nil {
		return err
	}
	return w.checkout(ctx, held, admin, commit)
}

// checkout brings the work tree to commit with an index that only we use: what
// a check's git did to its own cannot mislead us.
func (w *Workspace) checkout(ctx context.Context, held *os.File, admin string, commit run.Commit) error {
	exclude := "core.excludesFile=" + filepath.Join(w.repo.GitDir, "info", "exclude")
	shadow, err := git.Shadow(filepath.Join(admin, "ratchet"), w.repo.GitDir, w.spec.Dir, git.ID(commit), exclude)
	if err != nil {
		return err
	}
	shadow.Keep, shadow.Timeout = held, checkoutTimeout
	if err := os.RemoveAll(shadow.Index + ".lock"); err != nil { // of a git that was killed: we have the lock
		return err
	}
	root, err := os.OpenRoot(w.spec.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := settle(ctx, shadow, root, commit); err != nil {
		return err
	}
	failpoint.Hit("workspace.before-index")
	if err := publish(shadow.Index, filepath.Join(admin, "index")); err != nil {
		return err
	}
	failpoint.Hit("workspace.after-sync")
	return nil
}

// settle writes the files of commit and looks at what came of it, again where
// something was in the way.
func settle(ctx context.Context, shadow git.Repo, root *os.Root, commit run.Commit) error {
	for try := range 3 {
		if _, err := shadow.Run(ctx, "read-tree", "--reset", "-u", string(commit)); err != nil {
			return err
		}
		failpoint.Hit("workspace.mid-sync")
		found, err := look(ctx, shadow)
		if err != nil {
			return err
		}
		for _, path := range found.untracked {
			if err := git.RemoveAll(root, path); err != nil {
				return err
			}
		}
		if found.settled(root, try) {
			return nil
		}
		for _, path := range found.changed {
			if err := unblock(root, path); err != nil {
				return err
			}
		}
	}
	return errors.New("files do not become those of the commit")
}

// strays are the files by which a work tree is not its commit.
type strays struct {
	untracked []string
	changed   []string
}

// settled says whether nothing is left to be done. A file that git has just written
// may count as changed for git: its line ends do not fit its own attributes. The
// second time round such a file is what git makes of it.
func (s strays) settled(root *os.Root, try int) bool {
	for _, path := range s.changed {
		if try == 0 || !plain(root, path) {
			return false
		}
	}
	return true
}

// look asks git; the shadow's HEAD is the commit.
func look(ctx context.Context, shadow git.Repo) (strays, error) {
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

// plain says whether path is a regular file or a symbolic link, and every parent a directory.
func plain(root *os.Root, path string) bool {
	blocker, fi := walk(root, path)
	return blocker == path && fi != nil && !fi.IsDir()
}

// unblock removes what keeps git from writing path: path itself, or the first
// parent that is no directory.
func unblock(root *os.Root, path string) error {
	blocker, _ := walk(root, path)
	return git.RemoveAll(root, blocker)
}

// walk goes down to path as far as there are directories, and returns where it ended
// and what is there: nil when nothing is.
func walk(root *os.Root, path string) (string, os.FileInfo) {
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

// publish copies our index to where the git of a check finds it, so that it sees the work
// tree as clean, and removes a lock that was left there. An index that still is our copy stays.
func publish(from, to string) error {
	if err := os.RemoveAll(to + ".lock"); err != nil {
		return err
	}
	fi, err := os.Stat(from)
	if err != nil {
		return err
	}
	if old, err := os.Lstat(to); err == nil && old.Mode().IsRegular() && old.Size() == fi.Size() && old.ModTime().Equal(fi.ModTime()) {
		return nil
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.CreateTemp(filepath.Dir(to), "index.*")
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	err = errors.Join(err, dst.Close())
	if err == nil { // git tells from the index's time which of its entries to trust
		err = os.Chtimes(dst.Name(), fi.ModTime(), fi.ModTime())
	}
	if err == nil {
		err = os.Rename(dst.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(dst.Name()))
	}
	return nil
}
