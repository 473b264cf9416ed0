package main

import (
	"bytes"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

func TestMailThatCannotBePrintedStaysUnread(t *testing.T) {
	for name, tt := range map[string]struct {
		out  io.Writer
		args []string
		left int
	}{
		"printed":                      {io.Discard, nil, 0},
		"printed as JSON":              {io.Discard, []string{"--json"}, 0},
		"a full disk":                  {failing{syscall.ENOSPC}, nil, 1},
		"a full disk, as JSON":         {failing{syscall.ENOSPC}, []string{"--json"}, 1},
		"a reader that has gone":       {failing{syscall.EPIPE}, nil, 1},
		"a disk that is full half way": {&half{}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
			if err != nil {
				t.Fatal(err)
			}
			r, err := (&citizen.Store{Dir: dirs.Sessions}).Register(t.Context(), citizen.Birth{Backend: dispatch.ClaudeCode, NativeSessionID: "n-1", CWD: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			boxes := mailbox.Mailboxes{Dirs: dirs}
			if _, err := boxes.Enqueue(t.Context(), mailbox.Mail{To: r.GardenID, Body: "hello"}); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			c := newFactory(console.Console{Args: append([]string{"inbox", "read", string(r.GardenID)}, tt.args...), Out: tt.out, Err: &said, Environ: []string{"HOME=" + home}, Now: time.Now})
			if code := c.Run(t.Context()); (code != 0) != (tt.left > 0) {
				t.Errorf("code %d: %s", code, said.String())
			}
			_, unread, err := boxes.Open(t.Context(), r.GardenID)
			if err != nil || unread != tt.left {
				t.Errorf("%d unread, want %d: %v; it said %q", unread, tt.left, err, said.String())
			}
		})
	}
}

// half is a writer that takes half of what it gets.
type half struct{}

func (*half) Write(b []byte) (int, error) { return len(b) / 2, syscall.ENOSPC }
