package citizen_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
)

// fixture is a registry with the citizens gid and gid2, both of Claude Code.
type fixture struct {
	dirs citizen.Dirs
	vars map[string]string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	home, err := os.MkdirTemp("", "w") // short: sockets lie below it
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	dirs, err := citizen.FindDirs(lookup(map[string]string{"HOME": home}))
	must(t, err)
	s := &citizen.Store{Dir: dirs.Sessions}
	put(t, s, gid+".meta.json", wantV2)
	put(t, s, gid2+".meta.json", record(gid2, "n-2", dispatch.ClaudeCode))
	must(t, os.MkdirAll(dirs.Sockets, 0o700))
	return &fixture{dirs: dirs, vars: map[string]string{}}
}

func (w *fixture) caller() citizen.Caller {
	return citizen.Caller{Lookup: lookup(w.vars), CWD: "/here", Parent: os.Getpid(), Now: noon}
}

var (
	one = marker.Citizen{GardenID: gid, Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"}
	two = marker.Citizen{GardenID: gid2, Backend: dispatch.ClaudeCode, NativeSessionID: "n-2"}
)

func (w *fixture) sends(t *testing.T, c marker.Citizen, pid int) {
	t.Helper()
	must(t, marker.WriteSender(w.dirs.Senders, marker.Sender{Citizen: c, CWD: "/there", Owner: marker.OwnerOf(pid)}, noon))
}

func (w *fixture) receives(t *testing.T, c marker.Citizen) {
	t.Helper()
	r := marker.Receiver{Citizen: c, Owner: marker.OwnerOf(os.Getpid()), Provenance: marker.SessionStart}
	must(t, marker.WriteReceiver(w.dirs.Receivers, r, noon))
}

func (w *fixture) listens(t *testing.T, id dispatch.GardenID) {
	t.Helper()
	l, err := net.Listen("unix", w.dirs.Socket(id))
	must(t, err)
	t.Cleanup(func() { l.Close() })
}

func TestSender(t *testing.T) {
	pi := func(w *fixture) { w.vars["PI_SESSION_ID"], w.vars["PI_AGENT_ID"] = " "+gid+" ", "pi/opus" }
	parent := process.Parent(os.Getpid())
	sender := func(id, agent, dir string, origin dispatch.Origin, replyable bool) dispatch.Sender {
		stamp := noon.UTC().Format("2006-01-02T15:04:05.000Z")
		return dispatch.Sender{SessionID: id, AgentID: agent, CWD: dir, Timestamp: stamp, Origin: origin, Replyable: &replyable}
	}
	const mine = "meta-session/claude-code"
	nobody := sender("external-mcp", "external-mcp/unknown-host", "/here", dispatch.ExternalMCP, false)
	rows := []struct {
		name  string
		setUp func(t *testing.T, w *fixture)
		want  dispatch.Sender
	}{
		{"pi with its socket", func(t *testing.T, w *fixture) { pi(w); w.listens(t, gid) }, sender(gid, "pi/opus", "/here", dispatch.PiSession, true)},
		{"pi without its socket", func(t *testing.T, w *fixture) { pi(w); w.listens(t, gid2) }, sender(gid, "pi/opus", "/here", dispatch.PiSession, false)},
		{"pi with a file in the socket's place", func(t *testing.T, w *fixture) { pi(w); must(t, os.WriteFile(w.dirs.Socket(gid), nil, 0o600)) }, sender(gid, "pi/opus", "/here", dispatch.PiSession, false)},
		{"pi with an id that is a path", func(t *testing.T, w *fixture) { pi(w); w.vars["PI_SESSION_ID"] = "../x"; w.listens(t, gid) }, sender("../x", "pi/opus", "/here", dispatch.PiSession, false)},
		{"pi wins over a marker", func(t *testing.T, w *fixture) { pi(w); w.sends(t, two, os.Getpid()) }, sender(gid, "pi/opus", "/here", dispatch.PiSession, false)},
		{"the environment is half there", func(t *testing.T, w *fixture) { pi(w); w.vars["PI_AGENT_ID"] = " " }, nobody},
		{"its parent's marker", func(t *testing.T, w *fixture) { w.sends(t, one, os.Getpid()) }, sender(gid, mine, "/there", dispatch.MetaSession, false)},
		{"... and somebody reads its mail", func(t *testing.T, w *fixture) { w.sends(t, one, os.Getpid()); w.receives(t, one) }, sender(gid, mine, "/there", dispatch.MetaSession, true)},
		{"its grandparent's marker", func(t *testing.T, w *fixture) { w.sends(t, one, parent) }, sender(gid, mine, "/there", dispatch.MetaSession, false)},
		{"its parent's before its grandparent's", func(t *testing.T, w *fixture) { w.sends(t, one, os.Getpid()); w.sends(t, two, parent) }, sender(gid, mine, "/there", dispatch.MetaSession, false)},
		{"a marker that was told", func(t *testing.T, w *fixture) {
			w.sends(t, one, os.Getpid())
			w.sends(t, two, parent)
			w.vars["PI_META_SENDER_MARKER"] = marker.SenderPath(w.dirs.Senders, dispatch.ClaudeCode, parent)
		}, sender(gid2, mine, "/there", dispatch.MetaSession, false)},
		{"a marker that was told and is not there", func(t *testing.T, w *fixture) {
			w.sends(t, one, os.Getpid())
			w.vars["ENTWURF_META_SENDER_MARKER"] = "~/none"
		}, nobody},
		{"a marker of a citizen that is no more", func(t *testing.T, w *fixture) {
			w.sends(t, one, os.Getpid())
			must(t, os.Remove((&citizen.Store{Dir: w.dirs.Sessions}).Path(gid)))
		}, nobody},
		{"a marker that the record does not bear out", func(t *testing.T, w *fixture) {
			w.sends(t, marker.Citizen{GardenID: gid, Backend: dispatch.ClaudeCode, NativeSessionID: "n-2"}, os.Getpid())
		}, nobody},
		{"a marker of another process in the place of its parent's", func(t *testing.T, w *fixture) {
			w.sends(t, one, parent)
			must(t, os.Rename(marker.SenderPath(w.dirs.Senders, dispatch.ClaudeCode, parent), marker.SenderPath(w.dirs.Senders, dispatch.ClaudeCode, os.Getpid())))
		}, nobody},
		{"a marker of another backend in the place of one", func(t *testing.T, w *fixture) {
			w.sends(t, one, os.Getpid())
			must(t, os.Rename(filepath.Join(w.dirs.Senders, string(dispatch.ClaudeCode)), filepath.Join(w.dirs.Senders, string(dispatch.Codex))))
		}, nobody},
		{"nobody", func(t *testing.T, w *fixture) {}, nobody},
		{"an external program with a name", func(t *testing.T, w *fixture) { w.vars["PI_TOOLS_BRIDGE_EXTERNAL_AGENT_ID"] = "editor" }, sender("external-mcp", "editor", "/here", dispatch.ExternalMCP, false)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newFixture(t)
			row.setUp(t, w)
			got, err := w.dirs.Sender(w.caller())
			if err != nil || got.Replyable == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			replyable := *got.Replyable == *row.want.Replyable
			got.Replyable, row.want.Replyable = nil, nil
			if got != row.want || !replyable {
				t.Errorf("%+v (replyable as wanted: %v), want %+v", got, replyable, row.want)
			}
			self, err := w.dirs.Self(w.caller())
			if anonymous := got.Origin == dispatch.ExternalMCP; anonymous != errors.Is(err, citizen.ErrAnonymous) || !anonymous && self.SessionID != got.SessionID {
				t.Errorf("self %+v, %v", self, err)
			}
		})
	}
}

