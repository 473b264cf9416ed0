package mailbox_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
)

func TestDrain(t *testing.T) {
	m := newMailboxes(t)
	one := enqueue(t, m, "", "one")
	ring(t, m)
	two := enqueue(t, m, "", "two")
	write(t, m, "hook.log", "x")
	m.Now = func() time.Time { return noon.Add(time.Minute) }
	var taken mailbox.Drained
	d, err := m.Drain(t.Context(), gid, func(d mailbox.Drained) error { taken = d; return nil })
	must(t, err)
	if !slices.Equal(bodies(d), []string{"one", "two"}) || !slices.Equal(bodies(taken), bodies(d)) || d.ReadAt != "2026-06-12T12:01:00.000Z" || taken.ReadAt != d.ReadAt {
		t.Errorf("%+v, taken %+v", d, taken)
	}
	if d.Messages[0].File != filepath.Base(one.Message)+".delivered" || d.Messages[1].File != filepath.Base(two.Message) {
		t.Errorf("files %+v", d.Messages)
	}
	want := []string{
		filepath.Base(one.Message) + ".delivered.read", filepath.Base(two.Message) + ".read", "hook.log", "inbox.signal", "state.json",
	}
	if got := names(t, m); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if s, err := m.State(gid); err != nil || s.LastRead != d.ReadAt || s.LastEnqueued != "2026-06-12T12:00:00.000Z" {
		t.Errorf("state %+v, %v", s, err)
	}
	m.Now = func() time.Time { return noon.Add(time.Hour) }
	if got := drain(t, m); got != nil {
		t.Errorf("a second drain: %q", got)
	}
	if s, err := m.State(gid); err != nil || s.LastRead != d.ReadAt {
		t.Errorf("reading nothing was stamped: %+v, %v", s, err)
	}
}

func TestNothingToDrainChangesNothing(t *testing.T) {
	m := newMailboxes(t)
	calls := 0
	take := func(d mailbox.Drained) error { calls++; return nil }
	if d, err := m.Drain(t.Context(), gid, take); err != nil || d.Messages == nil || len(d.Messages) != 0 || d.ReadAt != "" || calls != 1 {
		t.Errorf("no mailbox: %+v, %v, %d calls", d, err, calls)
	}
	if _, err := os.Stat(m.Dirs.Mailboxes); err == nil {
		t.Error("a mailbox was made")
	}
	write(t, m, "inbox.signal", "")
	drain(t, m)
	if entries, _ := os.ReadDir(m.Dirs.Mailbox(gid)); len(entries) != 1 {
		t.Errorf("in the mailbox: %v", entries)
	}
	if _, err := m.Drain(t.Context(), other, take); !errors.Is(err, citizen.ErrUnknown) {
		t.Errorf("nobody: %v", err)
	}
	if _, err := m.Drain(t.Context(), "../x", take); err == nil || calls != 1 {
		t.Errorf("outside: %v", err)
	}
}

func TestWhoCannotTakeTheMailLeavesItUnread(t *testing.T) {
	m := newMailboxes(t)
	enqueue(t, m, "", "one")
	lost := errors.New("lost")
	if d, err := m.Drain(t.Context(), gid, func(mailbox.Drained) error { return lost }); !errors.Is(err, lost) {
		t.Errorf("%+v, %v", d, err)
	}
	if s, err := m.State(gid); err != nil || s.LastRead != "" {
		t.Errorf("stamped: %+v, %v", s, err)
	}
	if got := drain(t, m); !slices.Equal(got, []string{"one"}) {
		t.Errorf("%q", got)
	}
}

func TestABrokenStateKeepsMailUnread(t *testing.T) {
	m := newMailboxes(t)
	enqueue(t, m, "", "one")
	write(t, m, "state.json", "[]")
	if _, err := m.Drain(t.Context(), gid, func(mailbox.Drained) error { t.Error("handed out"); return nil }); err == nil {
		t.Error("drained")
	}
	if count(t, m, ".msg") != 1 {
		t.Errorf("%q", names(t, m))
	}
}

