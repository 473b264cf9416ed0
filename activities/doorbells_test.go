package activities_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
)

func TestDoorbells(t *testing.T) {
	o := newOffice(t)
	o.awake()
	e, err := mailbox.Mailboxes{Dirs: o.dirs}.Enqueue(t.Context(), mailbox.Mail{To: gid, Body: "hello"})
	check(t, err)
	check(t, os.WriteFile(filepath.Join(o.dirs.Mailboxes, "20990101T000000-ffffff"), nil, 0o600))
	yesterday := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	lose := func() {
		check(t, os.Chtimes(e.Message, yesterday, yesterday))
		check(t, os.Chtimes(e.Signal, yesterday, yesterday))
	}
	rung := func() bool {
		info, err := os.Stat(e.Signal)
		check(t, err)
		return !info.ModTime().Equal(yesterday)
	}
	lose()
	ticks := make(chan time.Time)
	tick := func() { ticks <- time.Time{}; ticks <- time.Time{} } // the second is taken when the first is done with
	var log bytes.Buffer
	stop := activities.Doorbells{Dispatch: o.desk, Log: slog.New(slog.NewTextHandler(&log, nil)), Ticks: ticks}.Start(t.Context())
	if rung() {
		t.Error("rung before its time")
	}
	tick()
	if !rung() {
		t.Error("nobody rang")
	}
	lose()
	tick()
	if !rung() {
		t.Error("nobody rang again")
	}
	stop()
	stop()
	if said := log.String(); strings.Count(said, "not a directory") != 1 || strings.Count(said, string(gid)) != 2 {
		t.Errorf("the log says %s", said)
	}
}

func TestWithoutADeskNoDoorbellRings(t *testing.T) {
	activities.Doorbells{}.Start(t.Context())()
}
