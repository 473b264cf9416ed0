package session_test

import (
	"context"
	"os"
	"testing"

	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// TestOtherSessionsReachAStandingOne has a session registered while its agent lives, by the same address after the
// agent has slept, and a message of another said to it.
func TestOtherSessionsReachAStandingOne(t *testing.T) {
	t.Parallel()
	home, err := os.MkdirTemp("", "s") // short: sockets lie below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	if err != nil {
		t.Fatal(err)
	}
	store := citizen.Store{Dir: dirs.Sessions}
	records := func() []citizen.Record {
		list, bad, err := store.List()
		if err != nil || len(bad) > 0 {
			t.Fatal(err, bad)
		}
		return list
	}
	s := newStage(temporaltest.Shared(t), t, t, func(c *activities.Config) { c.Host = citizen.Host{Dirs: dirs} })
	s.begin(session.Input{Title: "Mend the tests"})
	s.say("m1", "[[say:one]]")
	s.answer("m1", session.Completed, "one")
	list := records()
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	id := list[0].GardenID
	ours, ok := store.FindOurs(id)
	if want := (dispatch.About{Agent: "acp", Session: string(s.id), Goal: "Mend the tests"}); !ok || ours.About != want {
		t.Errorf("%+v, want %+v", ours.About, want)
	}
	sender := dispatch.Sender{SessionID: "20260612T093000-0a1b2c", AgentID: "pi", CWD: "/w", Timestamp: "2026-06-12T09:30:00Z"}
	sent, err := controlsocket.Client{Path: dirs.Socket(id)}.Send(t.Context(), controlsocket.Message{Text: "[[say:two]]", Mode: dispatch.FollowUp, Sender: &sender})
	if err != nil || sent != dispatch.Direct {
		t.Fatalf("%+v, %v", sent, err)
	}
	snap := s.await("has answered the other session", func(snap session.Snapshot) bool { return len(snap.Past) == 2 })
	if p := snap.Past[1]; p.Gist != "two" || p.Outcome != session.Completed {
		t.Errorf("%+v", p)
	}
	s.must(sessionflow.StopUpdate, sessionflow.By{})
	eventually.Holds(t, "the session without an agent is not registered", func() bool { return len(records()) == 0 })
	s.say("m3", "[[say:three]]")
	s.answer("m3", session.Completed, "three")
	eventually.Holds(t, "the session is registered again, at its address", func() bool {
		list := records()
		return len(list) == 1 && list[0].GardenID == id
	})
	s.retire()
	eventually.Holds(t, "the retired session is not registered", func() bool { return len(records()) == 0 })
}

// stuckHost is a host whose registry is held by a process that is stopped.
type stuckHost struct{}

func (stuckHost) Open(ctx context.Context, _ dispatch.GardenID, _ string, _ dispatch.About, _ controlsocket.Session) (dispatch.GardenID, func(), error) {
	<-ctx.Done()
	return "", nil, ctx.Err()
}

// TestASessionWorksThoughTheRegistryIsHeld has a session answer that no other can know.
func TestASessionWorksThoughTheRegistryIsHeld(t *testing.T) {
	t.Parallel()
	s := newStage(temporaltest.Shared(t), t, t, func(c *activities.Config) { c.Host = stuckHost{} })
	s.begin(session.Input{})
	s.say("m1", "[[say:one]]")
	s.answer("m1", session.Completed, "one")
	s.retire()
}
