package session

import (
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/session"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

// joinDeliveries makes the deliveries of the session, and lets them join in.
func (r *runner) joinDeliveries(ctx workflow.Context, from *deliveryflow.State) error {
	if from == nil {
		from = new(deliveryflow.State)
	}
	settings := deliveryflow.Settings{Session: string(r.s.Input.ID), Mode: r.s.Input.Deliveries}
	d, err := deliveryflow.New(ctx, settings, (*deliveryHost)(r), *from)
	if err != nil {
		return err
	}
	r.deliveries = d
	return nil
}

// attachProcess reports the process to the deliveries. An agent that has not named its session proves nothing yet.
func (r *runner) attachProcess(ctx workflow.Context) {
	if r.s.Agent != "" {
		r.deliveries.Attach(ctx, deliveryflow.Process{
			ID: strconv.Itoa(r.s.Process.Epoch), Thread: r.s.Agent, Adapter: string(r.s.Input.Kind()),
		})
	}
}

// detachProcess reports the end of the process to the deliveries.
func (r *runner) detachProcess(e session.ProcessEnded) {
	r.deliveries.Detach(strings.TrimSpace("the agent's process ended: " + string(e.End) + " " + e.Reason))
}

// observationOf converts a report of the process for the deliveries.
func observationOf(epoch int, what session.Observation) deliveryacts.Observation {
	s := deliveryacts.Observation{Process: strconv.Itoa(epoch)}
	switch what.What {
	case session.UserMessage:
		if what.Marker != "" {
			s.Marked = &delivery.Marked{Marker: what.Marker, Turn: what.Turn, First: what.First, At: what.At}
		}
	case session.TurnOpened:
		s.Turn = &delivery.TurnSeen{Turn: what.Turn, What: delivery.TurnStarted, At: what.At}
	case session.TurnClosed:
		s.Turn = &delivery.TurnSeen{Turn: what.Turn, What: delivery.EndOf(what.Status), At: what.At}
	}
	return s
}

// deliveryHost is the session as its deliveries see it.
type deliveryHost runner

func (h *deliveryHost) runner() *runner { return (*runner)(h) }

// ReachProcess implements deliveryflow.Host.
func (h *deliveryHost) ReachProcess(ctx workflow.Context) workflow.Context {
	if h.process == nil || !h.s.Process.Ready() {
		return ctx
	}
	return workflow.WithTaskQueue(h.process, h.s.Process.Queue)
}

// CheckWake implements deliveryflow.Host.
func (h *deliveryHost) CheckWake(ctx workflow.Context) (at time.Time, err error) {
	return h.s.CheckWake(workflow.Now(ctx))
}

// WakeProcess implements deliveryflow.Host.
func (h *deliveryHost) WakeProcess(ctx workflow.Context) {
	if h.s.Process == nil && !h.s.Wake {
		h.runner().applyEvent(ctx, session.WakeAsked{Delivery: true})
	}
}

// HasTurnToBegin implements deliveryflow.Host.
func (h *deliveryHost) HasTurnToBegin(workflow.Context) bool {
	return len(h.s.Queue) > 0 || h.s.Turn != nil && h.s.Turn.Cut || h.s.Process != nil && h.s.Process.Stopping
}

// BudgetLeft implements deliveryflow.Host.
func (h *deliveryHost) BudgetLeft(workflow.Context) (provider.Left, error) {
	if err := h.s.CheckBudget(); err != nil {
		return provider.Left{}, err
	}
	return h.runner().budgetLeft(), nil
}

// BeginTurn implements deliveryflow.Host.
func (h *deliveryHost) BeginTurn(ctx workflow.Context, id string) bool {
	return h.runner().applyEvent(ctx, session.DeliveryBegun{ID: id})
}

// TakeTurnBack implements deliveryflow.Host.
func (h *deliveryHost) TakeTurnBack(ctx workflow.Context, id string) {
	if t := h.s.Turn; t != nil && t.Delivery && t.ID == id {
		h.runner().applyEvent(ctx, session.NotHanded{ID: id})
	}
}

// GiveTurnUp implements deliveryflow.Host. Only another process surely has no such turn.
func (h *deliveryHost) GiveTurnUp(ctx workflow.Context, id string) {
	if t := h.s.Turn; t != nil && t.Delivery && t.ID == id {
		h.runner().stopProcess(ctx)
	}
}

// Touch implements deliveryflow.Host.
func (h *deliveryHost) Touch() { h.runner().touch() }
