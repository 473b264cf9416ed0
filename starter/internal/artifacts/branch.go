package artifacts

import (
	"context"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
)

// Diff is the output of `diff --json`.
type Diff struct {
	RunID    run.ID               `json:"runId"`
	Approval *run.PendingApproval `json:"approval,omitempty"` // nil: the diff is the branch's
	Base     run.Commit           `json:"base"`
	Head     run.Commit           `json:"head,omitempty"` // of the branch
	Whole    bool                 `json:"whole"`          // false: only the head of the patch is at hand
	Diff     string               `json:"diff"`
}

func BranchDiff(ctx context.Context, c *factory.Factory, r runref.Found, facts rundir.Facts) (Diff, error) {
	d := Diff{RunID: r.ID, Base: facts.Repository.Base, Head: facts.Head, Whole: true}
	if facts.Head == facts.Repository.Base {
		return d, nil
	}
	path, err := remote.Mirrors{Dir: rundir.Mirrors(c.RunsDir)}.Have(ctx, facts.Repository, facts.Branch, facts.Head)
	if err == nil {
		err = runref.CheckRepository(r, path)
	}
	if err != nil {
		return d, err
	}
	out, err := git.Repo{Dir: path}.Run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", string(facts.Repository.Base), string(facts.Head), "--")
	if err != nil {
		return d, fmt.Errorf("diff of branch %s in %s: %w", facts.Branch, path, err)
	}
	d.Diff = string(out)
	return d, nil
}
