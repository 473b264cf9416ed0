package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

// BenchmarkDispatchOverFloor takes turns between a dispatch to a session that
// lives, from the message to its outcome, and a workflow with as many activities
// that do nothing, and compares the medians. The first message to a target begins
// a workflow, as the floor does; the next one finds it.
func BenchmarkDispatchOverFloor(b *testing.B) {
	h := newDispatchFixture(b)
	r := h.on("dispatch")
	r.spawn(asWorker + "=" + flooredDispatch)
	var firsts, nexts, floors []time.Duration
	steps := r.steps(b, r.sent(b, h.settle(live)))
	for b.Loop() {
		to := h.settle(live)
		firsts = append(firsts, r.sent(b, to).took)
		nexts = append(nexts, r.sent(b, to).took)
		floors = append(floors, r.queue.timed("floor-"+string(to), floor, steps))
	}
	b.ReportMetric(ms(median(firsts)), "dispatch-p50-ms")
	b.ReportMetric(ms(percentile(firsts, 95)), "dispatch-p95-ms")
	b.ReportMetric(ms(median(nexts)), "next-p50-ms")
	b.ReportMetric(ms(median(floors)), "floor-ms")
	b.ReportMetric(float64(median(firsts))/float64(median(floors)), "ratio")
	b.ReportMetric(float64(len(steps)), "activities")
}

// sending is one dispatch that was sent.
type sending struct {
	to   dispatch.GardenID
	took time.Duration
}

func (r *queueFixture) sent(b *testing.B, to dispatch.GardenID) sending {
	b.Helper()
	began := time.Now()
	got := r.dispatch(message(to, dispatch.FireAndForget))
	took := time.Since(began)
	if got.word() != string(dispatch.Sent) {
		b.Fatal(got)
	}
	return sending{to, took}
}

// steps are the activities of a dispatch.
func (r *queueFixture) steps(b *testing.B, s sending) (steps []step) {
	b.Helper()
	events := r.client.GetWorkflowHistory(b.Context(), dispatchflow.WorkflowID(s.to), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		if e.EventType == enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			steps = append(steps, regular)
		}
	}
	return steps
}

func percentile(times []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// BenchmarkPeers lists a thousand citizens: half of them are pi's, and one in ten
// of those lives.
func BenchmarkPeers(b *testing.B) {
	const size, every = 1000, 20
	h := newDispatchFixture(b)
	if err := os.MkdirAll(h.dirs.Sessions, 0o700); err != nil {
		b.Fatal(err)
	}
	living := 0
	for i := range size {
		r := h.enrolled(b, i)
		if i%every == 0 {
			living++
			if err := h.listen(r.GardenID); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		found, err := peers.Scan(b.Context(), h.dirs, controlsocket.Look)
		if err != nil || len(found.Peers) != size || found.Count != living {
			b.Fatalf("%d peers, %d of them alive, %v", len(found.Peers), found.Count, err)
		}
	}
	b.ReportMetric(size, "citizens")
	b.ReportMetric(float64(living), "alive")
}

// enrolled writes the nth record without looking at the others.
func (h *dispatchFixture) enrolled(b *testing.B, n int) citizen.Record {
	b.Helper()
	r := citizen.Record{
		Version: citizen.V2, GardenID: dispatch.GardenID(fmt.Sprintf("20260612T093000-%06x", n)), Backend: dispatch.Pi, CWD: h.work,
		CreatedAt: "2026-06-12T09:30:00.000Z", UpdatedAt: "2026-06-12T09:30:00.000Z",
	}
	r.NativeSessionID = string(r.GardenID)
	if n%2 == 1 {
		r.Backend = dispatch.ClaudeCode
	}
	text, err := r.Marshal()
	if err == nil {
		err = os.WriteFile(filepath.Join(h.dirs.Sessions, string(r.GardenID)+".meta.json"), text, 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	return r
}