func TestBodiesThatCannotBeReadStay(t *testing.T) {
	m := newMailboxes(t)
	enqueue(t, m, "", "good")
	at := func(name string) string { return filepath.Join(m.Dirs.Mailbox(gid), name) }
	write(t, m, "a-huge.msg", "")
	must(t, os.Truncate(at("a-huge.msg"), 1<<40))
	must(t, os.Symlink("/etc/passwd", at("b-link.msg")))
	must(t, unix.Mkfifo(at("c-fifo.msg.delivered"), 0o600))
	must(t, os.Mkdir(at("d-dir.msg"), 0o700))
	for range 2 {
		d, err := m.Drain(t.Context(), gid, func(mailbox.Drained) error { return nil })
		if err != nil || len(d.Unreadable) != 4 {
			t.Errorf("%+v, %v", d, err)
		}
	}
	if count(t, m, ".read") != 1 || count(t, m, ".msg") != 3 {
		t.Errorf("%q", names(t, m))
	}
}

// A body that stays unread is renamed once at most meanwhile.
func TestADrainPassesNothingOver(t *testing.T) {
	for seen := 3; seen <= 4; seen++ { // those before only tell whether there is mail
		m := newMailboxes(t)
		first := filepath.Base(enqueue(t, m, "", "one").Message)
		enqueue(t, m, "", "two")
		if got := drain(t, onlyListed(t, m, first, seen)); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("seen by listing %d alone: %q", seen, got)
		}
	}
}

func TestADrainHandsNoBodyOutTwice(t *testing.T) {
	m := newMailboxes(t)
	enqueue(t, m, "", "one")
	enqueue(t, m, "", "two")
	listings := 0
	watched := m.At(func(step string) {
		if step == "list" {
			listings++
		}
		if listings == 4 {
			ring(t, m) // between two listings that count
		}
	})
	if got := drain(t, watched); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
}

// Whoever writes so breaks the protocol, and loses nothing by it.
func TestABodyThatIsThereByBothNames(t *testing.T) {
	m := newMailboxes(t)
	name := filepath.Base(enqueue(t, m, "", "one").Message)
	write(t, m, name+".delivered", "another")
	write(t, m, name+".delivered.read", "an old one")
	if got := [][]string{drain(t, m), drain(t, m), drain(t, m)}; !slices.EqualFunc(got, [][]string{{"another"}, {"one"}, nil}, slices.Equal) {
		t.Errorf("%q", got)
	}
}

