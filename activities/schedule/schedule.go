// Package schedule starts the runs and tickets of schedules and waits for their ends. How one is started, and what the
// engine says of it, is the host's to wire: see Host.
package schedule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/ticket"
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
	// Ticket is the ticket that each fire starts in place of a run; nil: a run.
	Ticket *Ticket `json:"ticket,omitempty"`
}

// Ticket is a ticket of a schedule.
type Ticket struct {
	forge.Ticket
	Bounds ticket.Bounds `json:"bounds"`
}

// Started is what a fire has started: a run or a ticket.
type Started struct {
	RunID  run.ID   `json:"runId,omitempty"`
	Name   run.Name `json:"name,omitempty"`
	Ticket string   `json:"ticket,omitempty"` // its name
}

// Host is what the activities need of the engine.
type Host interface {
	// Begin names the run, makes its branch and starts it. It does nothing if the engine has a run of this id.
	Begin(ctx context.Context, in *run.Input, template string) error
	// Inspect resolves the base in the repository of a run, as it is now: that of a URL on the server.
	Inspect(ctx context.Context, r run.Repository, base string) (workspace.Source, error)
	// Status returns the status of a run, and whether it is over.
	Status(ctx context.Context, id run.ID) (run.Status, bool, error)
	// Check returns why the providers of a run cannot work on this machine, in one line each.
	Check(ctx context.Context, in run.Input) ([]string, error)
	// BeginTicket starts a ticket. It does nothing if the engine has it, open or over.
	BeginTicket(ctx context.Context, t Ticket) error
	// TicketEnd returns how a ticket ended, and whether it is over.
	TicketEnd(ctx context.Context, name string) (ticket.End, bool, error)
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

// FirePrefix begins the ids of the workflows that schedules start; the schedule's name and the time follow.
const FirePrefix = "fire-"

const (
	maxFire = 55 // bytes of a run's id that name its fire
	tail    = 8  // bytes behind them, which differ between any two fires: see run.ID.Short
)

var noID = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// IDOf returns the id of the run that a fire starts: the name of the schedule and the time, the same for each attempt.
func IDOf(fire string) run.ID {
	text := noID.ReplaceAllString(strings.TrimPrefix(fire, FirePrefix), "")
	sum := sha256.Sum256([]byte(fire))
	return run.ID(text[:min(len(text), maxFire)] + "-" + hex.EncodeToString(sum[:])[:tail])
}

// StartScheduled starts the run of a fire, which is named by its workflow id. A second call finds the run of the first.
// The error is a CannotStartError if the repository, its base or a provider is missing.
func (a *Activities) StartScheduled(ctx context.Context, p Plan, fire string) (Started, error) {
	in := p.Input
	in.RunID = IDOf(fire)
	var err error
	if in.Repository.Base, err = a.check(ctx, p); err != nil {
		return Started{}, err
	}
	in.Naming.Branch = in.RunID.Branch() // until it has its name
	if err := in.Validate(); err != nil {
		return Started{}, report.Permanent(CannotStartError, err)
	}
	if err := a.host.Begin(ctx, &in, p.Branch); err != nil {
		return Started{}, err
	}
	return Started{RunID: in.RunID, Name: in.Name}, nil
}

// StartTicket starts the ticket of a fire. There is one ticket for each issue: one that is open is left as it is. The error
// is a CannotStartError if it is over, or if the repository, its base or a provider is missing.
func (a *Activities) StartTicket(ctx context.Context, p Plan) (Started, error) {
	if _, err := a.check(ctx, p); err != nil {
		return Started{}, err
	}
	name := p.Ticket.Name()
	if err := a.host.BeginTicket(ctx, *p.Ticket); err != nil {
		return Started{}, err
	}
	end, over, err := a.host.TicketEnd(ctx, name)
	if err == nil && over {
		err = report.Permanent(CannotStartError, fmt.Errorf("ticket %s is over (%s): `starter ticket retry` begins it again, `starter schedule delete %s` ends the schedule", name, end, p.Schedule))
	}
	return Started{Ticket: name}, err
}

// check returns the commit that a run begins at. The error is a CannotStartError if it, or a provider, is missing.
func (a *Activities) check(ctx context.Context, p Plan) (run.Commit, error) {
	src, err := a.host.Inspect(ctx, p.Input.Repository, p.Base)
	if failed, ok := errors.AsType[*remote.Error](err); ok && !failed.Final {
		return "", err
	}
	if err != nil {
		return "", report.Permanent(CannotStartError, err)
	}
	problems, err := a.host.Check(ctx, p.Input)
	if err == nil && len(problems) > 0 {
		err = report.Permanent(CannotStartError, errors.New(strings.Join(problems, "; ")))
	}
	return src.Base, err
}

// AwaitEnd returns the status of a run that is over. Its error of type OpenError is no failure: see report.NotOver.
func (a *Activities) AwaitEnd(ctx context.Context, id run.ID) (run.Status, error) {
	status, over, err := a.host.Status(ctx, id)
	if err == nil && !over {
		err = report.NotOver(id, status, OpenError)
	}
	return status, err
}

// AwaitTicketEnd returns how a ticket ended, as AwaitEnd does for a run.
func (a *Activities) AwaitTicketEnd(ctx context.Context, name string) (ticket.End, error) {
	end, over, err := a.host.TicketEnd(ctx, name)
	if err == nil && !over {
		err = temporal.NewApplicationErrorWithOptions("ticket "+name+" is open", OpenError, temporal.ApplicationErrorOptions{NextRetryDelay: 6 * report.LookInterval})
	}
	return end, err
}
