package peers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// id is the nth garden id.
func id(n int) dispatch.GardenID { return dispatch.GardenID(fmt.Sprintf("20260612T093000-%06x", n)) }

// registry is one with nobody in it.
type registry struct {
	t testing.TB
	citizen.Dirs
}

func newRegistry(t testing.TB) registry {
	t.Helper()
	home, err := os.MkdirTemp("", "p") // short: sockets lie below it
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	must(t, err)
	return registry{t, dirs}
}

func (r registry) record(n int, b dispatch.Backend) {
	r.t.Helper()
	rec := citizen.Record{
		Version: citizen.V2, GardenID: id(n), Backend: b, NativeSessionID: string(id(n)), CWD: "/w",
		TranscriptPath: "/secret/t.jsonl", CreatedAt: "c", UpdatedAt: "u",
	}
	if n%2 == 1 {
		rec.Model, rec.ParentGardenID, rec.IsEntwurf = "opus", id(0xffffff), true
	}
	text, err := rec.Marshal()
	must(r.t, err)
	r.file(filepath.Join(r.Sessions, string(id(n))+".meta.json"), string(text))
}

// broken makes a record that cannot be read.
func (r registry) broken(n int) {
	r.t.Helper()
	r.file(filepath.Join(r.Sessions, string(id(n))+".meta.json"), "{")
}

func (r registry) file(path, text string) {
	r.t.Helper()
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(r.t, os.WriteFile(path, []byte(text), 0o600))
}

// listen makes a live socket, or a stale one.
func (r registry) listen(n int, alive bool) {
	r.t.Helper()
	must(r.t, os.MkdirAll(r.Sockets, 0o700))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.Socket(id(n))})
	must(r.t, err)
	if !alive {
		l.SetUnlinkOnClose(false)
		l.Close()
		return
	}
	r.t.Cleanup(func() { l.Close() })
}

// datagram makes a socket at which nobody can tell whether somebody listens.
func (r registry) datagram(n int) {
	r.t.Helper()
	must(r.t, os.MkdirAll(r.Sockets, 0o700))
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: r.Socket(id(n))})
	must(r.t, err)
	r.t.Cleanup(func() { c.Close() })
}

func (r registry) scan(look peers.Look) peers.Listing {
	r.t.Helper()
	l, err := peers.Scan(r.t.Context(), r.Dirs, look)
	must(r.t, err)
	return l
}

// gist is a listing without what comes from records.
func gist(l peers.Listing) []string {
	all := []string{}
	for _, p := range l.Peers {
		all = append(all, fmt.Sprintf("%s %s %s", p.GardenID[16:], p.Backend, p.Liveness))
	}
	for _, s := range l.SocketOnly {
		all = append(all, fmt.Sprintf("%s %s %s", s.GardenID[16:], s.Kind, s.Liveness))
	}
	for _, d := range l.Diagnostics {
		all = append(all, fmt.Sprintf("%s %s", d.Kind, d.Filename+d.Name+strings.TrimPrefix(string(d.GardenID), "20260612T093000-")))
	}
	for _, s := range l.Sessions {
		all = append(all, "session "+string(s.SessionID[16:]))
	}
	return all
}

