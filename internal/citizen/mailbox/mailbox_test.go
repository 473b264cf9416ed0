package mailbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

func TestEnqueue(t *testing.T) {
	m := newMailboxes(t)
	e := enqueue(t, m, "", "hello <&>\n")
	dir := m.Dirs.Mailbox(gid)
	if !regexp.MustCompile(`^2026-06-12T12-00-00-000Z-[0-9a-f]{6}\.msg$`).MatchString(filepath.Base(e.Message)) {
		t.Errorf("named %s", e.Message)
	}
	want := mailbox.Enqueued{
		Record: filepath.Join(m.Dirs.Sessions, string(gid)+".meta.json"), Message: e.Message,
		Signal: filepath.Join(dir, "inbox.signal"), State: filepath.Join(dir, "state.json"),
	}
	if e != want || filepath.Dir(e.Message) != dir {
		t.Errorf("%+v, want %+v", e, want)
	}
	files := map[string]string{
		e.Message: "hello <&>\n",
		e.Signal:  "2026-06-12T12:00:00.000Z\n",
		e.State: `{
  "schemaVersion": 1,
  "gardenId": "20260612T093000-0a1b2c",
  "lastEnqueuedAt": "2026-06-12T12:00:00.000Z",
  "lastDeliveredAt": null,
  "lastReadAt": null
}
`,
	}
	for path, want := range files {
		b, err := os.ReadFile(path)
		if err != nil || string(b) != want {
			t.Errorf("%s: %q, %v; want %q", path, b, err, want)
		}
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", path, info.Mode())
		}
	}
	if len(names(t, m)) != 3 {
		t.Errorf("in the mailbox: %q", names(t, m))
	}
	watched, _ := os.Stat(e.Signal)
	enqueue(t, m, "", "again")
	if after, _ := os.Stat(e.Signal); !os.SameFile(watched, after) {
		t.Error("the signal is another file, which nobody watches")
	}
}

func TestWhatIsNotEnqueued(t *testing.T) {
	rows := []struct {
		name  string
		mail  mailbox.Mail
		setUp func(m mailbox.Mailboxes) error
		want  error
	}{
		{"an empty body", mailbox.Mail{To: gid}, nil, nil},
		{"a huge body", mailbox.Mail{To: gid, Body: strings.Repeat("x", mailbox.MaxBody+1)}, nil, nil},
		{"a body that is no text", mailbox.Mail{To: gid, Body: "\xff"}, nil, nil},
		{"no garden id", mailbox.Mail{To: "../x", Body: "x"}, nil, nil},
		{"nobody", mailbox.Mail{To: other, Body: "x"}, nil, citizen.ErrUnknown},
		{"a record that drifted", mailbox.Mail{To: other, Body: "x"}, func(m mailbox.Mailboxes) error {
			s := citizen.Store{Dir: m.Dirs.Sessions}
			b, err := os.ReadFile(s.Path(gid))
			return errors.Join(err, os.WriteFile(s.Path(other), b, 0o600))
		}, citizen.ErrDrift},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMailboxes(t)
			if row.setUp != nil {
				must(t, row.setUp(m))
			}
			if e, err := m.Enqueue(t.Context(), row.mail); err == nil || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("%+v, %v", e, err)
			}
			if _, err := os.Stat(m.Dirs.Mailboxes); err == nil {
				t.Error("a mailbox was made")
			}
		})
	}
}

func TestABrokenStateKeepsBodiesOut(t *testing.T) {
	m := newMailboxes(t)
	write(t, m, "state.json", "{")
	if _, err := m.Enqueue(t.Context(), mailbox.Mail{To: gid, Body: "x"}); err == nil {
		t.Error("enqueued")
	}
	if got := names(t, m); len(got) != 1 {
		t.Errorf("in the mailbox: %q", got)
	}
}

