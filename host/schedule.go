package host

import (
	"context"
	"errors"

	"github.com/ratchet-dev/ratchet/activities"
	scheduleacts "github.com/ratchet-dev/ratchet/activities/schedule"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/workflows/forge"
)

// scheduled starts the runs of schedules by the client of runs, as `starter run` does.
type scheduled struct {
	client  *runs.Client
	runsDir string
}

// Begin implements activities/schedule.Host.
func (s scheduled) Begin(ctx context.Context, in *run.Input, template string) error {
	if name, known, err := s.Known(ctx, in.RunID); err != nil || known { // an earlier attempt's
		in.Name = name
		return err
	}
	if err := runs.DropNames(ctx, *in, s.runsDir, template); err != nil {
		return err
	}
	return s.client.Begin(ctx, in, s.runsDir, template)
}

// Inspect implements activities/schedule.Host.
func (s scheduled) Inspect(ctx context.Context, r run.Repository, base string) (workspace.Source, error) {
	return workspace.InspectLatest(ctx, remote.Mirrors{Dir: rundir.Mirrors(s.runsDir)}, r, base)
}

// Known returns the name of a run, and whether the engine has it.
func (s scheduled) Known(ctx context.Context, id run.ID) (run.Name, bool, error) {
	there, err := s.client.Describe(ctx, id)
	if _, none := errors.AsType[*runs.NotFoundError](err); none {
		return "", false, nil
	}
	return there.Name, err == nil, err
}

// Status implements activities/schedule.Host.
func (s scheduled) Status(ctx context.Context, id run.ID) (run.Status, bool, error) {
	e, err := s.client.Describe(ctx, id)
	return e.Status, err == nil && !e.Open, err
}

// schedules starts the runs and the tickets of schedules.
type schedules struct {
	scheduled
	probe func(context.Context, activities.ProbeInput) (activities.ProbeResult, error)
}

// Check implements activities/schedule.Host.
func (s schedules) Check(ctx context.Context, in run.Input) ([]string, error) {
	found, err := s.probe(ctx, activities.ProbeInput{Specs: in.Providers.Specs(), Dir: in.Providers.Dir, Sandbox: in.Sandbox, Options: in.OptionsBySpec()})
	return found.Problems, err
}

// BeginTicket implements activities/schedule.Host.
func (s schedules) BeginTicket(ctx context.Context, t scheduleacts.Ticket) error {
	_, err := s.client.StartTicket(ctx, forge.TicketInput{Ticket: t.Ticket, Bounds: t.Bounds})
	return err
}

// TicketEnd implements activities/schedule.Host.
func (s schedules) TicketEnd(ctx context.Context, name string) (ticket.End, bool, error) {
	v, err := s.client.Ticket(ctx, name)
	end := v.State.End
	if !v.Open && end == "" {
		end = ticket.End(v.Problem) // it could not begin
	}
	return end, err == nil && !v.Open, err
}