func TestScan(t *testing.T) {
	rows := []struct {
		name  string
		setUp func(r registry)
		want  []string
	}{
		{"nothing at all", func(r registry) {}, []string{}},
		{"pi with a socket", func(r registry) { r.record(1, dispatch.Pi); r.listen(1, true) }, []string{"000001 pi alive", "session 000001"}},
		{"pi with a stale socket", func(r registry) { r.record(1, dispatch.Pi); r.listen(1, false) }, []string{"000001 pi dead"}},
		{"pi with a socket of another type", func(r registry) { r.record(1, dispatch.Pi); r.datagram(1) }, []string{"000001 pi indeterminate"}},
		{"pi with a file in the socket's place", func(r registry) { r.record(1, dispatch.Pi); r.file(r.Socket(id(1)), "") }, []string{"000001 pi dead"}},
		{"pi without a socket", func(r registry) { r.record(1, dispatch.Pi) }, []string{"000001 pi dead"}},
		{"pi with a symlink to somebody's socket", func(r registry) {
			r.record(1, dispatch.Pi)
			r.listen(2, true)
			must(r.t, os.Symlink(r.Socket(id(2)), r.Socket(id(1))))
		}, []string{"000001 pi dead", "000002 socket-only alive", "socket-symlink-rejected 000001", "session 000002"}},
		{"a symlink without a record", func(r registry) {
			r.listen(2, true)
			must(r.t, os.Symlink(r.Socket(id(2)), r.Socket(id(1))))
		}, []string{"000002 socket-only alive", "socket-symlink-rejected 000001", "session 000002"}},
		{"sockets without a record", func(r registry) { r.listen(3, true); r.listen(2, false); r.datagram(1) },
			[]string{"000001 socket-only indeterminate", "000002 socket-only dead", "000003 socket-only alive", "session 000003"}},
		{"backends without sockets", func(r registry) {
			r.record(3, dispatch.ClaudeCode)
			r.record(2, dispatch.Antigravity)
			r.record(1, dispatch.Codex)
		}, []string{"000001 codex unsupported", "000002 antigravity unsupported", "000003 claude-code unsupported"}},
		{"a backend without sockets that has one", func(r registry) { r.record(1, dispatch.Codex); r.listen(1, true); r.record(2, dispatch.Pi) },
			[]string{"000002 pi dead", "garden-id-socket-conflict 000001"}},
		{"... and that is a symlink", func(r registry) {
			r.record(1, dispatch.ClaudeCode)
			must(r.t, os.MkdirAll(r.Sockets, 0o700))
			must(r.t, os.Symlink("nowhere", r.Socket(id(1))))
		}, []string{"garden-id-socket-conflict 000001", "socket-symlink-rejected 000001"}},
		{"names that are no garden ids", func(r registry) {
			r.listen(1, true)
			for _, name := range []string{"x.sock", ".sock", "notes.txt", string(id(2)), string(id(2)) + ".SOCK"} {
				r.file(filepath.Join(r.Sockets, name), "")
			}
		}, []string{"000001 socket-only alive", "malformed-socket-name .sock", "malformed-socket-name x.sock", "session 000001"}},
		{"broken records hide nobody", func(r registry) {
			r.record(1, dispatch.Pi)
			r.broken(2)
			must(r.t, os.Symlink("nowhere", filepath.Join(r.Sessions, string(id(3))+".meta.json")))
			r.listen(1, true)
		}, []string{
			"000001 pi alive", "meta-record-read-error 20260612T093000-000002.meta.json",
			"meta-record-read-error 20260612T093000-000003.meta.json", "session 000001",
		}},
		{"a broken record with a socket", func(r registry) { r.broken(1); r.listen(1, true); r.listen(2, true) }, []string{
			"000002 socket-only alive", "meta-record-read-error 20260612T093000-000001.meta.json",
			"garden-id-socket-conflict 000001", "session 000002",
		}},
		{"a broken record with a stale socket", func(r registry) { r.broken(1); r.listen(1, false) }, []string{
			"meta-record-read-error 20260612T093000-000001.meta.json", "garden-id-socket-conflict 000001",
		}},
		{"a broken record with a symlink", func(r registry) {
			r.broken(1)
			r.listen(2, true)
			must(r.t, os.Symlink(r.Socket(id(2)), r.Socket(id(1))))
		}, []string{
			"000002 socket-only alive", "meta-record-read-error 20260612T093000-000001.meta.json",
			"garden-id-socket-conflict 000001", "socket-symlink-rejected 000001", "session 000002",
		}},
		{"records of one native session with sockets", func(r registry) {
			r.record(1, dispatch.Pi)
			r.record(2, dispatch.Pi)
			path := filepath.Join(r.Sessions, string(id(2))+".meta.json")
			text, err := os.ReadFile(path)
			must(r.t, err)
			r.file(path, strings.Replace(string(text), `"nativeSessionId": "`+string(id(2)), `"nativeSessionId": "`+string(id(1)), 1))
			r.listen(1, true)
		}, []string{
			"meta-record-read-error 20260612T093000-000001.meta.json", "meta-record-read-error 20260612T093000-000002.meta.json",
			"garden-id-socket-conflict 000001",
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := newRegistry(t)
			row.setUp(r)
			l := r.scan(controlsocket.Look)
			if got := gist(l); !slices.Equal(got, row.want) || l.Count != len(l.Sessions) {
				t.Errorf("%q\nwant %q", got, row.want)
			}
		})
	}
}

