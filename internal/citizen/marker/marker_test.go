package marker_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

var (
	noon   = time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)
	target = marker.Citizen{GardenID: "20260612T120000-aaaaaa", Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"}
	other  = marker.Citizen{GardenID: "20260612T120000-bbbbbb", Backend: dispatch.ClaudeCode, NativeSessionID: "n-2"}
	self   = marker.OwnerOf(os.Getpid())
)

func receiver(c marker.Citizen, o marker.Owner) marker.Receiver {
	return marker.Receiver{Citizen: c, Owner: o, Provenance: marker.SessionStart}
}

// ended is a process that is no more.
func ended(t *testing.T) marker.Owner {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := marker.OwnerOf(cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	return o
}

// unwaited is a process that has ended and whose parent does not wait for it.
func unwaited(t *testing.T) marker.Owner {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Wait() })
	o := marker.OwnerOf(cmd.Process.Pid)
	must(t, cmd.Process.Kill())
	eventually.Holds(t, "the end of the process", func() bool { return !process.Runs(o.PID, o.StartKey) })
	if !process.Is(o.PID, o.StartKey) {
		t.Fatal("its number is free")
	}
	return o
}

func TestForms(t *testing.T) {
	dir := t.TempDir()
	must(t, marker.WriteReceiver(dir, receiver(target, self), noon))
	must(t, marker.WriteSender(dir, marker.Sender{Citizen: target, CWD: "/w", Owner: self}, noon))
	pid := strconv.Itoa(self.PID)
	wantFile(t, marker.ReceiverPath(dir, target.GardenID), `{
  "gardenId": "20260612T120000-aaaaaa",
  "backend": "claude-code",
  "nativeSessionId": "n-1",
  "ownerPid": `+pid+`,
  "ownerStartKey": "`+self.StartKey+`",
  "ownerKind": "claude-code-cli",
  "armProvenance": "session-start",
  "updatedAt": "2026-06-12T12:00:00.000Z"
}
`)
	wantFile(t, filepath.Join(dir, "claude-code", pid+".json"), `{
  "backend": "claude-code",
  "gardenId": "20260612T120000-aaaaaa",
  "nativeSessionId": "n-1",
  "cwd": "/w",
  "ownerPid": `+pid+`,
  "ownerStartKey": "`+self.StartKey+`",
  "updatedAt": "2026-06-12T12:00:00.000Z"
}
`)
	r, err := marker.ReadReceiver(dir, target.GardenID)
	if want := (marker.Receiver{target, self, "claude-code-cli", marker.SessionStart, "2026-06-12T12:00:00.000Z"}); err != nil || r != want {
		t.Errorf("%+v, %v; want %+v", r, err, want)
	}
	s, err := marker.ReadSender(marker.SenderPath(dir, dispatch.ClaudeCode, self.PID))
	if want := (marker.Sender{target, "/w", self, "2026-06-12T12:00:00.000Z"}); err != nil || s != want {
		t.Errorf("%+v, %v; want %+v", s, err, want)
	}
}

func TestWhatIsNeverWritten(t *testing.T) {
	with := func(change func(*marker.Receiver)) marker.Receiver {
		r := receiver(target, self)
		change(&r)
		return r
	}
	rows := map[string]marker.Receiver{
		"a prompt of the user's arms nothing": with(func(r *marker.Receiver) { r.Provenance = "user-prompt-submit" }),
		"no provenance":                       with(func(r *marker.Receiver) { r.Provenance = "" }),
		"the process that adopts orphans":     with(func(r *marker.Receiver) { r.Owner.PID = 1 }),
		"no process":                          with(func(r *marker.Receiver) { r.Owner = marker.Owner{} }),
		"a process group":                     with(func(r *marker.Receiver) { r.Owner.PID = -5 }),
		"a process without a key":             with(func(r *marker.Receiver) { r.Owner.StartKey = "" }),
		"no garden id":                        with(func(r *marker.Receiver) { r.GardenID = "../x" }),
		"no native session":                   with(func(r *marker.Receiver) { r.NativeSessionID = "" }),
		"a backend with a socket":             with(func(r *marker.Receiver) { r.Backend = dispatch.Pi }),
		"an unknown backend":                  with(func(r *marker.Receiver) { r.Backend = "gemini" }),
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "markers")
			if err := marker.WriteReceiver(dir, r, noon); err == nil {
				t.Error("written")
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("something was made")
			}
		})
	}
}

