package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// until waits, in an activity, for a condition that is asked again and again.
func until(ctx context.Context, holds func() bool) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (d *testTarget) ended(id string) func() bool {
	return func() bool { _, ok := d.dispatchResult(id); return ok }
}

// called says whether there were so many calls of that name.
func (w *fakeActivities) called(name string, n int) func() bool {
	return func() bool { return strings.Count(w.noted(), name) >= n }
}

// trusting is a script whose sessions do not run and may be resumed.
func trusting(looks ...activities.LookResult) script {
	return script{seen: looks, trust: activities.TrustResult{OK: true}}
}

func TestDispatchesToATargetTakeTurns(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(script{}))
	for i := range 5 {
		d.give(0, message(fmt.Sprint("l-", i), fire))
	}
	d.serveMessage()
	decided := strings.ReplaceAll(d.w.noted(), "Resolve ", "")
	if want := strings.TrimSpace(strings.Repeat("Lock Look Deliver Unlock ", 5)); decided != want {
		t.Errorf("calls %s", decided)
	}
}

// The session of an owned turn is one as any other, as soon as it can be reached.
func TestTheNextDispatchDecidesWhileAnOwnedTurnGoesOn(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(trusting(dead, alive)))
	d.w.own = func(ctx context.Context, _ activities.OwnedTurn) error {
		d.give(0, message("l-2", fire))
		d.give(0, message("l-3", own))
		return errors.Join(until(ctx, d.ended("l-2")), until(ctx, d.ended("l-3")))
	}
	d.give(0, message("l-1", own))
	served := d.serveMessage()
	if got := d.results["l-1"].Outcome.Kind; got != dispatch.Completed {
		t.Errorf("the errand: %s", got)
	}
	if got := d.results["l-2"].Outcome.Kind; got != dispatch.Sent {
		t.Errorf("the message: %s", got)
	}
	if got := d.results["l-3"].Receipt; got.Reason() != dispatch.TargetLocked || got.Observed() != "" { // Finding H3.
		t.Errorf("the second errand: %+v", got)
	}
	if served.Ended[2].ID != "l-1" || d.w.holder != "" {
		t.Errorf("kept %+v, the lock is %q's", served.Ended, d.w.holder)
	}
}

// Anybody can signal a workflow.
func TestSignalsThatAreNoBegin(t *testing.T) {
	s := trusting(dead)
	s.silent, s.ends = true, list(noStart)
	d := newTestTarget(t, newFakeActivities(s))
	d.w.own = func(context.Context, activities.OwnedTurn) error {
		for _, stray := range []any{"", "of another errand", nil, map[string]int{"a": 1}, 7} {
			d.SignalWorkflow(activities.BegunSignal, stray)
		}
		return nil
	}
	d.give(0, message("l-1", own))
	d.serveMessage()
	if got := d.results["l-1"]; got.Outcome == nil || got.Outcome.Kind != dispatch.StartFailed || d.w.holder != "" {
		t.Errorf("%+v, the lock is %q's", got, d.w.holder)
	}
}

func TestMalformedMessagesAreRefused(t *testing.T) {
	with := func(change func(*dispatch.Message)) dispatch.Message {
		l := message("l-1", fire)
		change(&l)
		return l
	}
	rows := map[string]any{
		"for another target":       with(func(l *dispatch.Message) { l.Request.Target = "20260612T093000-ffffff" }),
		"without an id":            with(func(l *dispatch.Message) { l.ID = "" }),
		"without a message":        with(func(l *dispatch.Message) { l.Request.Message = "" }),
		"with too long a message":  with(func(l *dispatch.Message) { l.Request.Message = strings.Repeat("é", dispatch.MaxMessage+1) }),
		"without a sender":         with(func(l *dispatch.Message) { l.Sender = dispatch.Sender{} }),
		"without a time":           with(func(l *dispatch.Message) { l.Sender.Timestamp = "" }),
		"with an unknown intent":   map[string]any{"id": "l-1", "request": map[string]any{"target": gid, "intent": "best-effort", "message": "m"}},
		"with an unknown mode":     map[string]any{"id": "l-1", "request": map[string]any{"target": gid, "intent": fire, "message": "m", "mode": "shout"}},
		"with a member too many":   map[string]any{"id": "l-1", "request": map[string]any{"target": gid, "intent": fire, "message": "m", "transport": "tmux-live"}},
		"with a name in capitals":  map[string]any{"id": "l-1", "request": map[string]any{"Target": gid, "intent": fire, "message": "m"}},
		"that is no object":        "hello",
		"for what is no garden id": map[string]any{"id": "l-1", "request": map[string]any{"target": "../x", "intent": fire, "message": "m"}},
	}
	d := newTestTarget(t, newFakeActivities(script{}))
	for name, l := range rows {
		d.giveAny(0, name, l)
	}
	served := d.serveMessage()
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if d.refused[name] == nil {
			t.Errorf("a letter %s was taken: %+v", name, d.results[name])
		}
	}
	if got := d.w.noted(); got != "" || len(served.Ended) != 0 {
		t.Errorf("calls %s, kept %+v", got, served.Ended)
	}
}

func TestAMessageThatIsSentTwiceIsOneDispatch(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(script{}))
	d.give(0, message("l-1", fire))
	d.give(0, message("l-1", fire))
	d.give(5*time.Second, message("l-1", fire))
	if served := d.serveMessage(); len(served.Ended) != 1 || d.w.got["l-1"] != 1 || d.w.noted() != "Resolve Lock Look Deliver Unlock" {
		t.Errorf("kept %+v, calls %s", served.Ended, d.w.noted())
	}
}

