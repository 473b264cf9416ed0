package mailbox_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

func TestDecide(t *testing.T) {
	here := marker.Presence{RecordBacked: true, OwnerAlive: true, WatchArmed: true}
	rows := []struct {
		name   string
		wake   dispatch.Capability
		p      marker.Presence
		want   bool
		reason string
	}{
		{"it fetches and is there", dispatch.SelfFetch, here, true, "receiver: "},
		{"it has messages put into it", dispatch.DirectInject, here, false, "wake mode \"direct-inject\""},
		{"nobody knows how it gets them", "", here, false, "wake mode \"\""},
		{"an unknown way", "pigeon", here, false, "wake mode \"pigeon\""},
		{"nothing is known", "", marker.Presence{}, false, "wake mode"},
		{"no record", dispatch.SelfFetch, marker.Presence{OwnerAlive: true, WatchArmed: true}, false, "receiver: it has no record"},
		{"no process", dispatch.SelfFetch, marker.Presence{RecordBacked: true, WatchArmed: true}, false, "receiver: its session has no known process"},
		{"no watch", dispatch.SelfFetch, marker.Presence{RecordBacked: true, OwnerAlive: true}, false, "receiver: nothing watches"},
		{"nobody", dispatch.SelfFetch, marker.Presence{}, false, "receiver: it has no record"},
	}
	for _, row := range rows {
		if got := mailbox.DecideDelivery(row.wake, row.p); got.Deliverable != row.want || !strings.HasPrefix(got.Reason, row.reason) {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

func TestDeliverability(t *testing.T) {
	m := newMailboxes(t)
	store := citizen.Store{Dir: m.Dirs.Sessions}
	r, err := store.Find(gid)
	must(t, err)
	if got := m.Deliverability(r); got.Deliverable || !strings.HasPrefix(got.Reason, "receiver: ") {
		t.Errorf("without a marker: %+v", got)
	}
	for _, b := range dispatch.Backends {
		own := r
		own.Backend = b
		if !b.Probed() {
			receiver := marker.Receiver{Citizen: own.Citizen(), Owner: marker.OwnerOf(os.Getpid()), Provenance: marker.FileChanged}
			must(t, marker.WriteReceiver(m.Dirs.Receivers, receiver, noon))
		}
		if got := m.Deliverability(own); got.Deliverable != (b == dispatch.ClaudeCode) {
			t.Errorf("%s: %+v", b, got)
		}
	}
	if _, err := os.Stat(m.Dirs.Mailboxes); err == nil {
		t.Error("a mailbox was made")
	}
}

func TestRender(t *testing.T) {
	yes, no := true, false
	sender := func(origin dispatch.Origin, replyable *bool) *dispatch.Sender {
		return &dispatch.Sender{
			SessionID: string(other), AgentID: "meta-session/claude-code", CWD: "/home/kim/w", Timestamp: "2026-06-12T00:30:01.250Z",
			Origin: origin, Replyable: replyable,
		}
	}
	want := `[entwurf received ⟵]
  from:        meta-session/claude-code @ ~/w
  session:     20260612T093000-ffffff (meta-session, replyable: its id is the target for an answer)
  at:          2026-06-12 00:30:01 UTC
  wants reply: yes
────────────────────────────────────────
--help @file
`
	if got := mailbox.Render(sender(dispatch.MetaSession, &yes), "--help @file", true, "/home/kim"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := mailbox.Render(nil, "x\n", true, "/home/kim"); got != "x\n" {
		t.Errorf("without a sender: %q", got)
	}
	rows := []struct {
		name string
		s    *dispatch.Sender
		home string
		want string
	}{
		{"pi that can be answered", sender(dispatch.PiSession, &yes), "", "(pi-session, replyable"},
		{"pi that cannot is not external", sender(dispatch.PiSession, &no), "", "(pi-session, non-replyable)"},
		{"a meta session that cannot", sender(dispatch.MetaSession, &no), "", "(meta-session, non-replyable)"},
		{"an external program", sender(dispatch.ExternalMCP, &no), "", "(external, non-replyable)"},
		{"one that does not say", sender("", nil), "", "(external, non-replyable)"},
		{"no home", sender("", nil), "", "@ /home/kim/w\n"},
		{"the home itself", sender("", nil), "/home/kim/w", "@ ~\n"},
		{"another home that begins like it", sender("", nil), "/home/ki", "@ /home/kim/w\n"},
		{"nobody wants a reply", sender("", nil), "", "wants reply: no\n"},
		{"a stamp that is none", &dispatch.Sender{Timestamp: "yesterday"}, "", "at:          yesterday\n"},
		{"a stamp of another zone", &dispatch.Sender{Timestamp: "2026-06-12T09:30:00+09:00"}, "", "at:          2026-06-12 00:30:00 UTC\n"},
		{"a sender that would write its own head", &dispatch.Sender{AgentID: "a\n  session:     x"}, "", "from:        a   session:     x @"},
	}
	for _, row := range rows {
		if got := mailbox.Render(row.s, "m", false, row.home); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s\nwant %s", row.name, got, row.want)
		}
	}
}
