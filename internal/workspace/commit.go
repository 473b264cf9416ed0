package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ErrNoChange reports a change that leaves every file as it is.
var ErrNoChange = errors.New("the patch changes nothing")

// ErrPlan reports a change that was planned on a commit other than its parent.
var ErrPlan = errors.New("the patch was planned on another commit")

// CommitInput describes one commit. The same input makes the same commit, on every worker and every
// time.
type CommitInput struct {
	Base    run.Commit    // the parent; Change was planned on it
	Change  *patch.Change // its paths are relative to Prefix
	Message string        // its last paragraph holds the trailers that identify the commit
	Time    time.Time     // of the author and the committer; fixed by the caller, to the second
}

// Commit puts a change on the branch, which should be at Base, and returns the commit. A branch
// that is at the commit already is as good, and so is one at a commit that differs only in its author,
// committer and times: Commit returns that commit then. A branch anywhere else was moved from
// outside: nothing changes, and the error matches ErrMoved.
//
// The error matches *git.InUseError when a work tree of the user's uses the branch.
// Commit does not touch the work tree of the workspace: Sync follows.
func (w *Workspace) Commit(ctx context.Context, in CommitInput) (run.Commit, error) {
	pack := git.NewPack(git.ID(in.Base))
	planned, err := w.packCommit(ctx, pack, in)
	commit := planned.id
	if err == nil {
		commit, err = w.landCommit(ctx, pack, in, planned)
	}
	if err != nil {
		return "", fmt.Errorf("commit on %s: %w", in.Base, err)
	}
	return commit, nil
}

// Store makes the commit on no branch, and returns it. Once no branch needs its objects, git collects them as garbage.
func (w *Workspace) Store(ctx context.Context, in CommitInput) (run.Commit, error) {
	pack := git.NewPack(git.ID(in.Base))
	planned, err := w.packCommit(ctx, pack, in)
	if err == nil {
		err = w.repo.Store(ctx, pack)
	}
	if err != nil {
		return "", fmt.Errorf("commit on %s: %w", in.Base, err)
	}
	return planned.id, nil
}

// planned is a commit that is not on the branch yet.
type planned struct {
	id   run.Commit
	tree git.ID
}

// packCommit collects the objects of the commit. It writes nothing.
func (w *Workspace) packCommit(ctx context.Context, pack *git.Pack, in CommitInput) (planned, error) {
	if !git.ID(in.Base).Valid() {
		return planned{}, errors.New("base is not a full commit id")
	}
	if in.Change == nil || len(in.Change.Files) == 0 {
		return planned{}, ErrNoChange
	}
	s := newStore(w.objects)
	base, err := s.rootOf(ctx, in.Base)
	if err != nil {
		return planned{}, err
	}
	top, err := planEdits(pack, base, w.spec.Prefix, in.Change)
	if err != nil {
		return planned{}, err
	}
	root, err := rewriter{s, pack}.rewriteTree(ctx, "", base, top)
	switch {
	case err != nil:
		return planned{}, err
	case root == base:
		return planned{}, ErrNoChange
	case root == "":
		root = pack.Add(git.Tree, nil)
	}
	text, err := commitText(root, in)
	if err != nil {
		return planned{}, err
	}
	return planned{run.Commit(pack.Add(git.Commit, text)), root}, nil
}

func commitText(tree git.ID, in CommitInput) ([]byte, error) {
	message := strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(in.Message, "\uFFFD"), "\x00", ""))
	if message == "" {
		return nil, errors.New("the message is empty")
	}
	if in.Time.Unix() <= 0 {
		return nil, errors.New("the time is not set")
	}
	who := fmt.Sprintf("%s <%s> %d +0000", git.Name, git.Email, in.Time.Unix())
	return fmt.Appendf(nil, "tree %s\nparent %s\nauthor %s\ncommitter %s\n\n%s\n", tree, in.Base, who, who, message), nil
}

// landCommit stores the objects and moves the branch. The change takes place in that one moment.
func (w *Workspace) landCommit(ctx context.Context, pack *git.Pack, in CommitInput, p planned) (run.Commit, error) {
	held, err := w.lockForChange(ctx)
	if err != nil {
		return "", err
	}
	defer w.unlock(held)
	failpoint.Hit("workspace.before-objects")
	if err := w.repo.Store(ctx, pack); err != nil {
		return "", err
	}
	failpoint.Hit("workspace.after-objects")
	at, err := w.readStanding(ctx)
	switch {
	case err != nil:
		return "", err
	case at.isAt(p.id):
		return p.id, nil
	case at.isAt(in.Base):
		return p.id, w.advanceBranch(ctx, held, at, p.id)
	}
	same, err := w.isAdopted(ctx, at, in, p)
	if err == nil && !same {
		err = w.movedError(at, in.Base)
	}
	return at.commit, err
}

// advanceBranch moves the branch from the base to a commit.
func (w *Workspace) advanceBranch(ctx context.Context, held *os.File, at standing, to run.Commit) error {
	if err := w.repo.CheckUnused(ctx, w.ref); err != nil {
		return err
	}
	failpoint.Hit("workspace.before-update-ref")
	if err := w.swapBranch(ctx, held, at, to); err != nil {
		return err
	}
	failpoint.Hit("workspace.after-update-ref")
	return nil
}