func TestOrder(t *testing.T) {
	rows := []struct {
		name  string
		clock func(i int) time.Time
	}{
		{"within one millisecond", func(i int) time.Time { return noon.Add(time.Duration(i) * time.Microsecond) }},
		{"while the clock is set back", func(i int) time.Time { return noon.Add(-time.Duration(i) * time.Hour) }},
		{"over the end of a second", func(i int) time.Time { return noon.Add(-3 * time.Millisecond) }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMailboxes(t)
			var want []string
			for i := range 15 {
				m.Now = func() time.Time { return row.clock(i) }
				if i == 5 { // as another program names it
					write(t, m, strings.TrimSuffix(filepath.Base(enqueue(t, m, "", "theirs").Message), ".msg")[:24]+"-ffffff.msg", "theirs too")
					want = append(want, "theirs", "theirs too")
				}
				if i == 10 {
					ring(t, m)
				}
				body := fmt.Sprint("body ", i)
				enqueue(t, m, fmt.Sprint(i%2*i), body) // with an id, or the same as others
				want = append(want, body)
			}
			if got := drain(t, m); !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
			m.Now = func() time.Time { return noon.Add(-23 * time.Hour) }
			if e := enqueue(t, m, "", "x"); strings.Contains(e.Message, "2026-06-11") {
				t.Errorf("%s sorts before what was read", e.Message)
			}
		})
	}
}

// Stamps that no clock can have made, or that of one which was very wrong.
func TestStampsFarAhead(t *testing.T) {
	rows := []struct{ name, there, want string }{
		{"the last that can be written", "9999-12-31T23-59-59-999Z-ffffff.msg", "2026-06-12T12-00-00-000Z-"},
		{"one more", "10000-01-01T00-00-00-000Z-ffffff.msg", "2026-06-12T12-00-00-000Z-"},
		{"of years ahead", "2037-01-01T00-00-00-000Z-ffffff.msg", "2026-06-12T12-00-00-000Z-"},
		{"of years ahead, read", "2037-01-01T00-00-00-000Z-ffffff.msg.delivered.read", "2026-06-12T12-00-00-000Z-"},
		{"more than a day ahead", "2026-06-13T12-00-00-001Z-ffffff.msg", "2026-06-12T12-00-00-000Z-"},
		{"a day ahead", "2026-06-13T12-00-00-000Z-ffffff.msg", "2026-06-13T12-00-00-001Z-"},
		{"none, in a name as long as a stem", strings.Repeat("x", 31) + ".msg", "2026-06-12T12-00-00-000Z-"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMailboxes(t)
			write(t, m, row.there, "theirs")
			first := enqueue(t, m, "id-1", "one")
			if !strings.HasPrefix(filepath.Base(first.Message), row.want) {
				t.Errorf("%s, want %s", first.Message, row.want)
			}
			if again := enqueue(t, m, "id-1", "one"); !again.Again || again.Message != first.Message {
				t.Errorf("%+v, first %+v", again, first)
			}
			if second := enqueue(t, m, "id-2", "two"); second.Message <= first.Message {
				t.Errorf("%s sorts before %s", second.Message, first.Message)
			}
		})
	}
}

// A mail is found by its tag, whatever stamp it has by now.
func TestAMailWhoseStampIsNoneIsEnqueuedOnce(t *testing.T) {
	m := newMailboxes(t)
	first := filepath.Base(enqueue(t, m, "id-1", "one").Message)
	for _, stamp := range []string{"10000-01-01T00-00-00-000Z", "x"} {
		name := stamp + first[len(first)-len("-ffffff.msg"):]
		rename(t, m, first, name)
		if again := enqueue(t, m, "id-1", "one"); !again.Again || filepath.Base(again.Message) != name {
			t.Errorf("%+v, want %s", again, name)
		}
		first = name
	}
}

// A body is renamed twice in its life, and the listing of its directory that goes
// on meanwhile may pass it over.
func TestAMailThatListingsPassOverIsEnqueuedOnce(t *testing.T) {
	m := newMailboxes(t)
	first := filepath.Base(enqueue(t, m, "id-1", "one").Message)
	for seen := 1; seen <= 3; seen++ {
		again := enqueue(t, onlyListed(t, m, first, seen), "id-1", "one")
		if !again.Again || filepath.Base(again.Message) != first {
			t.Errorf("seen by listing %d alone: %+v", seen, again)
		}
	}
	if count(t, m, ".msg") != 1 {
		t.Errorf("%q", names(t, m))
	}
}

func TestAMailThatComesAfterOneThatListingsPassOver(t *testing.T) {
	for seen := 1; seen <= 3; seen++ {
		m := newMailboxes(t)
		first := filepath.Base(enqueue(t, m, "", "one").Message)
		if second := enqueue(t, onlyListed(t, m, first, seen), "", "two"); filepath.Base(second.Message)[:24] <= first[:24] {
			t.Errorf("seen by listing %d alone: %s does not sort behind %s", seen, second.Message, first)
		}
	}
}

