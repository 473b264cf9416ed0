package main

import (
	"encoding/json"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/starter/internal/command/schedule"
)

// testSchedule creates a schedule, fires it, and deletes it. Its run is one like any other.
func testSchedule(b bench) {
	create := []string{"schedule", "create", "nightly", "Make it good", "--repo", b.repo, "--provider", "replay:" + b.answers, "--check", passes, "--sandbox", "off", "--approve", "never"}
	for _, row := range []struct {
		want string
		code int
		args []string
	}{
		{"cron every", 2, nil},
		{"five fields", 2, []string{"--cron", "daily"}},
		{"no such time zone", 2, []string{"--cron", "0 3 * * *", "--time-zone", "Mars"}},
		{"a minute or more", 2, []string{"--every", "1s"}},
		{"want skip", 2, []string{"--every", "1h", "--overlap", "maybe"}},
	} {
		if got := b.expect(row.code, append(create, row.args...)...); !strings.Contains(got.err, row.want) {
			b.Errorf("%v: got %q, want %q", row.args, got.err, row.want)
		}
	}
	b.expect(0, append(create, "--cron", "0 3 * * *", "--time-zone", "Europe/Berlin", "--paused")...)
	if got := b.expect(1, append(create, "--every", "1h")...); !strings.Contains(got.err, "already") {
		b.Errorf("the same name again: got %q", got.err)
	}
	if got := b.expect(0, "schedule", "list").out; !strings.Contains(got, "nightly") || !strings.Contains(got, "paused") {
		b.Errorf("got %q, want the paused schedule", got)
	}
	b.expect(0, "schedule", "resume", "nightly")
	b.expect(0, "schedule", "trigger", "nightly")
	var s schedule.Shown
	eventually.Holds(b.T, "the schedule has fired", func() bool {
		if err := json.Unmarshal([]byte(b.expect(0, "schedule", "show", "nightly", "--json").out), &s); err != nil {
			b.Fatal(err)
		}
		return len(s.Last) == 1 && b.starter("status", s.Last[0].RunID).code == 0
	})
	b.await(s.Last[0].RunID, run.Completed)
	b.expect(0, "schedule", "delete", "nightly")
	if got := b.expect(1, "schedule", "show", "nightly"); !strings.Contains(got.err, "no schedule nightly") {
		b.Errorf("a schedule that was deleted: got %q", got.err)
	}
}
