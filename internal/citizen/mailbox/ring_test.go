package mailbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// ringing is a mailbox with a mail and its receiver. Its times are those of
// files, so it goes by the clock of the machine, as it was when the test began.
type ringing struct {
	mailbox.Mailboxes
	t   *testing.T
	now time.Time
}

func newRinging(t *testing.T) ringing {
	t.Helper()
	r := ringing{newMailboxes(t), t, time.Now()}
	r.Now = func() time.Time { return r.now }
	enqueue(t, r.Mailboxes, "", "hello")
	r.armed(marker.OwnerOf(os.Getpid()))
	return r
}

func (r ringing) armed(o marker.Owner) {
	r.t.Helper()
	record, err := (&citizen.Store{Dir: r.Dirs.Sessions}).Find(gid)
	must(r.t, err)
	must(r.t, marker.WriteReceiver(r.Dirs.Receivers, marker.Receiver{Citizen: record.Citizen(), Owner: o, Provenance: marker.SessionStart}, r.now))
}

// age makes everything in the mailbox with that end so old.
func (r ringing) age(end string, by time.Duration) {
	r.t.Helper()
	paths, err := filepath.Glob(filepath.Join(r.Dirs.Mailbox(gid), "*"+end))
	must(r.t, err)
	for _, path := range paths {
		must(r.t, os.Chtimes(path, r.now, r.now.Add(-by)))
	}
}

// written is when the signal was, zero for never.
func (r ringing) written() time.Time {
	info, err := os.Stat(filepath.Join(r.Dirs.Mailbox(gid), "inbox.signal"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func TestRingAgain(t *testing.T) {
	const older, old, young = time.Hour, 2 * time.Hour, time.Minute
	lost := func(r ringing) { r.age(".msg", old); r.age(".signal", old) }
	rows := []struct {
		name  string
		setUp func(r ringing)
		rung  bool
	}{
		{"a ring that was lost", lost, true},
		{"a ring that never was", func(r ringing) { lost(r); must(t, os.Remove(filepath.Join(r.Dirs.Mailbox(gid), "inbox.signal"))) }, true},
		{"another mail has come since, and its ring was lost too", func(r ringing) { enqueue(t, r.Mailboxes, "", "more"); lost(r) }, true},
		{"another mail has come just now", func(r ringing) { lost(r); enqueue(t, r.Mailboxes, "", "more") }, false},
		{"a mail that has just come", func(r ringing) { r.age(".signal", old) }, false},
		{"a ring that just was", func(r ringing) { r.age(".msg", old); r.age(".signal", young) }, false},
		{"written by a clock far ahead", func(r ringing) { r.age(".msg", -old); r.age(".signal", -old) }, true},
		{"the doorbell rang", func(r ringing) { lost(r); ring(t, r.Mailboxes) }, false},
		{"it was read", func(r ringing) { lost(r); drain(t, r.Mailboxes) }, false},
		{"nobody to wake", func(r ringing) { lost(r); must(t, os.Remove(marker.ReceiverPath(r.Dirs.Receivers, gid))) }, false},
		{"a receiver that has ended", func(r ringing) {
			lost(r)
			r.armed(marker.Owner{PID: os.Getpid(), StartKey: "linux:1"})
		}, false},
		{"a citizen that is no more", func(r ringing) {
			lost(r)
			must(t, os.Remove((&citizen.Store{Dir: r.Dirs.Sessions}).Path(gid)))
		}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := newRinging(t)
			row.setUp(r)
			var want []dispatch.GardenID
			if row.rung {
				want = append(want, gid)
			}
			before := r.written()
			rung, err := r.RingAgain(t.Context(), older)
			if err != nil || !slices.Equal(rung, want) {
				t.Errorf("rang for %q, %v", rung, err)
			}
			if after := r.written(); after.Equal(before) == row.rung {
				t.Errorf("the signal is of %v, was of %v", after, before)
			}
			if rung, err := r.RingAgain(t.Context(), older); err != nil || len(rung) > 0 {
				t.Errorf("the second time it rang for %q, %v", rung, err)
			}
		})
	}
}

func TestABrokenMailboxKeepsNoOtherFromRinging(t *testing.T) {
	r := newRinging(t)
	r.age(".msg", time.Hour)
	r.age(".signal", time.Hour)
	for _, name := range []string{"20260101T000000-000000", "20260101T000000-aaaaaa", "20990101T000000-ffffff", "notes"} {
		must(t, os.WriteFile(filepath.Join(r.Dirs.Mailboxes, name), nil, 0o600))
	}
	rung, err := r.RingAgain(t.Context(), time.Minute)
	if err == nil || !slices.Equal(rung, []dispatch.GardenID{gid}) {
		t.Errorf("rang for %q, %v", rung, err)
	}
}

func TestWithoutMailboxesNobodyRings(t *testing.T) {
	m := newMailboxes(t)
	if rung, err := m.RingAgain(t.Context(), time.Minute); err != nil || len(rung) > 0 {
		t.Errorf("rang for %q, %v", rung, err)
	}
	if _, err := os.Stat(m.Dirs.Mailboxes); err == nil {
		t.Error("a mailbox was made")
	}
}

func TestRingingEndsWithItsContext(t *testing.T) {
	r := newRinging(t)
	r.age(".msg", time.Hour)
	r.age(".signal", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rung, err := r.RingAgain(ctx, time.Minute); !errors.Is(err, context.Canceled) || len(rung) > 0 {
		t.Errorf("rang for %q, %v", rung, err)
	}
}
