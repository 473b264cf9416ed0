package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// registry is one of the test's own, with a short path: a socket's is bounded.
func registry(t *testing.T) citizen.Dirs {
	t.Helper()
	home, err := os.MkdirTemp("", "reg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	if err == nil {
		err = os.MkdirAll(dirs.Sessions, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func citizens(t *testing.T, dirs citizen.Dirs) []citizen.Record {
	t.Helper()
	list, bad, err := (&citizen.Store{Dir: dirs.Sessions}).List()
	if err != nil || len(bad) > 0 {
		t.Fatalf("%v, %v", bad, err)
	}
	return list
}

func TestOthersReachTheSessionOfAnAgentWhileItLives(t *testing.T) {
	b := newBench(t)
	dirs := registry(t)
	p := session.New(session.Config{Adapter: b.fake, Pool: b.pool, Host: citizen.Host{Dirs: dirs}})
	req := b.request(sh("make") + "[[say:done]]")
	_, err := p.Generate(t.Context(), req, nil)
	permit := b.permit(err, run.Permit{Allow: true})

	list := citizens(t, dirs)
	if len(list) != 1 || list[0].Backend != dispatch.Pi || list[0].CWD != b.site.dir {
		t.Fatalf("citizens %+v", list)
	}
	peer := controlsocket.Client{Path: dirs.Socket(list[0].GardenID)}
	if info, err := peer.Info(t.Context()); err != nil || info.Idle || info.SessionID != string(list[0].GardenID) {
		t.Errorf("%+v, %v", info, err)
	}
	as, err := peer.Send(t.Context(), controlsocket.Message{Text: "[[say:heard you]]", Mode: dispatch.FollowUp})
	if err != nil || as != dispatch.Followed {
		t.Errorf("%s, %v", as, err)
	}
	if err := peer.Abort(t.Context()); err == nil {
		t.Error("a peer ends the turn of a run")
	}

	req.Work.Permits = []run.Permit{permit}
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil || resp.RawText != "heard you" {
		t.Errorf("got %q, %v: the last turn is the peer's", resp.RawText, err)
	}
	if n := strings.Count(lastRequest(b).Text(), "heard you"); n == 0 {
		t.Error("the message did not reach the agent")
	}
	if list := citizens(t, dirs); len(list) != 0 {
		t.Errorf("it is over, and %+v is left", list)
	}
	if left, _ := filepath.Glob(filepath.Join(dirs.Sockets, "*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestSessionKeepsItsIDOverACrash(t *testing.T) {
	b := newBench(t)
	dirs := registry(t)
	open := func() provider.Provider {
		return session.New(session.Config{Adapter: b.fake, Pool: b.pool, Host: citizen.Host{Dirs: dirs}})
	}
	req := b.request(sh("make") + "[[say:done]]")
	_, err := open().Generate(t.Context(), req, nil)
	b.permit(err, run.Permit{})
	id := citizens(t, dirs)[0].GardenID
	if got := session.Garden(b.site.note); got != id {
		t.Errorf("the note says %q", got)
	}
	b.fake.Crash()
	_, err = open().Generate(t.Context(), req, nil)
	b.permit(err, run.Permit{})
	if list := citizens(t, dirs); len(list) != 1 || list[0].GardenID != id {
		t.Errorf("after the crash: %+v, before it was %s", list, id)
	}
}

func TestWithoutARegistryNobodyIsTold(t *testing.T) {
	b := newBench(t)
	dirs := registry(t)
	if err := os.Remove(dirs.Sessions); err != nil {
		t.Fatal(err)
	}
	p := session.New(session.Config{Adapter: b.fake, Pool: b.pool, Host: citizen.Host{Dirs: dirs}})
	if _, err := p.Generate(t.Context(), b.request("[[say:done]]"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dirs.Sessions); err == nil {
		t.Error("a registry was made")
	}
	if _, err := os.Stat(dirs.Sockets); err == nil {
		t.Error("a directory of sockets was made")
	}
}