func TestPresence(t *testing.T) {
	type dirs struct{ receivers, senders string }
	write := func(r marker.Receiver) func(*testing.T, dirs) {
		return func(t *testing.T, d dirs) { must(t, marker.WriteReceiver(d.receivers, r, noon)) }
	}
	edited := func(old, new string) func(*testing.T, dirs) {
		return func(t *testing.T, d dirs) {
			write(receiver(target, self))(t, d)
			path := marker.ReceiverPath(d.receivers, target.GardenID)
			b, _ := os.ReadFile(path)
			text := strings.Replace(string(b), old, new, 1)
			if text == string(b) {
				t.Fatalf("%s has no %s", b, old)
			}
			must(t, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	sending := func(c marker.Citizen) func(*testing.T, dirs) {
		return func(t *testing.T, d dirs) {
			write(receiver(target, self))(t, d)
			must(t, marker.WriteSender(d.senders, marker.Sender{Citizen: c, CWD: "/w", Owner: self}, noon))
		}
	}
	here := marker.Presence{RecordBacked: true, OwnerAlive: true, WatchArmed: true}
	away := marker.Presence{RecordBacked: true}
	rows := []struct {
		name  string
		setUp func(*testing.T, dirs)
		want  marker.Presence
	}{
		{"a live receiver", write(receiver(target, self)), here},
		{"no marker", func(*testing.T, dirs) {}, away},
		{"a process that has ended", func(t *testing.T, d dirs) { write(receiver(target, ended(t)))(t, d) }, away},
		{"a process that has ended and is not waited for", func(t *testing.T, d dirs) { write(receiver(target, unwaited(t)))(t, d) }, away},
		{"a process whose number another has got", write(receiver(target, marker.Owner{PID: self.PID, StartKey: "linux:1"})), away},
		{"a key of another kind", write(receiver(target, marker.Owner{PID: self.PID, StartKey: "ps:Fri Jun 12 12:00:00 2026"})), away},
		{"an empty key", edited(self.StartKey, ""), away},
		{"a marker that is cut off", edited("}\n", ""), away},
		{"an array", edited("{", "[{"), away},
		{"a number as text", edited(strconv.Itoa(self.PID), `"`+strconv.Itoa(self.PID)+`"`), away},
		{"a provenance that arms nothing", edited("session-start", "user-prompt-submit"), away},
		{"an unknown backend", edited("claude-code", "gemini"), away},
		{"the garden id of another", edited("aaaaaa", "bbbbbb"), away},
		{"another backend than the record's", edited(`"claude-code"`, `"codex"`), away},
		{"another native session than the record's", edited("n-1", "n-9"), away},
		{"armed by another event", edited("session-start", "cwd-changed"), here},
		{"a further member", edited("{", `{"more": 1,`), here},
		{"the marker is a symlink", func(t *testing.T, d dirs) {
			write(receiver(target, self))(t, dirs{receivers: d.senders})
			must(t, os.MkdirAll(d.receivers, 0o700))
			must(t, os.Symlink(marker.ReceiverPath(d.senders, target.GardenID), marker.ReceiverPath(d.receivers, target.GardenID)))
		}, away},
		{"its process still sends as it", sending(target), here},
		{"its process has gone over to another session", sending(other), marker.Presence{RecordBacked: true, OwnerAlive: true}},
		{"an earlier process of the number sent as another", func(t *testing.T, d dirs) {
			write(receiver(target, self))(t, d)
			owner := marker.Owner{PID: self.PID, StartKey: "linux:1"}
			must(t, marker.WriteSender(d.senders, marker.Sender{Citizen: other, CWD: "/w", Owner: owner}, noon))
		}, here},
		{"what lies in the place of its sender marker is that of another process", func(t *testing.T, d dirs) {
			write(receiver(target, self))(t, d)
			m := marker.Sender{Citizen: other, CWD: "/w", Owner: marker.OwnerOf(os.Getppid())}
			must(t, marker.WriteSender(d.senders, m, noon))
			must(t, os.Rename(marker.SenderPath(d.senders, m.Backend, m.Owner.PID), marker.SenderPath(d.senders, m.Backend, self.PID)))
		}, here},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d := dirs{filepath.Join(t.TempDir(), "receivers"), filepath.Join(t.TempDir(), "senders")}
			row.setUp(t, d)
			if got := marker.PresenceOf(d.receivers, d.senders, target); got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

func TestActive(t *testing.T) {
	rows := []struct {
		p      marker.Presence
		active bool
		reason string
	}{
		{marker.Presence{}, false, "no record"},
		{marker.Presence{OwnerAlive: true, WatchArmed: true}, false, "no record"},
		{marker.Presence{RecordBacked: true, WatchArmed: true}, false, "no known process"},
		{marker.Presence{RecordBacked: true, OwnerAlive: true}, false, "nothing watches"},
		{marker.Presence{RecordBacked: true, OwnerAlive: true, WatchArmed: true}, true, "watches"},
	}
	for _, row := range rows {
		if active, reason := row.p.Active(); active != row.active || !strings.Contains(reason, row.reason) {
			t.Errorf("%+v: %v, %s", row.p, active, reason)
		}
	}
}

func TestASenderThatHasEndedIsStale(t *testing.T) {
	dir := t.TempDir()
	m := marker.Sender{Citizen: target, CWD: "/w", Owner: ended(t)}
	must(t, marker.WriteSender(dir, m, noon))
	if _, err := marker.ReadSender(marker.SenderPath(dir, m.Backend, m.Owner.PID)); !errors.Is(err, marker.ErrStale) {
		t.Error(err)
	}
}

// A marker speaks for the process and the backend that its path names.
func TestASenderLiesAtItsPath(t *testing.T) {
	dir := t.TempDir()
	m := marker.Sender{Citizen: target, CWD: "/w", Owner: self}
	must(t, marker.WriteSender(dir, m, noon))
	b, err := os.ReadFile(marker.SenderPath(dir, m.Backend, m.Owner.PID))
	must(t, err)
	pid := strconv.Itoa(self.PID)
	rows := []struct {
		path string
		read bool
	}{
		{"claude-code/" + pid + ".json", true},
		{"elsewhere/claude-code/" + pid + ".json", true},
		{"claude-code/" + strconv.Itoa(os.Getppid()) + ".json", false},
		{"claude-code/0" + pid + ".json", false},
		{"claude-code/" + pid, false},
		{"codex/" + pid + ".json", false},
		{pid + ".json", false},
	}
	for _, row := range rows {
		path := filepath.Join(dir, row.path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, b, 0o600))
		if got, err := marker.ReadSender(path); (err == nil) != row.read {
			t.Errorf("%s: %+v, %v", row.path, got, err)
		}
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
