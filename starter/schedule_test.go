package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
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
		{"not both", 2, []string{"--every", "1h", "--issue", "https://git.example/acme/shop/issues/7"}},
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
	if id := s.Last[0].RunID; !strings.HasPrefix(id, "nightly-20") {
		b.Errorf("got the run %s, want an id that begins with the schedule and the time", id)
	}
	b.expect(0, "schedule", "delete", "nightly")
	if got := b.expect(1, "schedule", "show", "nightly"); !strings.Contains(got.err, "no schedule nightly") {
		b.Errorf("a schedule that was deleted: got %q", got.err)
	}
}

// testScheduleWithoutProvider says by `schedule show` that a run could not start.
func testScheduleWithoutProvider(b bench) {
	gone := answers(b.T)
	b.expect(0, "schedule", "create", "lost", "Make it good", "--repo", b.repo, "--provider", "replay:"+gone, "--check", passes, "--sandbox", "off", "--every", "1h")
	clitest.Must(b.T, os.RemoveAll(gone))
	b.expect(0, "schedule", "trigger", "lost")
	eventually.Holds(b.T, "the schedule says why it could not start", func() bool {
		got := b.expect(0, "schedule", "show", "lost").out
		return strings.Contains(got, "could not start") && strings.Contains(got, "no directory of recorded answers")
	})
	b.expect(0, "schedule", "delete", "lost")
}

// testScheduleOfTicket has a schedule start the ticket of an issue that testTicket has brought to its end.
func testScheduleOfTicket(b bench, server *forgetest.Server) {
	create := []string{"schedule", "create", "issue7", "--repo", b.repo, "--provider", "replay:" + b.answers, "--check", passes, "--sandbox", "off", "--every", "1h", "--issue"}
	if got := b.expect(2, append(create, "acme/shop#7")...); !strings.Contains(got.err, "invalid URL of an issue") {
		b.Errorf("got %q, want how a URL looks", got.err)
	}
	create = append(create, server.URL+"/acme/shop/issues/7")
	if got := b.expect(2, append(create, "--overlap", "cancel")...); !strings.Contains(got.err, "want skip") {
		b.Errorf("got %q, want that it is skip", got.err)
	}
	b.expect(0, create...)
	b.expect(0, "schedule", "trigger", "issue7")
	eventually.Holds(b.T, "the schedule says that the ticket is over", func() bool {
		return strings.Contains(b.expect(0, "schedule", "show", "issue7").out, "acme/shop#7 is over (merged)")
	})
	b.expect(0, "schedule", "delete", "issue7")
}