func TestSenderRefuses(t *testing.T) {
	rows := []struct {
		name  string
		setUp func(t *testing.T, w *fixture)
		want  error
	}{
		{"anonymous senders are forbidden", func(t *testing.T, w *fixture) { w.vars["PI_TOOLS_BRIDGE_REQUIRE_META_SENDER"] = "1" }, citizen.ErrAnonymous},
		{"two citizens claim the same process", func(t *testing.T, w *fixture) {
			codex := marker.Citizen{GardenID: gid2, Backend: dispatch.Codex, NativeSessionID: "n-2"}
			put(t, &citizen.Store{Dir: w.dirs.Sessions}, gid2+".meta.json", record(gid2, "n-2", dispatch.Codex))
			w.sends(t, one, os.Getpid())
			w.sends(t, codex, os.Getpid())
		}, citizen.ErrAmbiguous},
		{"the record cannot be read", func(t *testing.T, w *fixture) {
			w.sends(t, one, os.Getpid())
			put(t, &citizen.Store{Dir: w.dirs.Sessions}, gid+".meta.json", wantV2+"{")
		}, errBad},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newFixture(t)
			row.setUp(t, w)
			got, err := w.dirs.Sender(w.caller())
			if _, bad := errors.AsType[*citizen.BadRecord](err); !errors.Is(err, row.want) && !(bad && row.want == errBad) {
				t.Errorf("%+v, %v; want %v", got, err, row.want)
			}
		})
	}
	w := newFixture(t)
	w.vars["PI_TOOLS_BRIDGE_REQUIRE_META_SENDER"] = "1"
	w.sends(t, one, os.Getpid())
	if got, err := w.dirs.Sender(w.caller()); err != nil || got.SessionID != gid {
		t.Errorf("a citizen where anonymous senders are forbidden: %+v, %v", got, err)
	}
}

func TestSelf(t *testing.T) {
	rows := []struct {
		name      string
		setUp     func(t *testing.T, w *fixture)
		socket    citizen.SocketState
		replyable bool
	}{
		{"pi with its socket", func(t *testing.T, w *fixture) { w.listens(t, gid) }, citizen.SocketAlive, true},
		{"pi without", func(t *testing.T, w *fixture) {}, citizen.SocketExpected, false},
		{"pi without a garden id", func(t *testing.T, w *fixture) { w.vars["PI_SESSION_ID"] = "0197-uuid" }, citizen.SocketNone, false},
		{"a citizen with a mailbox", func(t *testing.T, w *fixture) {
			delete(w.vars, "PI_SESSION_ID")
			w.sends(t, one, os.Getpid())
			w.receives(t, one)
		}, citizen.SocketNone, true},
		{"a citizen whose process went over to another session", func(t *testing.T, w *fixture) {
			delete(w.vars, "PI_SESSION_ID")
			w.receives(t, one)
			w.sends(t, one, process.Parent(os.Getpid()))
			w.sends(t, two, os.Getpid())
			w.vars["PI_META_SENDER_MARKER"] = marker.SenderPath(w.dirs.Senders, dispatch.ClaudeCode, process.Parent(os.Getpid()))
		}, citizen.SocketNone, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newFixture(t)
			w.vars["PI_SESSION_ID"], w.vars["PI_AGENT_ID"] = gid, "pi/opus"
			row.setUp(t, w)
			self, err := w.dirs.Self(w.caller())
			if err != nil || self.Socket != row.socket || *self.Replyable != row.replyable || self.Reason == "" {
				t.Errorf("%+v, %v", self, err)
			}
		})
	}
}
