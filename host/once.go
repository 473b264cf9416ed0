package host

import (
	"context"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// CheckOnce runs checks on the base commit of a repository as a worker with this configuration would, without
// an engine and without a run. It needs the runs directory, which receives what later runs begin with. The
// error matches *activities.NotBoxed if the checks may not start here.
func (c Config) CheckOnce(ctx context.Context, in activities.CheckInput, show func(doing string)) (check.Report, error) {
	runs, err := rundir.Open(ctx, c.RunsDir)
	if err != nil {
		return check.Report{}, err
	}
	acts, err := c.openActivities(runs, citizen.Dirs{}, false, c.openSandbox(ctx))
	if err != nil {
		return check.Report{}, err
	}
	return activities.CheckOnce(ctx, acts, in, show)
}