func TestAMailIsEnqueuedOnce(t *testing.T) {
	rows := []struct {
		name   string
		after  func(t *testing.T, m mailbox.Mailboxes)
		state  string
		signal bool // the doorbell is rung again
	}{
		{"while it is fresh", func(*testing.T, mailbox.Mailboxes) {}, ".msg", true},
		{"after the doorbell", func(t *testing.T, m mailbox.Mailboxes) { ring(t, m) }, ".msg.delivered", false},
		{"after it was read", func(t *testing.T, m mailbox.Mailboxes) { drain(t, m) }, ".msg.read", false},
		{"after the doorbell, and after it was read", func(t *testing.T, m mailbox.Mailboxes) { ring(t, m); drain(t, m) }, ".msg.delivered.read", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMailboxes(t)
			first := enqueue(t, m, "id-1", "hello")
			row.after(t, m)
			must(t, os.Remove(first.Signal))
			m.Now = func() time.Time { return noon.Add(time.Hour) }
			again := enqueue(t, m, "id-1", "hello")
			if !again.Again || again.Message != strings.TrimSuffix(first.Message, ".msg")+row.state {
				t.Errorf("%+v, first %+v", again, first)
			}
			if _, err := os.Stat(first.Signal); (err == nil) != row.signal {
				t.Errorf("signal: %v", err)
			}
			if fresh := enqueue(t, m, "id-2", "hello"); fresh.Again {
				t.Errorf("another mail: %+v", fresh)
			}
		})
	}
}

func TestMailsWithTheSameTag(t *testing.T) {
	m := newMailboxes(t)
	first := enqueue(t, m, "id-1", "hello")
	must(t, os.WriteFile(first.Message, []byte("another mail's"), 0o600))
	second := enqueue(t, m, "id-1", "hello")
	if second.Again || second.Message == first.Message {
		t.Errorf("%+v, first %+v", second, first)
	}
	if again := enqueue(t, m, "id-1", "hello"); !again.Again || again.Message != second.Message {
		t.Errorf("%+v, want %+v", again, second)
	}
	if got := drain(t, m); !slices.Equal(got, []string{"another mail's", "hello"}) {
		t.Errorf("%q", got)
	}
}

