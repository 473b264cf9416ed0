package activities

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/scratch"
)

// CheckOnce runs checks on the base commit of a repository as a run does: in a checkout of their own, in the
// box, over the same caches. It belongs to no run and leaves no record, but keeps its builds for later
// runs; see keepBuilt. It calls show with the current step. A second call runs the checks again, after it has removed
// what a killed call with the same run id has left; it waits for one that is in progress.
//
// It is a function, for workers serve every exported method of Activities: it removes the directory of the
// run that the input names.
func CheckOnce(ctx context.Context, a *Activities, in CheckInput, show func(doing string)) (_ check.Report, err error) {
	own := a.runs.Scratch(in.RunID)
	show("waits for checks of another process")
	lock, err := git.Lock(ctx, own+".lock")
	if err != nil {
		return check.Report{}, err
	}
	defer func() {
		err = errors.Join(err, git.RemoveTree(own), git.RemoveTree(a.runs.Run(in.RunID).Path()), git.RemoveLock(lock), lock.Close())
	}()
	if err := git.RemoveTree(own); err != nil {
		return check.Report{}, err
	}
	tree, err := scratch.Open(scratch.Spec{Repo: in.Repository.Path, Prefix: in.Repository.Prefix, Dir: filepath.Join(own, "checkout")})
	if err != nil {
		return check.Report{}, err
	}
	in.Commit = in.Repository.Base
	if err := tree.Make(ctx, in.Commit); err != nil {
		return check.Report{}, err
	}
	at := placeIn(own, tree.Top(), tree.WorkDir())
	at.exact = true
	checked, _, _, err := a.runChecks(ctx, in, at, func(p report.Progress) { show(p.Doing) })
	return checked, err
}
