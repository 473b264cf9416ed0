package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// workName is the directory in the shared git directory in which one merge at a time works. It holds the lock, git's
// own files of the merge, and the note of a swap. A merge that ends removes it. A merge that is killed leaves it, and
// the next one clears it.
const workName = "ratchet-merge"

// workPatience is how long a merge waits for another one into the same repository to make its commits or to move its
// branch. Checks run without the lock.
const workPatience = 10 * time.Second

// work is the directory while this process has its lock.
type work struct {
	dir  string
	lock *os.File // open in every git of the merge: a git that outlives this process keeps the lock
}

// lockWork takes the lock, and makes an empty directory for git's own files.
func (at place) lockWork(ctx context.Context) (work, error) {
	w := work{dir: filepath.Join(at.common, workName)}
	waiting, cancel := context.WithTimeout(ctx, workPatience)
	defer cancel()
	for w.lock == nil {
		if err := w.makeDir(); err != nil {
			return w, err
		}
		lock, err := git.Lock(waiting, filepath.Join(w.dir, "lock"))
		switch {
		case errors.Is(err, fs.ErrNotExist): // the merge before has just removed the directory
		case waiting.Err() != nil && ctx.Err() == nil:
			return w, errors.New("another merge into this repository is under way: wait for its end, then merge again")
		case err != nil:
			return w, err
		default:
			w.lock = lock
		}
	}
	err := os.RemoveAll(w.scratch())
	if err == nil {
		err = os.MkdirAll(w.tree(), 0o700)
	}
	if err != nil {
		w.close()
	}
	return w, err
}

// makeDir makes the directory. A link in its place came with the repository, and may lead to any files.
func (w work) makeDir() error {
	err := os.Mkdir(w.dir, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(w.dir)
	if errors.Is(err, fs.ErrNotExist) { // the merge before has just removed it
		return nil
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory that a merge has made: look at it, then remove it", w.dir)
	}
	return err
}

func (w work) scratch() string  { return filepath.Join(w.dir, "scratch") }
func (w work) tree() string     { return filepath.Join(w.scratch(), "tree") } // stays empty
func (w work) notePath() string { return filepath.Join(w.dir, "swap.json") }

// close removes git's own files and gives the lock back. The directory stays if it holds a note.
func (w work) close() {
	_ = os.RemoveAll(w.scratch())
	if _, err := os.Lstat(w.notePath()); errors.Is(err, fs.ErrNotExist) {
		_ = git.RemoveLock(w.lock)
		_ = os.Remove(w.dir)
	}
	_ = w.lock.Close()
}

// shadow returns a git over the user's objects, with nothing of the user's configuration but extra.
func (w work) shadow(at place, tree string, head git.ID, extra ...string) (git.Repo, error) {
	s, err := git.Shadow(filepath.Join(w.scratch(), "git"), at.common, tree, head, extra...)
	s.Keep = w.lock
	if err != nil {
		err = fmt.Errorf("prepare git's files for the merge: %w", err)
	}
	return s, err
}