func TestAnEnqueueThatIsKilled(t *testing.T) {
	for _, point := range []string{"mailbox.before-body", "citizen.before-name", "mailbox.after-body", "mailbox.before-stamp", "mailbox.before-signal"} {
		t.Run(point, func(t *testing.T) {
			m := newMailboxes(t)
			if _, killed := child(t, m, "hello", point+"=kill"); !killed {
				t.Fatal("not killed")
			}
			if _, killed := child(t, m, "hello", ""); killed {
				t.Fatal("killed without cause")
			}
			if n := count(t, m, ".msg"); n != 1 {
				t.Errorf("%d bodies: %q", n, names(t, m))
			}
			if s, err := m.State(gid); err != nil || s.LastEnqueued == "" {
				t.Errorf("state %+v, %v", s, err)
			}
			if count(t, m, "inbox.signal") != 1 {
				t.Error("nobody rang")
			}
			if got := drain(t, m); !slices.Equal(got, []string{"hello"}) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestWhatAKilledEnqueueLeftIsRemoved(t *testing.T) {
	m := newMailboxes(t)
	if _, killed := child(t, m, "hello", "citizen.before-name=kill"); !killed {
		t.Fatal("not killed")
	}
	left := names(t, m)
	if len(left) != 1 || !strings.Contains(left[0], ".msg.tmp-") {
		t.Fatalf("%q", left)
	}
	must(t, os.Chtimes(filepath.Join(m.Dirs.Mailbox(gid), left[0]), time.Time{}, time.Now().Add(-2*time.Hour)))
	enqueue(t, m, "", "two")
	if got := names(t, m); len(got) != 3 || slices.Contains(got, left[0]) {
		t.Errorf("%q", got)
	}
}

func TestFiftySendersAtOnce(t *testing.T) {
	m := newMailboxes(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			mail := mailbox.Mail{To: gid, ID: fmt.Sprint("id ", i/2), Body: fmt.Sprint("body ", i/2)}
			if _, err := m.Enqueue(t.Context(), mail); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := drain(t, m)
	slices.Sort(got)
	if len(got) != 25 || len(slices.Compact(got)) != 25 {
		t.Errorf("%d bodies: %q", len(got), got)
	}
}

func TestHostileMailboxes(t *testing.T) {
	path := func(m mailbox.Mailboxes, name string) string { return filepath.Join(m.Dirs.Mailbox(gid), name) }
	rows := map[string]func(m mailbox.Mailboxes) error{
		"the signal is a symlink":   func(m mailbox.Mailboxes) error { return os.Symlink("/nowhere", path(m, "inbox.signal")) },
		"the signal is a fifo":      func(m mailbox.Mailboxes) error { return unix.Mkfifo(path(m, "inbox.signal"), 0o600) },
		"the signal is a directory": func(m mailbox.Mailboxes) error { return os.Mkdir(path(m, "inbox.signal"), 0o700) },
		"the state is a symlink":    func(m mailbox.Mailboxes) error { return os.Symlink("/nowhere", path(m, "state.json")) },
		"the state is a fifo":       func(m mailbox.Mailboxes) error { return unix.Mkfifo(path(m, "state.json"), 0o600) },
		"the lock is a symlink":     func(m mailbox.Mailboxes) error { return os.Symlink("/nowhere", path(m, ".ratchet.lock")) },
		"the mailbox is a file": func(m mailbox.Mailboxes) error {
			return errors.Join(os.Remove(path(m, "")), os.WriteFile(path(m, ""), nil, 0o600))
		},
	}
	for name, setUp := range rows {
		t.Run(name, func(t *testing.T) {
			m := newMailboxes(t)
			must(t, os.MkdirAll(path(m, ""), 0o700))
			must(t, setUp(m))
			if e, err := m.Enqueue(t.Context(), mailbox.Mail{To: gid, Body: "x"}); err == nil {
				t.Errorf("enqueued: %+v", e)
			}
		})
	}
}

func TestState(t *testing.T) {
	good := `{"schemaVersion": 1, "gardenId": "` + string(gid) + `", "lastEnqueuedAt": "a", "lastDeliveredAt": "b", "lastReadAt": null}`
	rows := []struct {
		name, old, new string
		ok             bool
	}{
		{"a state", "", "", true},
		{"not JSON", "}", "", false},
		{"an array", good, "[]", false},
		{"null", good, "null", false},
		{"another version", ": 1", ": 2", false},
		{"no version", `"schemaVersion": 1, `, "", false},
		{"no garden id", string(gid), "x", false},
		{"another citizen's", string(gid), string(other), false},
		{"a stamp that is a number", `"a"`, "1", false},
		{"an empty stamp", `"a"`, `""`, false},
		{"a stamp that is not there", `"lastEnqueuedAt": "a", `, "", false},
		{"a further member", "{", `{"more": null, `, false},
		{"an unknown stamp", "lastReadAt", "lastSeenAt", false},
	}
	for _, row := range rows {
		m := newMailboxes(t)
		write(t, m, "state.json", strings.Replace(good, row.old, row.new, 1))
		s, err := m.State(gid)
		if (err == nil) != row.ok {
			t.Errorf("%s: %+v, %v", row.name, s, err)
		}
		if want := (mailbox.State{GardenID: gid, LastEnqueued: "a", LastDelivered: "b"}); row.ok && s != want {
			t.Errorf("%s: %+v, want %+v", row.name, s, want)
		}
	}
	m := newMailboxes(t)
	if s, err := m.State(gid); err != nil || s != (mailbox.State{GardenID: gid}) {
		t.Errorf("no state: %+v, %v", s, err)
	}
	if _, err := os.Stat(m.Dirs.Mailboxes); err == nil {
		t.Error("it was made")
	}
	if _, err := m.State(dispatch.GardenID("x/y")); err == nil {
		t.Error("read outside")
	}
	write(t, m, "state.json", good)
	enqueue(t, m, "", "x")
	if s, err := m.State(gid); err != nil || s.LastDelivered != "b" || s.LastEnqueued != "2026-06-12T12:00:00.000Z" {
		t.Errorf("after a mail: %+v, %v", s, err)
	}
}
