// Package checkouts knows the checkouts of runs' branches in the runs directory.
package checkouts

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// MergeChecks begins the id under which the checks of a run's merge run.
const MergeChecks = "merge-"

// Dir is the directory below the runs directory that has the checkouts of main.openRun, by the run's id.
const Dir = "checkouts"

// Of returns the checkout of a run, which need not be there.
func Of(c *factory.Factory, id run.ID, of run.Repository) (*scratch.Scratch, error) {
	dir, err := filepath.Abs(filepath.Join(c.RunsDir, Dir, string(id)))
	if err != nil {
		return nil, err
	}
	return scratch.Open(scratch.Spec{Repo: of.Path, Prefix: of.Prefix, Dir: dir})
}

// Changed reports whether a checkout has anything that a fresh checkout would lose: changed, ignored or staged files, or
// new commits, also on a branch that is not checked out.
func Changed(ctx context.Context, tree *scratch.Scratch) bool {
	commit, made := tree.Made()
	if !made {
		return false
	}
	if diff, err := tree.Changes(ctx, patch.Limits{}); err != nil || len(diff) > 0 {
		return true
	}
	own := git.Repo{Dir: tree.Top(), GitDir: filepath.Join(tree.Top(), ".git"), WorkTree: tree.Top()}
	if ignored, err := own.Run(ctx, "ls-files", "-z", "--others"); err != nil || len(ignored) > 0 {
		return true
	}
	if _, err := own.Run(ctx, "diff-index", "--cached", "--quiet", "--no-ext-diff", string(commit), "--"); err != nil {
		return true
	}
	commits, err := own.Run(ctx, "rev-parse", "HEAD", "--all")
	return err != nil || slices.ContainsFunc(strings.Fields(string(commits)), func(id string) bool { return id != string(commit) })
}