func TestADirectoryThatCannotBeRead(t *testing.T) {
	r := newRegistry(t)
	r.record(1, dispatch.Pi)
	r.record(2, dispatch.Codex)
	r.file(r.Sockets, "")
	l := r.scan(func(context.Context, string) controlsocket.Sighting {
		t.Error("somebody was looked at")
		return controlsocket.Sighting{}
	})
	want := []string{"000001 pi indeterminate", "000002 codex unsupported", "socket-dir-read-error "}
	if got := gist(l); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	must(t, os.RemoveAll(r.Sessions))
	r.file(r.Sessions, "")
	if l, err := peers.Scan(t.Context(), r.Dirs, controlsocket.Look); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a store that cannot be read: %+v, %v", l, err)
	}
}

func TestADiagnosticIsShort(t *testing.T) {
	r := newRegistry(t)
	r.file(filepath.Join(r.Sessions, string(id(1))+".meta.json"), `{"schemaVersion": 2, "`+strings.Repeat("é", 10_000)+`": 1}`)
	if l := r.scan(controlsocket.Look); len(l.Diagnostics) != 1 || len(l.Diagnostics[0].Message) > 500 {
		t.Errorf("%+v", l.Diagnostics)
	}
}

func TestEachAddressIsLookedAtOnce(t *testing.T) {
	r := newRegistry(t)
	for n := range 100 {
		switch n % 4 {
		case 0:
			r.record(n, dispatch.Pi)
		case 1:
			r.record(n, dispatch.Pi)
			r.file(r.Socket(id(n)), "")
		case 2:
			r.file(r.Socket(id(n)), "")
		case 3:
			r.record(n, dispatch.ClaudeCode)
		}
	}
	var mu sync.Mutex
	var looks []string
	var now, most atomic.Int32
	r.scan(func(_ context.Context, path string) controlsocket.Sighting {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		mu.Lock()
		defer mu.Unlock()
		looks = append(looks, filepath.Base(path))
		return controlsocket.Sighting{Liveness: dispatch.Alive}
	})
	slices.Sort(looks)
	if len(looks) != 75 || len(slices.Compact(looks)) != 75 || most.Load() > 32 {
		t.Errorf("%d looks, %d at a time", len(looks), most.Load())
	}
}

