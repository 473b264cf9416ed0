package merge

import (
	"context"
	"fmt"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/git"
)

// explainHidden returns the error about the changed file for which git has refused, if the user has told git not to look
// for its changes: `git status` is clean then. It returns nil for any other complaint.
func (at place) explainHidden(ctx context.Context, complaint string) error {
	_, rest, _ := strings.Cut(complaint, "Entry '")
	path, _, found := strings.Cut(rest, "' not uptodate. Cannot merge.")
	if !found {
		return nil
	}
	var looks []string
	for _, flag := range at.hidingFlags(ctx, path) {
		looks = append(looks, "`"+shellquote.Join("git", "-C", at.root, "update-index", "--no-"+flag, "--", path)+"`")
	}
	if looks == nil {
		return nil
	}
	return fmt.Errorf("%q is changed in the work tree %s, though `git status` does not look at it: run %s, commit or stash the change, then merge again", path, at.root, strings.Join(looks, " and "))
}

// hidingFlags returns the flags of update-index that have git not look at a file of the work tree.
func (at place) hidingFlags(ctx context.Context, path string) (flags []string) {
	out, err := git.Repo{Dir: at.root, GitDir: at.gitDir, WorkTree: at.root}.Run(ctx, "ls-files", "-v", "-z", "--", path)
	if err != nil || len(out) == 0 {
		return nil
	}
	tag := string(out[:1])
	if strings.ToLower(tag) == tag {
		flags = append(flags, "assume-unchanged")
	}
	if strings.EqualFold(tag, "s") {
		flags = append(flags, "skip-worktree")
	}
	return flags
}
