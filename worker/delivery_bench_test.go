package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"

	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// BenchmarkRunToDelivery takes turns between the delivery of a run's end into an idle session, from the workflow task in
// which the run ended to the beginning of the agent's turn, and a workflow with as many activities that do nothing, and
// compares the medians. The agent is in memory: what a real one takes to begin a turn is its own.
func BenchmarkRunToDelivery(b *testing.B) {
	s := newOwnFixture(b)
	s.spawn(asWorker+"="+faking, takenIn(b.TempDir()))
	beside := s.at("floor")
	beside.spawn(asWorker + "=" + floored)
	steps := []step{regular, regular, regular} // the session is told, its thread is read, the message is sent
	var deliveries, floors []time.Duration
	for b.Loop() {
		h := s.newReader(b, b.TempDir())
		h.say(b, "m1", "[[say:ready]]")
		h.past(b, "m1")
		in := s.simple()
		in.Tell = string(h.id)
		if err := s.start(in).Get(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		deliveries = append(deliveries, h.begunTurn(b).Sub(s.ended(b, in.RunID)))
		floors = append(floors, beside.timed("floor-"+uuid.NewString(), floor, steps))
	}
	b.ReportMetric(ms(median(deliveries)), "delivery-p50-ms")
	b.ReportMetric(ms(percentile(deliveries, 95)), "delivery-p95-ms")
	b.ReportMetric(ms(median(floors)), "floor-ms")
	b.ReportMetric(float64(median(deliveries))/float64(median(floors)), "ratio")
	b.ReportMetric(float64(len(steps)), "activities")
	b.ReportMetric(0, "ns/op")
}

// ended returns when the run ended: when its workflow decided to tell the session.
func (s *fixture) ended(b *testing.B, id run.ID) (at time.Time) {
	b.Helper()
	events := s.client.GetWorkflowHistory(b.Context(), id.WorkflowID(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "SendToSession" {
			at = e.GetEventTime().AsTime()
		}
	}
	if at.IsZero() {
		b.Fatal("the session was not told")
	}
	return at
}

// begunTurn returns when the agent began the turn that delivers the session's one batch.
func (h *sessionFixture) begunTurn(b *testing.B) time.Time {
	b.Helper()
	var closed []delivery.Entry
	eventually.Holds(b, "delivery", func() bool {
		v, _ := h.deliveries(b)
		closed = v.Fold.Closed
		return len(closed) == 1
	})
	if e := closed[0]; e.Close != delivery.Delivered || len(e.Attempts) != 1 {
		b.Fatalf("the batch is %+v", e)
	}
	return closed[0].Attempts[0].AcceptedAt
}

func percentile(times []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
