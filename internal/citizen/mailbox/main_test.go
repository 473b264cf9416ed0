package mailbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

const (
	gid   dispatch.GardenID = "20260612T093000-0a1b2c"
	other dispatch.GardenID = "20260612T093000-ffffff"
)

// As a child the test binary has HOME's mailbox: it writes the mail given, or
// drains and prints a line for each body.
const (
	asChild = "MAILBOX_TEST_HOME"
	mail    = "MAILBOX_TEST_LETTER"
)

func TestMain(m *testing.M) {
	home := os.Getenv(asChild)
	if home == "" {
		os.Exit(m.Run())
	}
	if err := play(home, os.Getenv(mail)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(home, mail string) error {
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	if err != nil {
		return err
	}
	m := mailbox.Mailboxes{Dirs: dirs}
	if mail != "" {
		_, err := m.Enqueue(context.Background(), mailbox.Mail{To: gid, ID: mail, Body: mail})
		return err
	}
	_, err = m.Drain(context.Background(), gid, func(d mailbox.Drained) error {
		for _, msg := range d.Messages {
			fmt.Println(msg.Body)
		}
		return nil
	})
	return err
}

// child runs it with failpoints, and returns what it printed and whether it was
// killed.
func child(t *testing.T, m mailbox.Mailboxes, letterID, failpoints string) (lines []string, killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"="+m.Dirs.Home, mail+"="+letterID, "RATCHET_FAILPOINTS="+failpoints, "GORACE=atexit_sleep_ms=0")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.Exited() {
		t.Fatalf("%v: %s", err, said.String())
	}
	return strings.Fields(string(out)), err != nil
}

var noon = time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)

// newMailboxes are those of a registry with one citizen, gid, at noon.
func newMailboxes(t testing.TB) mailbox.Mailboxes {
	t.Helper()
	home := t.TempDir()
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	must(t, err)
	store := citizen.Store{Dir: dirs.Sessions}
	_, err = store.Register(t.Context(), citizen.Birth{GardenID: gid, Backend: dispatch.ClaudeCode, NativeSessionID: "n-1", CWD: "/w"})
	must(t, err)
	return mailbox.Mailboxes{Dirs: dirs, Now: func() time.Time { return noon }}
}

func enqueue(t testing.TB, m mailbox.Mailboxes, id, body string) mailbox.Enqueued {
	t.Helper()
	e, err := m.Enqueue(t.Context(), mailbox.Mail{To: gid, ID: id, Body: body})
	must(t, err)
	return e
}

// drain returns the bodies.
func drain(t testing.TB, m mailbox.Mailboxes) []string {
	t.Helper()
	d, err := m.Drain(t.Context(), gid, func(mailbox.Drained) error { return nil })
	must(t, err)
	return bodies(d)
}

func bodies(d mailbox.Drained) []string {
	var all []string
	for _, msg := range d.Messages {
		all = append(all, msg.Body)
	}
	return all
}

// ring does what the doorbell of another program does: it renames every fresh
// body, and says how many there are to read then.
func ring(t testing.TB, m mailbox.Mailboxes) int {
	t.Helper()
	for _, name := range names(t, m) {
		if path := filepath.Join(m.Dirs.Mailbox(gid), name); strings.HasSuffix(name, ".msg") {
			_ = os.Rename(path, path+".delivered") // unless somebody has just read it
		}
	}
	n := 0
	for _, name := range names(t, m) {
		if strings.HasSuffix(name, ".msg.delivered") {
			n++
		}
	}
	return n
}

// names are the names in the mailbox that are not ours alone.
func names(t testing.TB, m mailbox.Mailboxes) []string {
	t.Helper()
	entries, err := os.ReadDir(m.Dirs.Mailbox(gid))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return slices.DeleteFunc(all, func(name string) bool { return strings.HasPrefix(name, ".ratchet") })
}

func count(t testing.TB, m mailbox.Mailboxes, end string) int {
	t.Helper()
	n := 0
	for _, name := range names(t, m) {
		if strings.HasSuffix(name, end) {
			n++
		}
	}
	return n
}

// onlyListed is m with a body that all listings pass over but one, counted from
// 1. That another program renames it meanwhile is what does it; here it is away.
func onlyListed(t testing.TB, m mailbox.Mailboxes, name string, seen int) mailbox.Mailboxes {
	t.Helper()
	n := 0
	return m.At(func(step string) {
		switch step {
		case "list":
			if n++; n != seen {
				rename(t, m, name, name+".away")
			}
		case "listed":
			if n != seen {
				rename(t, m, name+".away", name)
			}
		}
	})
}

func rename(t testing.TB, m mailbox.Mailboxes, from, to string) {
	t.Helper()
	must(t, os.Rename(filepath.Join(m.Dirs.Mailbox(gid), from), filepath.Join(m.Dirs.Mailbox(gid), to)))
}

func write(t testing.TB, m mailbox.Mailboxes, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(m.Dirs.Mailbox(gid), 0o755))
	must(t, os.WriteFile(filepath.Join(m.Dirs.Mailbox(gid), name), []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