// A symlink is put in the place of a socket after the directory was read.
func TestASocketThatIsSwapped(t *testing.T) {
	r := newRegistry(t)
	r.record(1, dispatch.Pi)
	r.listen(1, true)
	r.listen(2, true)
	l := r.scan(func(context.Context, string) controlsocket.Sighting {
		return controlsocket.Sighting{Conflict: controlsocket.Symlink}
	})
	want := []string{"000001 pi dead", "socket-symlink-rejected 000001", "socket-symlink-rejected 000002"}
	if got := gist(l); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	r := newRegistry(t)
	r.record(1, dispatch.Pi)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := peers.Scan(ctx, r.Dirs, func(context.Context, string) controlsocket.Sighting {
		cancel()
		return controlsocket.Sighting{Liveness: dispatch.Indeterminate}
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// full is a registry with everything in it.
func full(t testing.TB) registry {
	r := newRegistry(t)
	r.record(1, dispatch.Pi)
	r.record(2, dispatch.ClaudeCode)
	r.record(3, dispatch.Codex)
	r.listen(1, true)
	r.listen(3, true)
	r.listen(4, false)
	r.file(filepath.Join(r.Sockets, "x\n\x1b[2J.sock"), "")
	r.file(filepath.Join(r.Sessions, "note.meta.json"), "{")
	must(t, os.Symlink("nowhere", r.Socket(id(5))))
	return r
}

func TestText(t *testing.T) {
	l := full(t).scan(controlsocket.Look)
	want := `Citizens:
- 20260612T093000-000001  backend=pi  liveness=alive  cwd=/w  model=opus  entwurf
- 20260612T093000-000002  backend=claude-code  liveness=unsupported  cwd=/w  model=(unknown)

Sockets without a record:
- 20260612T093000-000004  liveness=dead

Diagnostics:
- meta-record-read-error note.meta.json: not a JSON object: unexpected end of JSON input
- garden-id-socket-conflict 20260612T093000-000003 (backend=codex): the record is of a backend without sockets, but a socket has its garden id: neither is listed
- socket-symlink-rejected 20260612T093000-000005: a symlink instead of a socket could lead to another session, so it was not asked
- malformed-socket-name "x\n\x1b[2J.sock": its name is not a garden id, so it belongs to no session
`
	if got := l.Text(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	empty := `Citizens:
  (none)

Sockets without a record:
  (none)

Diagnostics:
  (none)
`
	if got := newRegistry(t).scan(controlsocket.Look).Text(); got != empty {
		t.Errorf("%s\nwant %s", got, empty)
	}
}

func TestOnlyFacts(t *testing.T) {
	r := full(t)
	l := r.scan(controlsocket.Look)
	b, err := json.Marshal(l)
	must(t, err)
	for _, word := range []string{"sendable", "resumable", "dispatch", "action", "transport", "mailboxDeliverable", "transcript", "/secret"} {
		for _, text := range []string{l.Text(), string(b)} {
			if strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
				t.Errorf("%s is in\n%s", word, text)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	r := newRegistry(t)
	if b, err := json.Marshal(r.scan(controlsocket.Look)); err != nil || string(b) != `{"controlDir":"`+r.Sockets+`","count":0,"sessions":[],"peers":[],"socketOnly":[],"diagnostics":[]}` {
		t.Errorf("%s, %v", b, err)
	}
	r.record(1, dispatch.Pi)
	r.record(2, dispatch.Codex)
	r.listen(4, true)
	r.file(filepath.Join(r.Sockets, "x.sock"), "")
	var got, want any
	b, err := json.Marshal(r.scan(controlsocket.Look))
	must(t, err)
	must(t, json.Unmarshal(b, &got))
	must(t, json.Unmarshal([]byte(`{
		"controlDir": "`+r.Sockets+`", "count": 1,
		"sessions": [{"sessionId": "20260612T093000-000004", "socketPath": "`+r.Socket(id(4))+`"}],
		"peers": [
			{"gardenId": "20260612T093000-000001", "backend": "pi", "nativeSessionId": "20260612T093000-000001", "cwd": "/w", "model": "opus",
			 "parentGardenId": "20260612T093000-ffffff", "isEntwurf": true, "createdAt": "c", "recordUpdatedAt": "u", "liveness": "dead"},
			{"gardenId": "20260612T093000-000002", "backend": "codex", "nativeSessionId": "20260612T093000-000002", "cwd": "/w", "model": null,
			 "parentGardenId": null, "isEntwurf": false, "createdAt": "c", "recordUpdatedAt": "u", "liveness": "unsupported"}
		],
		"socketOnly": [{"kind": "socket-only", "gardenId": "20260612T093000-000004", "liveness": "alive", "cwd": null, "model": null, "idle": null, "infoError": null}],
		"diagnostics": [{"kind": "malformed-socket-name", "name": "x.sock", "message": "its name is not a garden id, so it belongs to no session"}]
	}`), &want))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s", b)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
