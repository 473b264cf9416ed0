package controlsocket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

var (
	alive     = controlsocket.Sighting{Liveness: dispatch.Alive}
	dead      = func(code string) controlsocket.Sighting { return sighting(dispatch.Dead, code) }
	unclear   = func(code string) controlsocket.Sighting { return sighting(dispatch.Indeterminate, code) }
	linked    = controlsocket.Sighting{Conflict: controlsocket.Symlink}
	foreign   = controlsocket.Sighting{Conflict: controlsocket.NotSocket}
	absent    = controlsocket.Inspection{State: controlsocket.Absent}
	socket    = controlsocket.Inspection{State: controlsocket.SocketFile}
	isLinked  = controlsocket.Inspection{State: controlsocket.AddressConflict, Conflict: controlsocket.Symlink}
	isForeign = controlsocket.Inspection{State: controlsocket.AddressConflict, Conflict: controlsocket.NotSocket}
)

func sighting(l dispatch.Liveness, code string) controlsocket.Sighting {
	return controlsocket.Sighting{Liveness: l, Code: code}
}

func unreadable(code string) controlsocket.Inspection {
	return controlsocket.Inspection{State: controlsocket.Unreadable, Code: code}
}

// rows are what can lie at an address (docs/contracts/dispatch.md, 4). A row puts it there
// and returns the address, when that is not the one it was given.
var rows = map[string]struct {
	put     func(t *testing.T, path string) string
	inspect controlsocket.Inspection
	look    controlsocket.Sighting
	probe   controlsocket.Sighting // alone, for what it would say without a look
}{
	"nothing": {func(*testing.T, string) string { return "" }, absent, dead("ENOENT"), dead("ENOENT")},
	"a directory that is not there": {
		func(_ *testing.T, path string) string { return beside(path, "none/"+filepath.Base(path)) },
		absent, dead("ENOENT"), dead("ENOENT"),
	},
	"a regular file": {func(t *testing.T, path string) string { write(t, path); return "" }, isForeign, foreign, dead("ECONNREFUSED")},
	"a directory": {
		func(t *testing.T, path string) string { must(t, os.Mkdir(path, 0o755)); return "" },
		isForeign, foreign, dead("ECONNREFUSED"),
	},
	"a fifo": {
		func(t *testing.T, path string) string { must(t, unix.Mkfifo(path, 0o600)); return "" },
		isForeign, foreign, dead("ECONNREFUSED"),
	},
	"a symlink to a live socket": {
		func(t *testing.T, path string) string {
			listen(t, beside(path, "live"))
			symlink(t, "live", path)
			return ""
		}, isLinked, linked, alive,
	},
	"a dangling symlink":  {func(t *testing.T, path string) string { symlink(t, "nowhere", path); return "" }, isLinked, linked, dead("ENOENT")},
	"a symlink to itself": {func(t *testing.T, path string) string { symlink(t, path, path); return "" }, isLinked, linked, unclear("ELOOP")},
	"a symlink to a stale one": {
		func(t *testing.T, path string) string {
			stale(t, beside(path, "stale"))
			symlink(t, "stale", path)
			return ""
		}, isLinked, linked, dead("ECONNREFUSED"),
	},
	"a socket that was closed":         {func(t *testing.T, path string) string { stale(t, path); return "" }, socket, dead("ECONNREFUSED"), dead("ECONNREFUSED")},
	"a listener that accepts nobody":   {func(t *testing.T, path string) string { listen(t, path); return "" }, socket, alive, alive},
	"a listener that accepts silently": {func(t *testing.T, path string) string { mute(t, listen(t, path)); return "" }, socket, alive, alive},
	"a datagram socket": {
		func(t *testing.T, path string) string { bound(t, unix.SOCK_DGRAM, path); return "" },
		socket, unclear("EPROTOTYPE"), unclear("EPROTOTYPE"),
	},
	"a seqpacket listener": {
		func(t *testing.T, path string) string {
			must(t, unix.Listen(bound(t, unix.SOCK_SEQPACKET, path), 8))
			return ""
		},
		socket, unclear("EPROTOTYPE"), unclear("EPROTOTYPE"),
	},
	"a stream socket that never listens": {
		func(t *testing.T, path string) string { bound(t, unix.SOCK_STREAM, path); return "" },
		socket, dead("ECONNREFUSED"), dead("ECONNREFUSED"),
	},
	"a listener with a full backlog": {func(t *testing.T, path string) string { full(t, path); return "" }, socket, unclear("EAGAIN"), unclear("EAGAIN")},
	"a parent that is a file": {
		func(t *testing.T, path string) string { write(t, path); return path + "/x.sock" },
		unreadable("ENOTDIR"), unclear("ENOTDIR"), unclear("ENOTDIR"),
	},
	"a long path with nothing there": {
		func(t *testing.T, path string) string { return deep(t, path) },
		absent, dead("ENOENT"), unclear("EINVAL"),
	},
	"a long path with a listener": {
		func(t *testing.T, path string) string {
			long := deep(t, path)
			dir, err := os.Open(filepath.Dir(long))
			must(t, err)
			defer dir.Close()
			listen(t, fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(long)))
			return long
		}, socket, unclear("EINVAL"), unclear("EINVAL"),
	},
	"a name that no file can have": {
		func(_ *testing.T, path string) string { return beside(path, strings.Repeat("x", 300)) },
		unreadable("ENAMETOOLONG"), unclear("ENAMETOOLONG"), unclear("EINVAL"),
	},
	"a zero byte behind the path of a listener": {
		func(t *testing.T, path string) string { listen(t, path); return path + "\x00" },
		unreadable("EINVAL"), unclear("EINVAL"), alive,
	},
}

