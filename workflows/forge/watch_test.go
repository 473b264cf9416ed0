package forge_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	flow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// A watch polls for all tickets of its repository in one activity, tells each that has changed, goes on after an error that
// no retry mends, and ends when no ticket is left.
func TestWatch(t *testing.T) {
	e := temporaltest.Environment()
	flow.Register(e, activities.New(activities.Config{}))
	var polled [][]string
	e.OnActivity("PollPulls", mockAnything, mockAnything).Return(func(_ context.Context, in activities.Poll) (out activities.Polled, err error) {
		var names []string
		out.Seen.Tickets = map[string]map[string]forge.Seen{}
		for _, w := range in.Tickets {
			names = append(names, w.Ticket)
			out.Seen.Tickets[w.Ticket] = map[string]forge.Seen{"pull": {Digest: "x"}}
			if in.Seen.Tickets[w.Ticket] == nil {
				out.Changed = append(out.Changed, w.Ticket)
			}
		}
		polled = append(polled, names)
		switch {
		case len(polled) == 1:
			return out, temporal.NewNonRetryableApplicationError("401", activities.RefusedError, nil)
		case len(out.Changed) == 0:
			// The environment tries no more than ten times.
			return out, temporal.NewApplicationErrorWithOptions("same", activities.UnchangedError, temporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
		}
		return out, nil
	})
	var told []string
	for _, id := range []string{"ticket-1", "ticket-2", "ticket-gone"} {
		var failure error
		if id == "ticket-gone" {
			failure = errors.New("workflow execution already completed")
		}
		e.OnSignalExternalWorkflow("default-test-namespace", id, "", flow.ChangedSignal, mockAnything).Return(func(_, id, _, _ string, _ any) error {
			told = append(told, id)
			return failure
		})
	}
	join := func(id string) {
		e.SignalWorkflow(flow.JoinSignal, activities.WatchEntry{Watched: forge.Watched{Ticket: id}})
	}
	e.RegisterDelayedCallback(func() { join("ticket-1") }, 0)
	e.RegisterDelayedCallback(func() { join("ticket-2"); join("ticket-gone") }, time.Hour)
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(flow.LeaveSignal, "ticket-1") }, 2*time.Hour)
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(flow.LeaveSignal, "ticket-2") }, 3*time.Hour)
	began := e.Now()
	e.ExecuteWorkflow(flow.Watch, flow.WatchInput{})
	if err := e.GetWorkflowError(); err != nil || e.Now().Sub(began) < 3*time.Hour {
		t.Fatalf("got %v after %s, want the end when the last ticket leaves", err, e.Now().Sub(began))
	}
	if want := []string{"ticket-1", "ticket-1", "ticket-2", "ticket-gone"}; !slices.Equal(told, want) {
		t.Errorf("got signals to %v, want %v", told, want)
	}
	if last := polled[len(polled)-1]; !slices.Equal(last, []string{"ticket-2"}) {
		t.Errorf("the last poll is of %v, want ticket-2", last)
	}
}

// A watch with a rule starts the tickets of issues that get the label, says which labels do not count, and ends when the
// rule does.
func TestWatchOfALabel(t *testing.T) {
	e := temporaltest.Environment()
	flow.Register(e, activities.New(activities.Config{}))
	polls := 0
	e.OnActivity("PollPulls", mockAnything, mockAnything).Return(func(_ context.Context, in activities.Poll) (out activities.Polled, err error) {
		if polls++; polls == 1 && in.Label == "ratchet" {
			return activities.Polled{Labeled: []int{7, 8}}, nil
		}
		return out, temporal.NewApplicationErrorWithOptions("same", activities.UnchangedError, temporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
	})
	rule := func(label string) *activities.Rule {
		return &activities.Rule{Label: label, Ticket: activities.Ticket{Input: run.Input{Policy: run.Never}}}
	}
	var started []int
	e.OnActivity("StartLabeled", mockAnything, mockAnything, mockAnything).Return(func(_ context.Context, r activities.Rule, issue int) (out activities.Labeled, err error) {
		if started = append(started, issue); issue == 8 {
			out.Refused = "mallory has set the label"
		}
		return out, nil
	})
	e.RegisterDelayedCallback(func() { e.SignalWorkflow(flow.RuleSignal, rule("ratchet")) }, 0)
	var in flow.WatchInput
	e.RegisterDelayedCallback(func() {
		if v, err := e.QueryWorkflow(flow.WatchQuery); err != nil || v.Get(&in) != nil {
			t.Error(err)
		}
		e.SignalWorkflow(flow.RuleSignal, nil)
	}, 30*time.Minute)
	e.ExecuteWorkflow(flow.Watch, flow.WatchInput{Rule: rule("other")})
	if err := e.GetWorkflowError(); err != nil || !slices.Equal(started, []int{7, 8}) || in.Refused[8] != "mallory has set the label" || len(in.Refused) != 1 {
		t.Errorf("got tickets of %v, refused %v, %v; want 7 and 8, and why 8 has none", started, in.Refused, err)
	}
}

// mockAnything is mock.Anything of testify, which the SDK's environment uses.
const mockAnything = "mock.Anything"
