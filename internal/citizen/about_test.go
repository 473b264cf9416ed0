package citizen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

func note(h citizen.Host) string {
	return filepath.Join(h.Dirs.Sessions, string(hosted)+".ratchet.json")
}

func TestANoteSaysWhichSessionOfOursItIs(t *testing.T) {
	h := host(t)
	leave := open(t, h)
	store := &citizen.Store{Dir: h.Dirs.Sessions}
	o, ok := store.FindOurs(hosted)
	if !ok || o.About != guest || !o.Alive() || o.Owner.PID != os.Getpid() {
		t.Errorf("%+v, %v", o, ok)
	}
	r, err := store.Find(hosted)
	must(t, err)
	if r.Backend != dispatch.Pi || r.Model != "codex/gpt-5, developer 2 of run shop#3" || !store.IsOurs(r) {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(note(h)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	leave()
	if there(note(h)) {
		t.Error("the note is left")
	}
}

// TestANoteThatIsNone holds that nothing is believed of a file that is not whole, and that it makes no record ours.
func TestANoteThatIsNone(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"cut off":          func(s string) string { return s[:len(s)/2] },
		"of another id":    func(s string) string { return strings.Replace(s, "0a1b2c", "0a1b2d", 1) },
		"of a later form":  func(s string) string { return strings.Replace(s, `"schemaVersion": 1`, `"schemaVersion": 2`, 1) },
		"without an agent": func(s string) string { return strings.Replace(s, `"codex"`, `""`, 1) },
		"of all processes": func(s string) string {
			return strings.Replace(s, `"ownerPid": `+strconv.Itoa(os.Getpid()), `"ownerPid": 1`, 1)
		},
		"of words":          func(s string) string { return strings.Replace(s, `"attempt": 2`, `"attempt": "2"`, 1) },
		"an empty document": func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t)
			defer open(t, h)()
			b, err := os.ReadFile(note(h))
			must(t, err)
			changed := change(string(b))
			if changed == string(b) {
				t.Fatalf("%s is not changed", b)
			}
			must(t, os.WriteFile(note(h), []byte(changed), 0o600))
			store := &citizen.Store{Dir: h.Dirs.Sessions}
			r, err := store.Find(hosted)
			must(t, err)
			if o, ok := store.FindOurs(hosted); ok || store.IsOurs(r) {
				t.Errorf("believed: %+v", o)
			}
		})
	}
}

// kill makes the note that of a process that has ended.
func kill(t *testing.T, h citizen.Host) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	must(t, cmd.Start())
	ended := marker.OwnerOf(cmd.Process.Pid)
	must(t, cmd.Process.Kill())
	cmd.Wait()
	b, err := os.ReadFile(note(h))
	must(t, err)
	self := marker.OwnerOf(os.Getpid())
	text := strings.NewReplacer(strconv.Itoa(self.PID), strconv.Itoa(ended.PID), self.StartKey, ended.StartKey).Replace(string(b))
	must(t, os.WriteFile(note(h), []byte(text), 0o600))
}

func TestASweepTakesTheSessionsOfDeadWorkersAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*testing.T, citizen.Host)
		swept  bool
		record bool // is there afterwards
	}{
		"a worker that runs": {func(*testing.T, citizen.Host) {}, false, true},
		"a worker that died": {kill, true, false},
		"no record was made": {func(t *testing.T, h citizen.Host) {
			kill(t, h)
			must(t, os.Remove((&citizen.Store{Dir: h.Dirs.Sessions}).Path(hosted)))
		}, true, false},
		"another program's id": {func(t *testing.T, h citizen.Host) {
			kill(t, h)
			store := &citizen.Store{Dir: h.Dirs.Sessions}
			must(t, os.Remove(store.Path(hosted)))
			_, err := store.Register(t.Context(), citizen.Birth{GardenID: hosted, Backend: dispatch.Pi, CWD: "/theirs", Model: "opus"})
			must(t, err)
		}, true, true},
		"another program's session": {func(t *testing.T, h citizen.Host) { must(t, os.Remove(note(h))) }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t)
			open(t, h)
			tt.before(t, h)
			had := there(note(h))
			ids, err := h.Sweep(t.Context())
			must(t, err)
			if want := []dispatch.GardenID{hosted}; tt.swept != reflect.DeepEqual(ids, want) || known(h) != tt.record || there(note(h)) != (had && !tt.swept) {
				t.Errorf("swept %v, record %v, note %v", ids, known(h), there(note(h)))
			}
			if ids, err := h.Sweep(t.Context()); err != nil || len(ids) > 0 {
				t.Errorf("a second time: %v, %v", ids, err)
			}
		})
	}
}

// A worker that is started again takes its sessions over while another process sweeps.
func TestASweepLeavesASessionThatAnotherWorkerHasTakenOver(t *testing.T) {
	h := host(t)
	leave := open(t, h)
	defer leave()
	whole, err := os.ReadFile(note(h))
	must(t, err)
	kill(t, h)
	must(t, os.Remove(h.Dirs.Socket(hosted))) // the live one comes back below
	bind(t, h.Dirs.Socket(hosted)).Close()
	lock, err := os.OpenFile(filepath.Join(h.Dirs.Sessions, ".ratchet.lock"), os.O_RDWR, 0)
	must(t, err)
	defer lock.Close()
	must(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	type swept struct {
		ids []dispatch.GardenID
		err error
	}
	over := make(chan swept, 1)
	go func() {
		ids, err := h.Sweep(t.Context())
		over <- swept{ids, err}
	}()
	eventually.Holds(t, "the sweep has found the session dead", func() bool { return !there(h.Dirs.Socket(hosted)) })
	must(t, os.WriteFile(note(h), whole, 0o600))
	server, err := controlsocket.Listen(t.Context(), h.Dirs.Socket(hosted), mute{})
	must(t, err)
	defer server.Close()
	must(t, lock.Close())
	if got := <-over; got.err != nil || len(got.ids) != 0 || !known(h) || !there(note(h)) || !there(h.Dirs.Socket(hosted)) {
		t.Errorf("%+v; record %v, note %v, socket %v", got, known(h), there(note(h)), there(h.Dirs.Socket(hosted)))
	}
}
