package host

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/workflows/forge"
)

// ticketed starts the runs of tickets, as schedules do, and the watches of repositories.
type ticketed struct {
	scheduled
	temporal client.Client
	queue    string
}

// HasTicket implements activities/forge.Engine.
func (t ticketed) HasTicket(ctx context.Context, in forgeacts.Ticket) (bool, error) {
	_, err := temporalclient.Describe(ctx, t.temporal, forge.TicketID(in), "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return false, nil
	}
	return err == nil, err
}

// StartTicket implements activities/forge.Engine.
func (t ticketed) StartTicket(ctx context.Context, in forgeacts.Ticket, b ticket.Bounds) error {
	_, err := t.client.StartTicket(ctx, forge.TicketInput{Ticket: in, Bounds: b})
	return err
}

// Watch implements activities/forge.Engine.
func (t ticketed) Watch(ctx context.Context, e forgeacts.WatchEntry) error {
	o := client.StartWorkflowOptions{TaskQueue: t.queue, StaticSummary: "Watch of " + e.Repository.String()}
	_, err := t.temporal.SignalWithStartWorkflow(ctx, forge.WatchID(e.Repository, t.queue), forge.JoinSignal, e, o, forge.Watch, forge.WatchInput{})
	return err
}
