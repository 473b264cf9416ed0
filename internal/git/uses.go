package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// InUseError reports a branch that a work tree has checked out, rebases or bisects. Git refuses to move such a branch, and
// may set it when the use ends.
type InUseError struct {
	Branch string // short name
	Tree   string // the top of the work tree
	Gone   bool   // Tree does not exist, and git still lists it
	Repo   string // lists it
}

func (e *InUseError) Error() string {
	text := fmt.Sprintf("branch %s is checked out at %s: ", e.Branch, e.Tree)
	if e.Gone {
		return text + fmt.Sprintf("that directory does not exist; if you removed it, run `git worktree prune` in %s", e.Repo)
	}
	return text + "switch that work tree to another branch, and end a rebase or bisection there"
}

const branches = "refs/heads/"

// noObject names no object.
const noObject = ".."

// CheckUnused returns an *InUseError if a work tree of the repository uses the branch ref. It asks git to move the branch to
// no object: git looks for the use first, and moves nothing.
func (r Repo) CheckUnused(ctx context.Context, ref string) error {
	name := strings.TrimPrefix(ref, branches)
	_, err := r.Run(ctx, "branch", "--force", "--", name, noObject)
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.Exit != 128 {
		return err
	}
	_, how, used := strings.Cut(refused.Stderr, fmt.Sprintf("cannot force update the branch '%s' ", name))
	switch {
	case !used && strings.Contains(refused.Stderr, "'"+noObject+"'"): // git has come to the object
		return nil
	case !used:
		return err
	}
	_, tree, _ := strings.Cut(how, "'")
	tree = tree[:max(strings.LastIndexByte(tree, '\''), 0)]
	_, err = os.Stat(tree)
	return &InUseError{Branch: name, Tree: tree, Gone: errors.Is(err, fs.ErrNotExist), Repo: strings.TrimSuffix(r.GitDir, "/.git")}
}
