package tools_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

const own = `{"gardenId":"` + string(claude) + `"}`

func (w *fixture) mail(t *testing.T, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		_, err := w.boxes().Enqueue(t.Context(), mailbox.Mail{To: claude, Body: body})
		must(t, err)
	}
}

func (w *fixture) boxes() mailbox.Mailboxes { return mailbox.Mailboxes{Dirs: w.Dirs} }

// unread is how many bodies nobody was handed.
func (w *fixture) unread(t *testing.T) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(w.Dirs.Mailbox(claude), "*.msg"))
	must(t, err)
	return len(names)
}

func (w *fixture) readAt(t *testing.T) string {
	t.Helper()
	s, err := w.boxes().State(claude)
	must(t, err)
	return s.LastRead
}

func TestInbox(t *testing.T) {
	w := newFixture(t)
	w.mail(t, "one\x1b[2J", "two")
	c := w.connect(t)
	res := c.call("entwurf_inbox_read", own)
	var d mailbox.Drained
	structured(t, res, &d)
	if len(d.Messages) != 2 || d.Messages[0].Body != "one\x1b[2J" || d.Messages[1].Body != "two" || d.GardenID != claude || d.ReadAt == "" {
		t.Fatalf("%+v", d)
	}
	want := fmt.Sprintf("%s\none\x1b[2J\n\n%s\ntwo\n\n", d.Messages[0].File, d.Messages[1].File)
	if said(t, res) != want {
		t.Errorf("%q, want %q", said(t, res), want)
	}
	res = c.call("entwurf_inbox_read", own) // waits for the first one's end
	structured(t, res, &d)
	if len(d.Messages) != 0 || said(t, res) != "no unread mail" || w.unread(t) != 0 || w.readAt(t) == "" {
		t.Errorf("%+v, %q, %d unread, read at %q", d, said(t, res), w.unread(t), w.readAt(t))
	}
	if line := c.refused("entwurf_inbox_read", `{"gardenId":"20260612T093000-ffffff"}`); !strings.Contains(line, "no such session") {
		t.Errorf("%q", line)
	}
}

func TestWhoIsKnownReadsNobodyElsesMail(t *testing.T) {
	for _, row := range []struct {
		name  string
		is    func(w *fixture)
		whose dispatch.GardenID // named by the line of a refusal; empty: the mail is handed out
	}{
		{"another by its environment", func(w *fixture) { w.vars["PI_SESSION_ID"], w.vars["PI_AGENT_ID"] = string(live), "pi/opus" }, live},
		{"itself by its marker", func(w *fixture) { w.isClaude(t) }, ""},
		{"nobody", func(*fixture) {}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newFixture(t)
			w.mail(t, "one")
			row.is(w)
			res := w.connect(t).call("entwurf_inbox_read", own)
			if row.whose == "" {
				var d mailbox.Drained
				if structured(t, res, &d); len(d.Messages) != 1 {
					t.Errorf("%+v", d)
				}
				return
			}
			if line := said(t, res); !res.IsError || !strings.Contains(line, "your own garden id is "+string(row.whose)) || w.unread(t) != 1 || w.readAt(t) != "" {
				t.Errorf("%s, %d unread, read at %q", line, w.unread(t), w.readAt(t))
			}
		})
	}
}

var mails = regexp.MustCompile(`mail \d\d`)

func TestManyReadersGetEachMailOnce(t *testing.T) {
	w := newFixture(t)
	var want []string
	for n := range 40 {
		want = append(want, fmt.Sprintf("mail %02d", n))
	}
	w.mail(t, want...)
	got := make(chan []string)
	for range 4 {
		c := w.connect(t)
		go func() {
			var bodies []string
			for range 3 {
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "entwurf_inbox_read", Arguments: map[string]any{"gardenId": claude}})
				if err != nil {
					t.Error(err)
					continue
				}
				bodies = append(bodies, mails.FindAllString(said(t, res), -1)...)
			}
			got <- bodies
		}()
	}
	var all []string
	for range 4 {
		all = append(all, <-got...)
	}
	if slices.Sort(all); !slices.Equal(all, want) {
		t.Errorf("%q", all)
	}
}

// cutter breaks when an answer with mail comes.
type cutter struct{ io.Writer }

func (c cutter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("the mail")) {
		return 0, errors.New("broken")
	}
	return c.Writer.Write(p)
}

func TestMailWhoseAnswerIsNotWrittenStaysUnread(t *testing.T) {
	w := newFixture(t)
	w.mail(t, "the mail")
	p := w.serve(t.Context(), t, func(out io.Writer) io.Writer { return cutter{out} })
	go io.Copy(io.Discard, p.out)
	p.talk(t, hello, calls("entwurf_inbox_read", own))
	eventually.Holds(t, "the mail was handed out", func() bool { return strings.Contains(w.log.String(), "returned again") })
	p.in.Close()
	<-p.ended
	if w.unread(t) != 1 || w.readAt(t) != "" {
		t.Fatalf("%d unread, read at %q", w.unread(t), w.readAt(t))
	}
	var d mailbox.Drained
	structured(t, w.connect(t).call("entwurf_inbox_read", own), &d)
	if len(d.Messages) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestACallThatIsCancelledLeavesTheMail(t *testing.T) {
	w := newFixture(t)
	w.mail(t, "the mail")
	leave, err := file.Lock(t.Context(), filepath.Join(w.Dirs.Mailbox(claude), ".ratchet-drain.lock"))
	must(t, err)
	c := w.connect(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "entwurf_inbox_read", Arguments: map[string]any{"gardenId": claude}})
		ended <- err
	}()
	c.call("entwurf_peers", ``)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	must(t, c.Close())
	<-c.ended // nobody waits for the lock any more
	leave()
	if w.unread(t) != 1 || w.readAt(t) != "" {
		t.Errorf("%d unread, read at %q", w.unread(t), w.readAt(t))
	}
}

func TestMoreMailThanAnAnswerHoldsStays(t *testing.T) {
	w := newFixture(t)
	half := strings.Repeat("x", mailbox.MaxBody/2+1)
	w.mail(t, half, half)
	if line := w.connect(t).refused("entwurf_inbox_read", own); !strings.Contains(line, "starter inbox read") || w.unread(t) != 2 {
		t.Errorf("%q, %d unread", line, w.unread(t))
	}
}

func TestMailThatCannotBeReadHidesNone(t *testing.T) {
	w := newFixture(t)
	w.mail(t, "one")
	must(t, os.Symlink("nowhere", filepath.Join(w.Dirs.Mailbox(claude), "2026-01-01T00-00-00-000Z-000000.msg")))
	res := w.connect(t).call("entwurf_inbox_read", own)
	var d mailbox.Drained
	structured(t, res, &d)
	if len(d.Messages) != 1 || len(d.Unreadable) != 1 || !strings.Contains(said(t, res), "one\n") || !strings.Contains(said(t, res), "unreadable: ") {
		t.Errorf("%+v, %s", d, said(t, res))
	}
}