func TestTheWorkflowClosesWhenNoMessageCame(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(script{}))
	began := d.Now()
	for i := range 3 {
		d.give(time.Duration(i)*179*time.Second, message(fmt.Sprint("l-", i), fire))
	}
	served := d.serveMessage()
	if len(served.Ended) != 3 || served.Target != gid {
		t.Errorf("%+v", served)
	}
	if open := d.Now().Sub(began).Round(time.Second); open != (2*179+180)*time.Second {
		t.Errorf("it was open for %v", open)
	}
}

// A message may be given again for a while, and so those of the last minutes are
// kept besides a few for people.
func TestTheLastDispatchesAreKept(t *testing.T) {
	for name, row := range map[string]struct {
		given, kept int
		every       time.Duration
	}{
		"far apart": {25, 20, 100 * time.Second}, "close together": {30, 30, time.Second}, "very close together": {120, 100, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestTarget(t, newFakeActivities(script{}))
			for i := range row.given {
				d.give(time.Duration(i)*row.every, message(fmt.Sprint("l-", i), fire))
			}
			kept := d.serveMessage().Ended
			if len(kept) != row.kept || kept[0].ID != fmt.Sprint("l-", row.given-row.kept) {
				t.Errorf("%d are kept: %+v", len(kept), kept)
			}
			for i, k := range kept[1:] {
				if k.At.Before(kept[i].At) || k.At.Location() != time.UTC || k.Intent != fire || k.Result.Outcome.Kind != dispatch.Sent {
					t.Errorf("%+v after %+v", k, kept[i])
				}
			}
		})
	}
}

// The next execution goes on with what this one has done.
func TestTheWorkflowContinuesAsNewWhenItsHistoryIsLong(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(trusting(dead, alive)))
	d.w.own = func(ctx context.Context, _ activities.OwnedTurn) error {
		d.SetContinueAsNewSuggested(true)
		d.give(0, message("l-2", fire))
		return until(ctx, d.ended("l-2"))
	}
	d.give(0, message("l-1", own))
	d.ExecuteWorkflow(dispatchflow.Dispatch, dispatchflow.Input{Target: gid})
	next, ok := errors.AsType[*workflow.ContinueAsNewError](d.GetWorkflowError())
	if !ok {
		t.Fatalf("the workflow ends with %v", d.GetWorkflowError())
	}
	var in dispatchflow.Input
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil || in.Target != gid || len(in.Done) != 2 {
		t.Fatalf("%+v, %v", in, err)
	}

	d = newTestTarget(t, newFakeActivities(script{}))
	for _, id := range []string{"l-1", "l-2", "l-3"} {
		d.give(0, message(id, fire))
	}
	d.ExecuteWorkflow(dispatchflow.Dispatch, in)
	var res dispatch.History
	if err := d.GetWorkflowResult(&res); err != nil || len(res.Ended) != 3 || d.w.noted() != "Resolve Lock Look Deliver Unlock" {
		t.Errorf("%+v, %v, calls %s", res, err, d.w.noted())
	}
	if got := d.results["l-1"].Outcome.Kind; got != dispatch.Completed {
		t.Errorf("given again: %s", got)
	}
}

// An owned turn that has dispatched of its turn may go on with those of others: its
// dispatch has its outcome, whatever becomes of the rest.
func TestAnOwnedTurnThatGoesOn(t *testing.T) {
	for name, end := range map[string]error{"well": nil, "with its worker": goneOutcome} {
		t.Run(name, func(t *testing.T) {
			s := trusting(dead)
			s.reported, s.ends = &completed, list(noStart)
			d := newTestTarget(t, newFakeActivities(s))
			d.w.own = func(ctx context.Context, _ activities.OwnedTurn) error {
				if err := until(ctx, d.ended("l-1")); err != nil {
					return err
				}
				d.SignalWorkflow(activities.TurnSignal, "no end of a turn")
				d.give(0, message("l-2", own))
				if err := until(ctx, d.ended("l-2")); err != nil {
					return err
				}
				return end
			}
			d.give(0, message("l-1", own))
			d.serveMessage()
			if res, _ := d.dispatchResult("l-1"); res.Outcome == nil || res.Outcome.Kind != dispatch.Completed || res.Outcome.Answer != "done" {
				t.Errorf("the first: got %+v, want the answer done", res)
			}
			if res, _ := d.dispatchResult("l-2"); res.Receipt.Reason() != dispatch.TargetLocked {
				t.Errorf("the second: got %+v, want %s", res, dispatch.TargetLocked)
			}
		})
	}
}

// While a dispatch owns a turn the workflow cannot end; before its history is
// full it takes no more messages.
func TestATargetWhoseHistoryIsFull(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(trusting(dead, alive)))
	var long bool
	d.w.own = func(context.Context, activities.OwnedTurn) error {
		d.SetCurrentHistoryLength(40_001)
		d.give(0, message("l-2", fire))
		return until(t.Context(), func() bool {
			d.mu.Lock()
			defer d.mu.Unlock()
			long = d.refused["l-2"] != nil
			return long
		})
	}
	d.give(0, message("l-1", own))
	d.serveMessage()
	if res, ok := d.dispatchResult("l-1"); !ok || res.Outcome.Kind != dispatch.Completed || !long {
		t.Errorf("%+v, refused %v", res, d.refused)
	}
}

func TestATargetThatIsNobody(t *testing.T) {
	d := newTestTarget(t, newFakeActivities(script{}))
	d.ExecuteWorkflow(dispatchflow.Dispatch, dispatchflow.Input{})
	if err := d.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), `invalid garden id ""`) {
		t.Errorf("%v", err)
	}
}
