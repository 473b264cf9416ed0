package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// standing is the state of the name of the run's branch.
type standing struct {
	commit   run.Commit // empty: none
	to       string     // the reference that the branch is another name of; empty: it is a branch of its own
	odd      string     // describes a thing in place of its file; empty: a file, or nothing
	blocking []ref      // their names exclude the name of the branch
}

type ref struct {
	name string
	id   git.ID
}

func (r ref) String() string { return fmt.Sprintf("%s (%s)", r.name, r.id) }

func (s standing) isPlain() bool { return s.to == "" && s.odd == "" }

func (s standing) isNowhere() bool { return s.commit == "" && s.isPlain() && len(s.blocking) == 0 }

// isAt reports whether the name is a branch of its own that stands at c.
func (s standing) isAt(c run.Commit) bool { return s.isPlain() && s.commit == c }

// sameAs reports whether the branch is unchanged since s was read.
func (s standing) sameAs(now standing) bool {
	return s.commit == now.commit && s.to == now.to && s.odd == now.odd
}

// inWords describes the standing for people.
func (s standing) inWords() string {
	switch {
	case s.odd != "":
		return s.odd + " was in its place"
	case s.to != "":
		return "it was another name of " + s.to
	case len(s.blocking) > 0:
		return fmt.Sprintf("it was missing, and %v was in its way", s.blocking)
	case s.commit == "":
		return "it was missing"
	}
	return "it was moved"
}

// readStanding reads the state of the branch's name, without following it.
func (w *Workspace) readStanding(ctx context.Context) (at standing, err error) {
	fi, err := os.Lstat(w.branchFile(""))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
	case err != nil:
		return at, err
	case fi.Mode()&fs.ModeSymlink != 0: // git would follow it
		return standing{odd: "a symbolic link"}, nil
	case !fi.Mode().IsRegular() && !fi.IsDir(): // git would wait for the writer of a pipe
		return standing{odd: "a special file"}, nil
	}
	if at, err = w.listRefs(ctx); err != nil || at.commit != "" || fi == nil || fi.IsDir() {
		return at, err
	}
	out, err := w.repo.Run(ctx, "symbolic-ref", "-q", w.ref) // for-each-ref does not list one that leads nowhere
	if at.to = strings.TrimSpace(string(out)); git.ExitCode(err) > 0 {
		err = nil
	}
	return at, err
}

// branchFile returns the path of the branch's file, or of the file beside it that has the suffix.
func (w *Workspace) branchFile(suffix string) string {
	return filepath.Join(w.repo.GitDir, filepath.FromSlash(w.ref)+suffix)
}

// listRefs returns the standing as far as git's list of references tells it.
func (w *Workspace) listRefs(ctx context.Context) (at standing, err error) {
	parent := path.Dir(w.ref)
	alone := parent[:len(parent)-1] + `\` + parent[len(parent)-1:] // as a pattern, it does not match the names below it
	out, err := w.repo.Run(ctx, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", w.ref, alone)
	if err != nil {
		return at, err
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(f) != 3 {
			return at, fmt.Errorf("git for-each-ref: unexpected line %q", line)
		}
		r := ref{f[0], git.ID(f[1])}
		switch {
		case r.name == w.ref:
			at.commit, at.to = run.Commit(r.id), f[2]
		case r.name == parent || strings.HasPrefix(r.name, w.ref+"/"):
			at.blocking = append(at.blocking, r)
		}
	}
	return at, nil
}

func zeroCommit(like run.Commit) run.Commit { return run.Commit(git.ID(like).Zero()) }

// swapBranch moves the branch in one step from the place where it was seen to another commit, and only if
// it is still there. swap also succeeds when the branch is at that commit already. The error
// matches ErrMoved when the branch is anywhere else. The caller holds the lock.
func (w *Workspace) swapBranch(ctx context.Context, held *os.File, from standing, to run.Commit) error {
	for {
		cause := w.updateRef(ctx, held, cmp.Or(from.commit, zeroCommit(to)), to)
		if cause == nil {
			return nil
		}
		now, err := w.readStanding(ctx)
		switch {
		case err != nil:
			return errors.Join(cause, err)
		case now.isAt(to):
			return nil
		case !now.sameAs(from):
			return w.movedError(now, cmp.Or(from.commit, to))
		}
		if freed, err := w.freeRef(); !freed {
			return errors.Join(cause, err)
		}
	}
}

// updateRef moves the branch itself. When the branch is another name of a reference, that reference
// stays as it is.
func (w *Workspace) updateRef(ctx context.Context, held *os.File, old, new run.Commit) error {
	log := filepath.Join(w.repo.GitDir, "logs", filepath.FromSlash(w.ref))
	if fi, err := os.Lstat(log); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		if err := os.Remove(log); err != nil { // git would write to the file that it leads to
			return err
		}
	}
	repo := w.repo
	repo.Keep = held
	return repo.UpdateRef(ctx, git.RefMove{Name: w.ref, Old: git.ID(old), New: git.ID(new), Message: "ratchet"})
}

// freeRef removes git's lock on the branch if it is as old as the time that git waits for one: a killed git has left it. The
// workspace's own lock keeps Ratchet out. It returns false when there is no such lock.
func (w *Workspace) freeRef() (bool, error) {
	name := w.branchFile(".lock")
	fi, err := os.Lstat(name)
	if err != nil || time.Since(fi.ModTime()) < git.LockPatience {
		return false, nil
	}
	return true, os.RemoveAll(name)
}
