package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ErrNoChange is a change that leaves every file as it is.
var ErrNoChange = errors.New("the patch changes nothing")

// ErrPlan is a change that was not planned on the commit it is to follow.
var ErrPlan = errors.New("the patch was planned on another commit")

// CommitInput is one commit. The same input makes the same commit, whoever
// makes it and however often.
type CommitInput struct {
	Base    run.Commit    // the parent, which Change was planned on
	Change  *patch.Change // its paths are relative to Prefix
	Message string
	Time    time.Time // of the author and the committer; fixed by the caller, to the second
}

// Commit puts a change on the branch, which must be at Base, and returns the
// commit. A branch that is at that commit already is as good; one that is
// anywhere else is ErrMoved, and nothing changes. The work tree is not touched: Sync follows.
func (w *Workspace) Commit(ctx context.Context, in CommitInput) (run.Commit, error) {
	pack := git.NewPack(git.ID(in.Base))
	commit, err := w.pack(ctx, pack, in)
	if err == nil {
		err = w.land(ctx, pack, in.Base, commit)
	}
	if err != nil {
		return "", fmt.Errorf("commit on %s: %w", in.Base, err)
	}
	return commit, nil
}

// pack collects the objects of the commit and returns its id. Nothing is written.
func (w *Workspace) pack(ctx context.Context, pack *git.Pack, in CommitInput) (run.Commit, error) {
	if !git.ID(in.Base).Valid() {
		return "", errors.New("base is not a full commit id")
	}
	if in.Change == nil || len(in.Change.Files) == 0 {
		return "", ErrNoChange
	}
	s := newStore(w.objects)
	base, err := s.root(ctx, in.Base)
	if err != nil {
		return "", err
	}
	top, err := edits(pack, base, w.spec.Prefix, in.Change)
	if err != nil {
		return "", err
	}
	root, err := rewriter{s, pack}.tree(ctx, "", base, top)
	switch {
	case err != nil:
		return "", err
	case root == base:
		return "", ErrNoChange
	case root == "":
		root = pack.Add(git.Tree, nil)
	}
	text, err := commitText(root, in)
	if err != nil {
		return "", err
	}
	return run.Commit(pack.Add(git.Commit, text)), nil
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

// land stores the objects and moves the branch: the one moment in which the
// change takes place.
func (w *Workspace) land(ctx context.Context, pack *git.Pack, base, commit run.Commit) error {
	held, err := w.enter(ctx)
	if err != nil {
		return err
	}
	defer held.Close()
	failpoint.Hit("workspace.before-objects")
	if err := w.repo.Store(ctx, pack); err != nil {
		return err
	}
	failpoint.Hit("workspace.after-objects")
	failpoint.Hit("workspace.before-update-ref")
	if err := w.swap(ctx, held, base, commit); err != nil {
		return err
	}
	failpoint.Hit("workspace.after-update-ref")
	return nil
}
