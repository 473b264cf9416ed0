package citizen_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// mute is a session that nobody has anything to do with.
type mute struct{ controlsocket.Session }

const hosted dispatch.GardenID = "20260612T093000-0a1b2c"

var guest = dispatch.About{Agent: "codex", Model: "gpt-5", Run: "r-1", Name: "shop#3", Role: "developer", Attempt: 2, Goal: "Mend it"}

// host is one with a registry of its own, in a place with a short path.
func host(t *testing.T) citizen.Host {
	t.Helper()
	home, err := os.MkdirTemp("", "h")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	must(t, err)
	must(t, os.MkdirAll(dirs.Sessions, 0o700))
	must(t, os.MkdirAll(dirs.Sockets, 0o700))
	return citizen.Host{Dirs: dirs}
}

func open(t *testing.T, h citizen.Host) (leave func()) {
	t.Helper()
	id, leave, err := h.Open(t.Context(), hosted, "/w", guest, mute{})
	must(t, err)
	if id != hosted || !known(h) || !there(h.Dirs.Socket(hosted)) {
		t.Fatalf("%s is not hosted", id)
	}
	return leave
}

func known(h citizen.Host) bool { return there((&citizen.Store{Dir: h.Dirs.Sessions}).Path(hosted)) }

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestHostKeepsASessionKnownUntilItsClose(t *testing.T) {
	h := host(t)
	open(t, h)()
	if known(h) || there(h.Dirs.Socket(hosted)) {
		t.Error("something of it is left")
	}
}

// bind makes a socket at a path that stays when it is closed.
func bind(t *testing.T, path string) *net.UnixListener {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
	return l
}

func TestForgetTakesWhatAKilledProcessLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		put   func(path string)
		stays bool
	}{
		"no socket":                  {func(string) {}, false},
		"a dead socket":              {func(path string) { bind(t, path).Close() }, false},
		"a session that runs":        {func(path string) { bind(t, path) }, true},
		"a file":                     {func(path string) { must(t, os.WriteFile(path, nil, 0o600)) }, true},
		"a symlink to a dead socket": {func(path string) { bind(t, path+"x").Close(); must(t, os.Symlink(path+"x", path)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t)
			_, err := (&citizen.Store{Dir: h.Dirs.Sessions}).Register(t.Context(), citizen.Birth{GardenID: hosted, Backend: dispatch.Pi, CWD: "/w"})
			must(t, err)
			tt.put(h.Dirs.Socket(hosted))
			for range 2 {
				must(t, h.Forget(t.Context(), hosted))
			}
			if known(h) || there(h.Dirs.Socket(hosted)) != tt.stays {
				t.Errorf("record: %v, socket: %v", known(h), !tt.stays)
			}
		})
	}
}

func TestForgetStaysInItsDirectory(t *testing.T) {
	h := host(t)
	outside := filepath.Join(filepath.Dir(h.Dirs.Sockets), "x.sock")
	bind(t, outside).Close()
	if err := h.Forget(t.Context(), "../x"); err == nil || !there(outside) {
		t.Errorf("%v, and it is there: %v", err, there(outside))
	}
}

func TestForgetWithoutSockets(t *testing.T) {
	h := host(t)
	must(t, os.Remove(h.Dirs.Sockets))
	if err := h.Forget(t.Context(), hosted); err != nil || there(h.Dirs.Sockets) {
		t.Error(err)
	}
}

// Another process has the registry locked and does not let go.
func TestACloseDoesNotWaitForEver(t *testing.T) {
	h := host(t)
	h.Timeout = time.Millisecond
	leave := open(t, h)
	lock, err := os.OpenFile(filepath.Join(h.Dirs.Sessions, ".ratchet.lock"), os.O_RDWR, 0)
	must(t, err)
	defer lock.Close()
	must(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	leave()
	if !known(h) || there(h.Dirs.Socket(hosted)) {
		t.Error("the record is gone, or the socket is not")
	}
	must(t, lock.Close())
	must(t, h.Forget(t.Context(), hosted))
	if known(h) {
		t.Error("it cannot be forgotten")
	}
}