// The doorbell of another program goes through a big mailbox while we read it.
func TestABigMailboxIsReadWhileTheDoorbellRings(t *testing.T) {
	m := newMailboxes(t)
	write(t, m, "body", "x")
	dir := m.Dirs.Mailbox(gid)
	var want []string
	for i := range 3000 {
		want = append(want, fmt.Sprintf("2026-06-12T12-%02d-%02d-000Z-ffffff", i/60, i%60))
		must(t, os.Link(filepath.Join(dir, "body"), filepath.Join(dir, want[i]+".msg")))
	}
	var wg sync.WaitGroup
	wg.Go(func() { ring(t, m) })
	d, err := m.Drain(t.Context(), gid, func(mailbox.Drained) error { return nil })
	wg.Wait()
	must(t, err)
	var got []string
	for _, msg := range d.Messages {
		got = append(got, strings.TrimSuffix(strings.TrimSuffix(msg.File, ".delivered"), ".msg"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d bodies of %d, %d of them different", len(got), len(want), len(slices.Compact(slices.Sorted(slices.Values(got)))))
	}
}

// One drain holds so much in memory, and the next goes on.
func TestMoreMailThanOneDrainHolds(t *testing.T) {
	rows := []struct {
		name   string
		bodies int
		size   int64
		want   []int // mails that each drain hands out
	}{
		{"many mails", 10_003, 1, []int{10_000, 3, 0}},
		{"big mails", 17, mailbox.MaxBody, []int{16, 1, 0}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m := newMailboxes(t)
			write(t, m, "body", "")
			body := filepath.Join(m.Dirs.Mailbox(gid), "body")
			must(t, os.Truncate(body, row.size))
			for i := range row.bodies {
				must(t, os.Link(body, filepath.Join(m.Dirs.Mailbox(gid), fmt.Sprintf("%06d.msg", i))))
			}
			next, left := 0, row.bodies
			for i, want := range row.want {
				m.Now = func() time.Time { return noon.Add(time.Duration(i) * time.Hour) }
				d, err := m.Drain(t.Context(), gid, func(mailbox.Drained) error { return nil })
				left -= want
				if err != nil || len(d.Messages) != want || d.Left != left || (d.ReadAt == "") != (want == 0) {
					t.Fatalf("drain %d: %d bodies, %d left, read at %q, %v", i, len(d.Messages), d.Left, d.ReadAt, err)
				}
				for _, msg := range d.Messages {
					if msg.File != fmt.Sprintf("%06d.msg", next) {
						t.Fatalf("%s, want the body %d", msg.File, next)
					}
					next++
				}
			}
		})
	}
}

func TestADrainThatIsKilled(t *testing.T) {
	for _, point := range []string{
		"mailbox.before-take=kill", "mailbox.after-take=kill", "mailbox.before-stamp=kill", "mailbox.after-receipt=kill",
		"mailbox.after-archive=kill", "mailbox.after-archive=kill@2", "mailbox.after-archive=kill@3",
	} {
		t.Run(point, func(t *testing.T) {
			m := newMailboxes(t)
			all := []string{"one", "two", "three"}
			for _, body := range all {
				enqueue(t, m, "", body)
			}
			first, killed := child(t, m, "", point)
			if !killed {
				t.Fatal("not killed")
			}
			second, _ := child(t, m, "", "")
			if !slices.Equal(first, all) && !slices.Equal(second, all) {
				t.Errorf("handed out: %q, then %q", first, second)
			}
			if s, err := m.State(gid); err != nil || s.LastRead == "" {
				t.Errorf("state %+v, %v", s, err)
			}
			if third, _ := child(t, m, "", ""); len(third) != 0 || count(t, m, ".read") != 3 {
				t.Errorf("%q is left", third)
			}
		})
	}
}

func TestFiftyDrainsAtOnce(t *testing.T) {
	m := newMailboxes(t)
	for i := range 10 {
		enqueue(t, m, "", fmt.Sprint("body ", i))
	}
	ring(t, m)
	for i := range 10 {
		enqueue(t, m, "", fmt.Sprint("body ", 10+i))
	}
	var mu sync.Mutex
	var got []string
	winners := 0
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := m.Drain(t.Context(), gid, func(d mailbox.Drained) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, bodies(d)...)
				if len(d.Messages) > 0 {
					winners++
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if winners != 1 || len(got) != 20 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 20 {
		t.Errorf("%d drains got %d bodies: %q", winners, len(got), got)
	}
}

// Senders, drains of ours, and the drains and the doorbell of a program that
// does not lock. Each mail is sent twice.
func TestNothingIsLostAmongOthers(t *testing.T) {
	m := newMailboxes(t)
	var mu sync.Mutex
	got := map[string]bool{}
	take := func(body string) { mu.Lock(); defer mu.Unlock(); got[body] = true }
	var wg, senders sync.WaitGroup
	mail := make(chan struct{}) // somebody has sent
	for i := range 4 {
		senders.Go(func() {
			for j := range 20 {
				one := mailbox.Mail{To: gid, ID: fmt.Sprint(i, "/", j/2), Body: fmt.Sprint(i, "/", j/2)}
				if _, err := m.Enqueue(t.Context(), one); err != nil {
					t.Error(err)
				}
				mail <- struct{}{}
			}
		})
	}
	loop := func(f func()) {
		wg.Go(func() {
			for range mail {
				f()
			}
		})
	}
	for range 2 {
		loop(func() {
			if _, err := m.Drain(t.Context(), gid, func(d mailbox.Drained) error {
				for _, body := range bodies(d) {
					take(body)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	loop(func() { ring(t, m) })
	loop(func() { // as the other program drains
		for _, name := range names(t, m) {
			path := filepath.Join(m.Dirs.Mailbox(gid), name)
			if !strings.HasSuffix(name, ".msg") && !strings.HasSuffix(name, ".msg.delivered") {
				continue
			}
			if b, err := os.ReadFile(path); err == nil && os.Rename(path, path+".read") == nil {
				take(string(b))
			}
		}
	})
	senders.Wait()
	close(mail)
	wg.Wait()
	for _, body := range drain(t, m) {
		take(body)
	}
	if len(got) != 40 || count(t, m, ".read") != 40 {
		t.Errorf("%d bodies of 40 were handed out, %d are there", len(got), count(t, m, ".read"))
	}
}
