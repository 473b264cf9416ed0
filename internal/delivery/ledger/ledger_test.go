package ledger_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/file"
)

const session = "s-1"

func entry(n int, reason string) ledger.Entry {
	at := time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC)
	return ledger.Entry{
		N:     n,
		Event: &delivery.Event{Seq: n, TS: at, Type: delivery.InvalidatedEvent, Payload: delivery.Invalidated{Session: session, Epoch: n, Reason: reason}},
		Audit: []delivery.Line{{TS: at, Decision: delivery.AuditAllow, Thread: "t", Batch: "b", Policy: delivery.StrictSafe, Reason: reason}},
	}
}

func entries(from, to int) (list []ledger.Entry) {
	for n := from; n <= to; n++ {
		list = append(list, entry(n, fmt.Sprint("reason ", n)))
	}
	return list
}

type shelf struct {
	*testing.T
	ledger.Store
	path string
}

func newShelf(t *testing.T) *shelf {
	dir := t.TempDir()
	return &shelf{t, ledger.In(dir), filepath.Join(dir, "deliveries", session, "events.ndjson")}
}

func (s *shelf) record(list []ledger.Entry) {
	s.Helper()
	if err := s.Record(s.Context(), session, list); err != nil {
		s.Fatal(err)
	}
}

func (s *shelf) refuses(list []ledger.Entry, want error) {
	s.Helper()
	before, _ := os.ReadFile(s.path)
	if err := s.Record(s.Context(), session, list); !errors.Is(err, want) {
		s.Errorf("got %v, want %v", err, want)
	}
	if after, _ := os.ReadFile(s.path); string(after) != string(before) {
		s.Errorf("a refused call wrote %q", after)
	}
}

func (s *shelf) holds(last int) {
	s.Helper()
	list, err := s.Read(session)
	if err != nil {
		s.Fatal(err)
	}
	if len(list) != last {
		s.Fatalf("%d entries, want %d", len(list), last)
	}
	for i, e := range list {
		if e.N != i+1 || e.Event.Payload.(delivery.Invalidated).Reason != fmt.Sprint("reason ", e.N) || len(e.Audit) != 1 {
			s.Errorf("entry %d is %+v", i+1, e)
		}
	}
}

func TestRecordAppendsWhatIsMissing(t *testing.T) {
	s := newShelf(t)
	s.record(entries(1, 3))
	s.record(entries(1, 3))
	s.record(entries(2, 5))
	s.record(nil)
	s.holds(5)
	if list, err := s.Sessions(); err != nil || len(list) != 1 || list[0] != session {
		t.Errorf("sessions %v, %v", list, err)
	}
	if list, err := s.Read("another"); err != nil || list != nil {
		t.Errorf("a session without a ledger has %v, %v", list, err)
	}
}

func TestRecordRefusesAnotherCourse(t *testing.T) {
	s := newShelf(t)
	s.record(entries(1, 3))
	s.refuses(entries(5, 6), ledger.ErrBehind)
	s.refuses([]ledger.Entry{entry(3, "something else"), entry(4, "reason 4")}, ledger.ErrDiverged)
	s.refuses([]ledger.Entry{entry(4, "reason 4"), entry(6, "reason 6")}, ledger.ErrBehind)
	s.holds(3)
}

func TestRecordMendsALineThatACrashHasCut(t *testing.T) {
	s := newShelf(t)
	s.record(entries(1, 3))
	b, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	second := strings.LastIndex(strings.TrimSpace(string(b)), "\n") + 1
	for _, cut := range []int{second, second + 1, len(b) - 1} {
		if err := os.WriteFile(s.path, b[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s.holds(2)
		s.record(entries(3, 3))
		s.holds(3)
	}
}

func TestRecordWritesNothingIntoWhatItCannotRead(t *testing.T) {
	s := newShelf(t)
	s.record(entries(1, 2))
	f, err := file.Append(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"n\":9}\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s.refuses(entries(3, 3), ledger.ErrDamaged)
	if err := os.Rename(s.path, s.path+".aside"); err != nil {
		t.Fatal(err)
	}
	s.record(entries(3, 4)) // a person has put the damaged one aside
	s.refuses(entries(6, 6), ledger.ErrBehind)
}

func TestRecordFollowsNoLink(t *testing.T) {
	s := newShelf(t)
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, s.path); err != nil {
		t.Fatal(err)
	}
	s.refuses(entries(1, 1), file.ErrIrregular)
	if b, err := os.ReadFile(target); err != nil || len(b) > 0 {
		t.Errorf("the link's target holds %q, %v", b, err)
	}
}

func TestSessionIDsCannotLeaveTheDirectory(t *testing.T) {
	s := newShelf(t)
	for _, id := range []string{"", ".", "..", "../x", "a/b", "-x", strings.Repeat("x", 129)} {
		if err := s.Record(t.Context(), id, entries(1, 1)); err == nil {
			t.Errorf("%q was taken", id)
		}
		if _, err := s.Read(id); err == nil {
			t.Errorf("%q was read", id)
		}
	}
}

// A ledger that is longer than what a call compares is appended to all the same.
func TestRecordIntoALongLedger(t *testing.T) {
	s := newShelf(t)
	long := strings.Repeat("x", 1<<20)
	for n := 1; n <= 6; n++ {
		s.record([]ledger.Entry{entry(n, long)})
	}
	s.record([]ledger.Entry{entry(6, long), entry(7, "end")})
	s.refuses([]ledger.Entry{entry(7, "another end")}, ledger.ErrDiverged)
	list, err := s.Read(session)
	if err != nil || len(list) != 7 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

// What is longer than any entry was not left by a crash.
func TestRecordOverwritesNoLongLineOfAnother(t *testing.T) {
	s := newShelf(t)
	s.record(entries(1, 2))
	f, err := file.Append(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Repeat("x", 5<<20)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s.refuses(entries(3, 3), ledger.ErrDamaged)
}
