package host_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

func TestDoorbells(t *testing.T) {
	r := newRegistry(t)
	r.enrollReader()
	boxes := mailbox.Mailboxes{Dirs: r.dirs}
	e, err := boxes.Enqueue(t.Context(), mailbox.Mail{To: gid, Body: "hello"})
	check(t, err)
	check(t, os.WriteFile(filepath.Join(r.dirs.Mailboxes, "20990101T000000-ffffff"), nil, 0o600))
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
	stop := host.Doorbells{Boxes: boxes, Log: slog.New(slog.NewTextHandler(&log, nil)), Ticks: ticks}.Start(t.Context())
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

// enrollReader enrolls a session of Claude Code whose mail this very process reads.
func (r *registry) enrollReader() {
	r.t.Helper()
	record := r.enroll(citizen.Birth{GardenID: gid, Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"})
	owner, now := marker.OwnerOf(os.Getpid()), time.Now()
	check(r.t, marker.WriteReceiver(r.dirs.Receivers, marker.Receiver{Citizen: record.Citizen(), Owner: owner, Provenance: marker.SessionStart}, now))
	check(r.t, marker.WriteSender(r.dirs.Senders, marker.Sender{Citizen: record.Citizen(), CWD: r.work, Owner: owner}, now))
}
