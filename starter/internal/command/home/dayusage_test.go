package home

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

func TestTheDaysUsageIsThatOfTheRecords(t *testing.T) {
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	used := func(at time.Time, tokens int64) run.Event {
		return run.Event{TS: at, Payload: run.PhaseCompleted{Usage: &run.Usage{TotalTokens: tokens, Cost: 10}}}
	}
	events := map[run.ID][]run.Event{
		"one": {used(now.Add(-20*time.Hour), 1000), used(now.Add(-time.Hour), 5)},
		"two": {used(now.Add(-time.Minute), 7)},
		"old": {used(now.Add(-48*time.Hour), 1_000_000)},
	}
	dir, reads := t.TempDir(), map[run.ID]int{}
	write := func(id run.ID, text string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, "workflows", string(id), "events.ndjson")
		clitest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		clitest.Must(t, os.WriteFile(path, []byte(text), 0o600))
		clitest.Must(t, os.Chtimes(path, at, at))
	}
	write("one", "1", now)
	write("two", "1", now)
	write("old", "1", now.Add(-48*time.Hour))
	d := &dayUsage{dir: dir, read: func(id run.ID) ([]run.Event, error) { reads[id]++; return events[id], nil }}
	check := func(when string, at time.Time, tokens int64) {
		t.Helper()
		if d.sum(at); d.last.TotalTokens != tokens {
			t.Errorf("%s: %d tokens, want %d", when, d.last.TotalTokens, tokens)
		}
	}
	check("at first", now, 12)
	check("again", now, 12)
	if reads["one"] != 1 || reads["two"] != 1 || reads["old"] != 0 {
		t.Errorf("read %v", reads)
	}
	events["two"] = append(events["two"], used(now, 100))
	write("two", "12", now)
	check("after an event", now, 112)
	check("on the next day", now.Add(10*time.Hour), 0)
}
