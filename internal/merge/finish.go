package merge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// swap is the note of a branch that moves while a work tree has it checked out. It is on disk before the branch moves,
// and is removed when index and files match the new commit.
type swap struct {
	Ref  string     `json:"ref"`
	From run.Commit `json:"from"`
	To   run.Commit `json:"to"`
	Root string     `json:"root"` // of the work tree
}

const maxNote = 64 << 10

func (w work) keepNote(s swap) error {
	b, err := json.Marshal(s)
	if err == nil {
		err = file.Replace(w.notePath(), b)
	}
	if err != nil {
		return fmt.Errorf("note the merge: %w", err)
	}
	return nil
}

// checkFinished refuses another merge while the work tree of one that was cut off is behind: its note would be lost.
func (w work) checkFinished() error {
	_, noted, err := w.readNote()
	if err == nil && noted {
		err = ErrCutOff
	}
	return err
}

func (w work) removeNote() error {
	if err := os.Remove(w.notePath()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readNote returns the note; ok is false if there is none.
func (w work) readNote() (s swap, ok bool, err error) {
	b, err := file.Read(w.notePath(), maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err == nil && !git.ID(s.From).Valid() { // it might be an option
		err = fmt.Errorf("%.80q is no commit", s.From)
	}
	if err != nil {
		return s, false, fmt.Errorf("read the note of a merge that was cut off: %w: look at the work tree, then remove %s", err, w.notePath())
	}
	return s, true, nil
}

// Finish brings up the work tree of a merge that was killed after it had moved the branch. It changes nothing if there
// is none, or if the branch is elsewhere by now. A second call does nothing.
func Finish(ctx context.Context, repository string) error {
	at, err := locateRepository(ctx, repository)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(at.common, workName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w, err := at.lockWork(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	note, ok, err := w.readNote()
	if err != nil || !ok {
		return err
	}
	ctx = context.WithoutCancel(ctx) // an interrupt would leave files half-way
	tree, ok, err := at.findBehind(ctx, w, note)
	if err == nil && ok {
		if err := tree.completeTree(ctx, w, note); err != nil {
			return note.explain(err)
		}
	}
	if err != nil {
		return err
	}
	return w.removeNote()
}

// explain says why the files of a merge that was cut off cannot be written, and what to do. A commit of the user's that
// began before the branch moved would take the run's changes back.
func (s swap) explain(why error) error {
	branch := strings.TrimPrefix(s.Ref, "refs/heads/")
	if busy, ok := errors.AsType[*busyError](why); ok {
		return fmt.Errorf("a merge was cut off after it had moved %s to %.12s, and the work tree %s has %s: if `git diff --cached` shows the run's changes taken back, do not commit, "+
			"but put the branch back there with `git update-ref HEAD %s %s`; finish it then, and merge again", branch, s.To, busy.root, busy.what, s.From, s.To)
	}
	return fmt.Errorf("a merge was cut off after it had moved %s to %.12s, and its files cannot be written: %w; "+
		"for a file that you have changed since, keep your copy elsewhere, `git checkout %.12s -- FILE`, and merge again", branch, s.To, why, s.From)
}

// findBehind returns the work tree of the note. Ok is false unless it belongs to the repository, has the branch checked
// out, and the branch is where the merge has moved it. A note may lie in a repository that came from elsewhere, and name
// any directory.
func (at place) findBehind(ctx context.Context, w work, note swap) (tree place, ok bool, err error) {
	if _, err := os.Stat(note.Root); errors.Is(err, fs.ErrNotExist) { // the work tree was removed
		return tree, false, nil
	}
	tree, err = locateRepository(ctx, note.Root)
	if git.ExitCode(err) == 128 { // the directory is in no repository
		return tree, false, nil
	}
	if err != nil || tree.common != at.common || tree.root != note.Root {
		return tree, false, err
	}
	tree.repo.Keep = w.lock
	branch, err := tree.headBranch(ctx)
	if err != nil || "refs/heads/"+branch != note.Ref {
		return tree, false, err
	}
	tip, err := tree.repo.Run(ctx, "rev-parse", "--verify", "-q", note.Ref)
	if git.ExitCode(err) == 1 {
		return tree, false, nil
	}
	return tree, strings.TrimSpace(string(tip)) == string(note.To), err
}

// completeTree brings index and files to the new commit, though a git may have been killed while it wrote them. Files
// that are new already get their new entry in the index first: git leaves them, and refuses to write those that the
// user has changed since.
func (at place) completeTree(ctx context.Context, w work, note swap) error {
	s, err := at.treeGit(ctx, w, note.To)
	if err != nil {
		return err
	}
	changed, err := at.changedFiles(ctx, note.From, note.To)
	if err != nil {
		return err
	}
	done, err := at.filesAt(ctx, w, note.To, changed)
	if err == nil {
		err = at.checkUntracked(changed, done)
	}
	if err != nil {
		return err
	}
	var entries bytes.Buffer
	for _, f := range done {
		fmt.Fprintf(&entries, "%s %s\t%s\x00", f.mode, f.id, f.path)
	}
	if err := s.Do(ctx, git.Command{Args: []string{"update-index", "-z", "--index-info"}, Stdin: &entries}); err != nil {
		return at.explainTree(ctx, err, note.To)
	}
	_, err = at.writeTree(ctx, s, note.From, note.To)
	return err
}

// filesAt returns the files that the work tree has as the commit has them.
func (at place) filesAt(ctx context.Context, w work, commit run.Commit, of []changedFile) (same []changedFile, err error) {
	s, err := at.fileGit(ctx, w, commit)
	if err != nil {
		return nil, err
	}
	if _, err := s.Run(ctx, "read-tree", string(commit)); err != nil {
		return nil, err
	}
	if err := refreshIndex(ctx, s); err != nil {
		return nil, err
	}
	out, err := s.Run(ctx, "diff-files", "-z", "--name-only", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	differ := map[string]bool{}
	for path := range strings.SplitSeq(string(out), "\x00") {
		differ[path] = true
	}
	for _, f := range of {
		_, err := os.Lstat(at.fileAt(f.path))
		if gone := errors.Is(err, fs.ErrNotExist); f.mode == goneMode && gone || f.mode != goneMode && !gone && !differ[f.path] {
			same = append(same, f)
		}
	}
	return same, nil
}