func TestWhatLiesAtAnAddress(t *testing.T) {
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			path := controlsocket.Path(folder(t), gid)
			if other := row.put(t, path); other != "" {
				path = other
			}
			if got := controlsocket.Inspect(path); got != row.inspect {
				t.Errorf("inspected %+v, want %+v", got, row.inspect)
			}
			if got := controlsocket.Look(t.Context(), path); got != row.look {
				t.Errorf("looked %+v, want %+v", got, row.look)
			}
			if got := controlsocket.Probe(t.Context(), path); got != row.probe {
				t.Errorf("probed %+v, want %+v", got, row.probe)
			}
		})
	}
}

func TestTheClientWritesOnlyToWhatIsAlive(t *testing.T) {
	for name, row := range rows {
		if row.look == alive {
			continue
		}
		t.Run(name, func(t *testing.T) {
			path := controlsocket.Path(folder(t), gid)
			if other := row.put(t, path); other != "" {
				path = other
			}
			_, err := controlsocket.Client{Path: path}.Send(t.Context(), controlsocket.Message{Text: "hello"})
			notSent, is := errors.AsType[*controlsocket.NotSentError](err)
			if !is || notSent.Code != row.look.Code || notSent.Conflict != row.look.Conflict || notSent.Gone() != (row.look.Liveness == dispatch.Dead) {
				t.Errorf("%#v, want what was seen: %+v", err, row.look)
			}
		})
	}
}

// The rows of the permissions need a user whom they bind: root borrows another
// one's for a thread that ends with the test.
func TestWhatMayNotBeReached(t *testing.T) {
	for name, row := range map[string]struct {
		forbid  func(path string) error
		inspect controlsocket.Inspection
	}{
		"a directory that may not be searched": {func(path string) error { return os.Chmod(filepath.Dir(path), 0) }, unreadable("EACCES")},
		"a socket that may not be written to":  {func(path string) error { return os.Chmod(path, 0) }, socket},
	} {
		t.Run(name, func(t *testing.T) {
			path := controlsocket.Path(folder(t), gid)
			must(t, os.Chmod(filepath.Dir(path), 0o755))
			listen(t, path)
			must(t, row.forbid(path))
			defer os.Chmod(filepath.Dir(path), 0o700)
			asNobody(t, func() {
				if got := controlsocket.Inspect(path); got != row.inspect {
					t.Errorf("inspected %+v, want %+v", got, row.inspect)
				}
				if got := controlsocket.Look(t.Context(), path); got != unclear("EACCES") {
					t.Errorf("looked %+v", got)
				}
			})
		})
	}
}

func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	const nobody, asking = 65534, -1
	borrowed := make(chan bool)
	go func() {
		defer close(borrowed)
		runtime.LockOSThread() // and never unlocked: the thread is not used again
		_ = unix.Setfsuid(nobody)
		if now, _ := unix.SetfsuidRetUid(asking); now == nobody {
			do()
			borrowed <- true
		}
	}()
	if !<-borrowed {
		t.Skip("root may not borrow another user's rights here")
	}
}

func TestALookConnectsToNothingButASocket(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	l := listen(t, beside(path, "live"))
	symlink(t, "live", path)
	controlsocket.Look(t.Context(), path)
	must(t, l.SetDeadline(time.Unix(1, 0)))
	if conn, err := l.Accept(); err == nil {
		conn.Close()
		t.Error("it was connected to through the symlink")
	}
}

func TestAProbeSendsNothing(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	l := listen(t, path)
	if got := controlsocket.Probe(t.Context(), path); got != alive {
		t.Fatal(got)
	}
	conn, err := l.Accept()
	must(t, err)
	defer conn.Close()
	if b, err := io.ReadAll(conn); len(b) > 0 || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestALookThatIsCutShort(t *testing.T) {
	path := controlsocket.Path(folder(t), gid)
	listen(t, path)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if got := controlsocket.Look(canceled, path); got != unclear("canceled") {
		t.Error(got)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if got := controlsocket.Look(late, path); got != unclear("timeout") {
		t.Error(got)
	}
}

// mute accepts and holds every connection.
func mute(t *testing.T, l *net.UnixListener) {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
}

// bound binds a socket of a kind and returns it.
func bound(t testing.TB, kind int, path string) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	return fd
}

// full listens with a backlog that has no room left.
func full(t testing.TB, path string) {
	t.Helper()
	must(t, unix.Listen(bound(t, unix.SOCK_STREAM, path), 0))
	for range 8 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the backlog has no end")
}

// deep is a path in a directory that is longer than a socket address.
func deep(t *testing.T, path string) string {
	dir := beside(path, strings.Repeat("d", controlsocket.MaxPath))
	must(t, os.Mkdir(dir, 0o755))
	return filepath.Join(dir, filepath.Base(path))
}
