package rundir_test

import (
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// entry is a step of the record up to its last event, each made at its time.
func entry(events ...run.Event) rundir.Entry {
	last := events[len(events)-1].ID
	return rundir.Entry{Events: events, State: run.State{RunID: "r", Status: run.Running, LastEventID: &last}}
}

func event(n int, minute int, reason string) run.Event {
	return run.Event{
		ID: run.EventID(n), RunID: "r", TS: noon.Add(time.Duration(minute) * time.Minute),
		Type: run.RunCanceledEvent, Payload: run.RunCanceled{Reason: reason},
	}
}

// A worker may write events and die before the workflow knows of them; the
// next one decides anew, and a person may have spoken meanwhile.
func TestRecordFollowsTheWorkflow(t *testing.T) {
	rows := []struct {
		name  string
		calls []rundir.Entry
		want  []string // reasons of the events on disk
	}{
		{"the same entry twice", []rundir.Entry{entry(event(1, 1, "a"), event(2, 1, "b")), entry(event(1, 1, "a"), event(2, 1, "b"))}, []string{"a", "b"}},
		{"an entry that overlaps", []rundir.Entry{entry(event(1, 1, "a"), event(2, 1, "b")), entry(event(2, 1, "b"), event(3, 2, "c"))}, []string{"a", "b", "c"}},
		{"a lost task made otherwise by the next", []rundir.Entry{entry(event(1, 1, "a")), entry(event(2, 2, "b"), event(3, 2, "c")), entry(event(2, 3, "canceled"))}, []string{"a", "canceled"}},
		{"a lost task that was cut short", []rundir.Entry{entry(event(1, 1, "a"), event(2, 1, "b")), entry(event(1, 2, "a"), event(2, 2, "b"), event(3, 2, "c"))}, []string{"a", "b", "c"}},
		{"the lost task's call comes last", []rundir.Entry{entry(event(1, 1, "a")), entry(event(2, 3, "canceled")), entry(event(2, 2, "b"), event(3, 2, "c"))}, []string{"a", "canceled"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			store, err := rundir.Open(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			dir := store.Run("r")
			for _, e := range row.calls {
				if _, err := dir.Record(e); err != nil {
					t.Fatal(err)
				}
			}
			events, err := dir.Events()
			if err != nil || len(events) != len(row.want) {
				t.Fatalf("%d events, %v; want %q", len(events), err, row.want)
			}
			for i, e := range events {
				if got := e.Payload.(run.RunCanceled).Reason; e.Seq() != i+1 || got != row.want[i] {
					t.Errorf("%s is %q, want %q", e.ID, got, row.want[i])
				}
			}
			if state, err := dir.State(); err != nil || state.LastEventID == nil || *state.LastEventID != run.EventID(len(row.want)) {
				t.Errorf("state.json at %v, %v", state.LastEventID, err)
			}
		})
	}
}
