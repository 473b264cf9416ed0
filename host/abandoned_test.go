package host_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// asleep is a session that nothing is said to.
type asleep struct{ controlsocket.Session }

func (asleep) Info(context.Context) (controlsocket.Info, error) { return controlsocket.Info{}, nil }

// abandon leaves what a worker leaves that was killed while an agent of a session lived: the record, the socket at which
// nothing listens, and the note that names the worker.
func (r *registry) abandon() {
	r.t.Helper()
	h := citizen.Host{Dirs: r.dirs}
	_, leave, err := h.Open(r.t.Context(), gid, r.work, dispatch.About{Agent: "claude", Session: "s1"}, asleep{})
	check(r.t, err)
	kept := map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(r.dirs.Sessions, string(gid)+"*"))
	check(r.t, err)
	for _, name := range names {
		kept[name], err = os.ReadFile(name)
		check(r.t, err)
	}
	leave()
	ended := exec.Command("true")
	check(r.t, ended.Run())
	self := marker.OwnerOf(os.Getpid())
	for name, text := range kept {
		text := strings.ReplaceAll(string(text), strconv.Itoa(self.PID), strconv.Itoa(ended.Process.Pid))
		check(r.t, os.WriteFile(name, []byte(text), 0o600))
	}
	if !r.known() {
		r.t.Fatal("nothing was left behind")
	}
}

// known reports whether the registry has a record of the session.
func (r *registry) known() bool {
	_, err := os.Stat((&citizen.Store{Dir: r.dirs.Sessions}).Path(gid))
	return !errors.Is(err, fs.ErrNotExist)
}

// TestTheSessionsOfAKilledWorkerAreTakenOutOfTheRegistry has a single worker of the host killed. Peers see at once that
// nothing listens; the next worker of the host, and any that serves, takes the record away.
func TestTheSessionsOfAKilledWorkerAreTakenOutOfTheRegistry(t *testing.T) {
	t.Run("told as dead", func(t *testing.T) {
		r := newRegistry(t)
		r.abandon()
		list, err := peers.Scan(t.Context(), r.dirs, controlsocket.Look)
		check(t, err)
		if len(list.Peers) != 1 || list.Peers[0].Liveness == dispatch.Alive || len(list.Sessions) != 0 {
			t.Errorf("%+v", list)
		}
	})
	t.Run("by the next worker", func(t *testing.T) {
		r := newRegistry(t)
		r.abandon()
		_, err := r.openHost()
		check(t, err)
		if r.known() {
			t.Error("its record is left")
		}
	})
	t.Run("by a worker that serves", func(t *testing.T) {
		r := newRegistry(t)
		ticks := make(chan time.Time)
		stop := host.Doorbells{Boxes: mailbox.Mailboxes{Dirs: r.dirs}, Log: slog.New(slog.DiscardHandler), Ticks: ticks}.Start(t.Context())
		defer stop()
		r.abandon()
		ticks <- time.Time{}
		ticks <- time.Time{} // taken when the first is done with
		if r.known() {
			t.Error("its record is left")
		}
	})
}
