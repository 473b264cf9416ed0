// Package schedule starts the runs of schedules and waits for their ends. How a run is started, and what the engine says
// of it, is the host's to wire: see Host.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// Plan is what a schedule starts.
type Plan struct {
	Schedule string `json:"schedule"`
	// Input is the run's, without an id, a name and a base commit.
	Input run.Input `json:"input"`
	// Base is the branch or commit that each run begins at, as it is then.
	Base string `json:"base"`
	// Branch is the template of the branch's name; empty: the default.
	Branch string `json:"branch,omitempty"`
}

// Started is a run that a schedule has started.
type Started struct {
	RunID run.ID   `json:"runId"`
	Name  run.Name `json:"name,omitempty"`
}

// Host is what the activities need of the engine.
type Host interface {
	// Begin names the run, makes its branch and starts it. It does nothing if the engine has a run of this id.
	Begin(ctx context.Context, in *run.Input, template string) error
	// Inspect resolves the base in the repository of a run, as it is now: that of a URL on the server.
	Inspect(ctx context.Context, r run.Repository, base string) (workspace.Source, error)
	// Status returns the status of a run, and whether it is over.
	Status(ctx context.Context, id run.ID) (run.Status, bool, error)
}

// Activities are the activities of schedules.
type Activities struct{ host Host }

// New returns the activities.
func New(h Host) *Activities { return &Activities{h} }

// The types of errors.
const (
	CannotStartError = "ScheduleCannotStart" // no retry fixes it
	OpenError        = "ScheduledRunOpen"    // the run is not over
)

// IDOf returns the id of the run that a fire starts: the same for each attempt at it.
func IDOf(fire string) run.ID {
	return run.ID(uuid.NewSHA1(uuid.NameSpaceURL, []byte("ratchet-schedule:"+fire)).String())
}

// StartScheduled starts the run of a fire, which is named by its workflow id. A second call finds the run of the first.
// The error is a CannotStartError if the repository or its base is missing.
func (a *Activities) StartScheduled(ctx context.Context, p Plan, fire string) (Started, error) {
	in := p.Input
	in.RunID = IDOf(fire)
	src, err := a.host.Inspect(ctx, in.Repository, p.Base)
	if failed, ok := errors.AsType[*remote.Error](err); ok && !failed.Final {
		return Started{}, err
	}
	if err != nil {
		return Started{}, report.Permanent(CannotStartError, err)
	}
	in.Repository.Base = src.Base
	in.Naming.Branch = in.RunID.Branch() // until it has its name
	if err := in.Validate(); err != nil {
		return Started{}, report.Permanent(CannotStartError, err)
	}
	if err := a.host.Begin(ctx, &in, p.Branch); err != nil {
		return Started{}, err
	}
	return Started{in.RunID, in.Name}, nil
}

// AwaitEnd returns the status of a run that is over. Its error of type OpenError is no failure: the engine calls again
// after the interval of the retry policy, which takes no room in a history and no place in a worker.
func (a *Activities) AwaitEnd(ctx context.Context, id run.ID) (run.Status, error) {
	status, over, err := a.host.Status(ctx, id)
	if err == nil && !over {
		err = temporal.NewApplicationError(fmt.Sprintf("run %s is %s", id, status), OpenError)
	}
	return status, err
}

// Interval is the longest time between two looks at a run.
const Interval = 30 * time.Second
