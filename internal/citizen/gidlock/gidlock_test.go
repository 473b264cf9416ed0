package gidlock_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen/gidlock"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

func newLocks(t testing.TB) gidlock.Locks {
	return gidlock.Locks{Dir: filepath.Join(t.TempDir(), "entwurf-v2-locks")}
}

func TestForm(t *testing.T) {
	l := newLocks(t)
	lock, err := l.Acquire(t.Context(), gid, "c-1")
	if err != nil || lock.Again {
		t.Fatalf("%+v, %v", lock, err)
	}
	b, err := os.ReadFile(lockFile(l))
	must(t, err)
	host, _ := os.Hostname()
	form := `^\{"gardenId":"` + string(gid) + `","pid":` + strconv.Itoa(os.Getpid()) + `,"hostname":"` + regexp.QuoteMeta(host) +
		`","createdAt":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","nonce":"[0-9a-f]{16}","owner":"entwurf_v2","lockPath":"` +
		regexp.QuoteMeta(lockFile(l)) + `","ownerStartKey":"[^"]+",("ownerPidSpace":"[^"]+",)?"claim":"c-1"\}\n$`
	if !regexp.MustCompile(form).Match(b) {
		t.Errorf("%s\nwant %s", b, form)
	}
	for path, want := range map[string]fs.FileMode{lockFile(l): 0o600, l.Dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	if h := onDisk(t, l); h != lock.Holder {
		t.Errorf("%+v on disk, %+v returned", h, lock.Holder)
	}
}

func TestPathsOutOfWhatIsNoGardenID(t *testing.T) {
	l := newLocks(t)
	for _, id := range []dispatch.GardenID{"", "../escape", "20260612T093000-0A1B2C", "20260612T093000-0a1b2", gid + "/x", gid + "\n"} {
		if path, err := l.Path(id); err == nil {
			t.Errorf("%q: %s", id, path)
		}
		_, err1 := l.Acquire(t.Context(), id, "c")
		_, err2 := l.Release(t.Context(), id, "c")
		_, err3 := l.Holds(id, "c")
		if err1 == nil || err2 == nil || err3 == nil {
			t.Errorf("%q: %v, %v, %v", id, err1, err2, err3)
		}
	}
	if _, err := l.Acquire(t.Context(), gid, ""); err == nil {
		t.Error("locked without a claim")
	}
	if _, err := os.Stat(l.Dir); err == nil {
		t.Error("a directory was made")
	}
}

// What another program left in the lock's place, and whether it may be taken.
func TestReclaim(t *testing.T) {
	child := exec.Command("sleep", "60")
	must(t, child.Start())
	defer func() { child.Process.Kill(); child.Wait() }()
	text := func(change func(*gidlock.Holder)) func(*testing.T, gidlock.Locks) string {
		return func(t *testing.T, l gidlock.Locks) string { return foreign(t, l, change) }
	}
	plain := func(s string) func(*testing.T, gidlock.Locks) string {
		return func(*testing.T, gidlock.Locks) string { return s }
	}
	edited := func(old, new string) func(*testing.T, gidlock.Locks) string {
		return func(t *testing.T, l gidlock.Locks) string {
			return strings.Replace(foreign(t, l, func(*gidlock.Holder) {}), old, new, 1)
		}
	}
	space := process.Space()
	unwaited := exec.Command("sleep", "60") // it ends, and nobody waits for it
	must(t, unwaited.Start())
	defer unwaited.Wait()
	key := process.StartKey(unwaited.Process.Pid)
	must(t, unwaited.Process.Kill())
	eventually.Holds(t, "the end of the process", func() bool { return !process.Runs(unwaited.Process.Pid, key) })
	rows := []struct {
		name  string
		text  func(*testing.T, gidlock.Locks) string
		taken bool
		named bool // the conflict names its holder
	}{
		{"a process that has ended", text(func(*gidlock.Holder) {}), true, false},
		{"a process that runs", text(func(h *gidlock.Holder) { h.PID = child.Process.Pid }), false, true},
		{"this very process, without a claim", text(func(h *gidlock.Holder) { h.PID = os.Getpid() }), false, true},
		{"the first process of all", text(func(h *gidlock.Holder) { h.PID = 1 }), false, true},
		{"a process group", text(func(h *gidlock.Holder) { h.PID = -proctest.Ended(t) }), false, true},
		{"no process", text(func(h *gidlock.Holder) { h.PID = 0 }), false, true},
		{"a process that ended on another host", text(func(h *gidlock.Holder) { h.Hostname = "elsewhere" }), false, true},
		{"another citizen's lock", text(func(h *gidlock.Holder) { h.GardenID = "20260612T093000-ffffff" }), false, false},
		{"another protocol's lock", text(func(h *gidlock.Holder) { h.Owner = "entwurf_v3" }), false, false},
		{"an empty file", plain(""), false, false},
		{"garbage", plain("12345\n"), false, false},
		{"a lock that is cut off", edited("}\n", ""), false, false},
		{"a number as text", edited(`"pid":`, `"pid":"1","x":`), false, false},
		{"no nonce", edited(`"nonce"`, `"nonse"`), false, false},
		{"no lock path", edited(`"lockPath"`, `"path"`), true, false},
		{"a further member", edited("{", `{"more":[1],`), true, false},
		{"a lock of ours from before its number was given out again", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.PIDSpace, h.Claim = child.Process.Pid, "linux:1", space, "c-0"
		}), true, false},
		{"the same, by our own number", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.PIDSpace, h.Claim = os.Getpid(), "linux:1", space, "c-0"
		}), true, false},
		{"the same, from another space of numbers", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.PIDSpace, h.Claim = child.Process.Pid, "linux:1", "pid:[1]", "c-0"
		}), false, true},
		{"a lock of ours whose number nobody has in our space", text(func(h *gidlock.Holder) {
			h.StartKey, h.PIDSpace, h.Claim = "linux:1", space, "c-0"
		}), true, false},
		{"the same, from another space of numbers, where it may run", text(func(h *gidlock.Holder) {
			h.StartKey, h.PIDSpace, h.Claim = "linux:1", "pid:[1]", "c-0"
		}), false, true},
		{"a number that was given out again, counted nobody says where", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.Claim = child.Process.Pid, "linux:1", "c-0"
		}), false, true},
		{"a process that has ended in another space, without its key", text(func(h *gidlock.Holder) { h.PIDSpace = "pid:[1]" }), false, true},
		{"the same, on another host", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.PIDSpace, h.Claim, h.Hostname = child.Process.Pid, "linux:1", space, "c-0", "elsewhere"
		}), false, true},
		{"a lock of ours with a key of another kind", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.PIDSpace, h.Claim = child.Process.Pid, "boot:1", space, "c-0"
		}), false, true},
		{"a lock of ours whose process runs", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.PIDSpace, h.Claim = child.Process.Pid, process.StartKey(child.Process.Pid), space, "c-0"
		}), false, true},
		{"a lock of ours whose process has ended and is not waited for", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.PIDSpace, h.Claim = unwaited.Process.Pid, key, space, "c-0"
		}), true, false},
		{"the same, counted nobody says where", text(func(h *gidlock.Holder) {
			h.PID, h.StartKey, h.Claim = unwaited.Process.Pid, key, "c-0"
		}), false, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			l := newLocks(t)
			must(t, os.MkdirAll(l.Dir, 0o755))
			there := row.text(t, l)
			must(t, os.WriteFile(lockFile(l), []byte(there), 0o644))
			lock, err := l.Acquire(t.Context(), gid, "c-1")
			if row.taken {
				if err != nil || lock.Again || onDisk(t, l) != lock.Holder {
					t.Errorf("%+v, %v", lock, err)
				}
			} else {
				wantConflict(t, l, err, row.named)
				if b, _ := os.ReadFile(lockFile(l)); string(b) != there {
					t.Errorf("the file is %q, was %q", b, there)
				}
			}
			wantNoMarker(t, l)
		})
	}
}

// A process that we may not signal is there.
func TestAProcessOfAnotherUserKeepsItsLock(t *testing.T) {
	pid := foreignProcess(t)
	l := newLocks(t)
	must(t, os.MkdirAll(l.Dir, 0o700))
	there := foreign(t, l, func(h *gidlock.Holder) { h.PID = pid })
	must(t, os.WriteFile(lockFile(l), []byte(there), 0o600))
	_, err := l.Acquire(t.Context(), gid, "c-1")
	wantConflict(t, l, err, true)
	if b, _ := os.ReadFile(lockFile(l)); string(b) != there {
		t.Errorf("the file is %q, was %q", b, there)
	}
}

// A claim has its lock again from another space too; that its process may be
// this one by number and key is not enough to leave the lock as it is.
func TestAClaimHasItsLockFromAnotherSpace(t *testing.T) {
	l := newLocks(t)
	must(t, os.MkdirAll(l.Dir, 0o700))
	must(t, os.WriteFile(lockFile(l), []byte(foreign(t, l, func(h *gidlock.Holder) {
		h.PID, h.StartKey, h.PIDSpace, h.Claim = os.Getpid(), process.StartKey(os.Getpid()), "pid:[1]", "c-1"
	})), 0o600))
	lock := acquire(t, l, "c-1")
	if !lock.Again || lock.PIDSpace != process.Space() || onDisk(t, l) != lock.Holder {
		t.Errorf("%+v", lock)
	}
}

func TestWhatIsNoFileStays(t *testing.T) {
	rows := map[string]func(path string) error{
		"a symlink to a lock": func(path string) error { return os.Symlink(path+"x", path) },
		"a fifo":              func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory":         func(path string) error { return os.Mkdir(path, 0o700) },
		"a huge file": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
	}
	for name, setUp := range rows {
		t.Run(name, func(t *testing.T) {
			l := newLocks(t)
			must(t, os.MkdirAll(l.Dir, 0o700))
			must(t, os.WriteFile(lockFile(l)+"x", []byte(foreign(t, l, func(*gidlock.Holder) {})), 0o600))
			must(t, setUp(lockFile(l)))
			before, _ := os.Lstat(lockFile(l))
			_, err := l.Acquire(t.Context(), gid, "c-1")
			wantConflict(t, l, err, false)
			if found, err := l.Release(t.Context(), gid, "c-1"); err != nil || found != gidlock.NotOwned {
				t.Errorf("release: %s, %v", found, err)
			}
			if holds, err := l.Holds(gid, "c-1"); err != nil || holds {
				t.Errorf("holds: %v, %v", holds, err)
			}
			if after, err := os.Lstat(lockFile(l)); err != nil || !os.SameFile(before, after) {
				t.Errorf("replaced: %v", err)
			}
		})
	}
}

func TestAMarkerOfAnotherProgramStays(t *testing.T) {
	for name, text := range map[string]string{"empty, as they leave it": "", "garbage": "x"} {
		t.Run(name, func(t *testing.T) {
			l := newLocks(t)
			must(t, os.MkdirAll(l.Dir, 0o700))
			there := foreign(t, l, func(*gidlock.Holder) {})
			must(t, os.WriteFile(lockFile(l), []byte(there), 0o600))
			must(t, os.WriteFile(lockFile(l)+".reclaim", []byte(text), 0o600))
			_, err := l.Acquire(t.Context(), gid, "c-1")
			wantConflict(t, l, err, true)
			if c, _ := errors.AsType[*gidlock.Conflict](err); !strings.Contains(c.Detail, ".reclaim of 20") {
				t.Errorf("the marker and its time are not named: %s", c.Detail)
			}
			if b, err := os.ReadFile(lockFile(l) + ".reclaim"); err != nil || string(b) != text {
				t.Errorf("the marker is %q, %v", b, err)
			}
			if b, _ := os.ReadFile(lockFile(l)); string(b) != there {
				t.Errorf("the lock is %q", b)
			}
		})
	}
}

func TestALockThatCannotBeMadeIsNoConflict(t *testing.T) {
	l := newLocks(t)
	must(t, os.WriteFile(l.Dir, nil, 0o600))
	_, err := l.Acquire(t.Context(), gid, "c-1")
	if _, conflict := errors.AsType[*gidlock.Conflict](err); err == nil || conflict {
		t.Errorf("%v", err)
	}
}

func TestRelease(t *testing.T) {
	l := newLocks(t)
	rows := []struct {
		name  string
		setUp func()
		claim string
		want  gidlock.Released
	}{
		{"no directory", func() {}, "c-1", gidlock.Absent},
		{"one's own", func() { acquire(t, l, "c-1") }, "c-1", gidlock.Unlocked},
		{"twice", func() {}, "c-1", gidlock.Absent},
		{"another claim's", func() { acquire(t, l, "c-2") }, "c-1", gidlock.NotOwned},
		{"that claim's", func() {}, "c-2", gidlock.Unlocked},
		{"another program's", func() {
			must(t, os.WriteFile(lockFile(l), []byte(foreign(t, l, func(*gidlock.Holder) {})), 0o600))
		}, "c-1", gidlock.NotOwned},
		{"garbage", func() { must(t, os.WriteFile(lockFile(l), []byte("x"), 0o600)) }, "c-1", gidlock.NotOwned},
		{"one's own in another citizen's name", func() {
			text := foreign(t, l, func(h *gidlock.Holder) { h.GardenID, h.Claim = "20260612T093000-ffffff", "c-1" })
			must(t, os.WriteFile(lockFile(l), []byte(text), 0o600))
		}, "c-1", gidlock.NotOwned},
		{"one's own, taken by a process that has ended", func() {
			must(t, os.Remove(lockFile(l)))
			holder(t, l.Dir, "c-3")
		}, "c-3", gidlock.Unlocked},
	}
	for _, row := range rows {
		row.setUp()
		if found, err := l.Release(t.Context(), gid, row.claim); err != nil || found != row.want {
			t.Errorf("%s: %s, %v; want %s", row.name, found, err, row.want)
		}
		_, err := os.Stat(lockFile(l))
		if gone := errors.Is(err, fs.ErrNotExist); gone != (row.want != gidlock.NotOwned) {
			t.Errorf("%s: gone %v", row.name, gone)
		}
		wantNoMarker(t, l)
	}
}

func TestAClaimHasItsLockAgain(t *testing.T) {
	l := newLocks(t)
	first := acquire(t, l, "c-1")
	again := acquire(t, l, "c-1")
	if !again.Again || again.Holder != first.Holder {
		t.Errorf("in the same process: %+v, was %+v", again, first)
	}
	if _, err := l.Acquire(t.Context(), gid, "c-2"); err == nil {
		t.Error("another claim has it too")
	}
	if holds, err := l.Holds(gid, "c-1"); err != nil || !holds {
		t.Errorf("holds: %v, %v", holds, err)
	}
	for _, claim := range []string{"c-2", ""} {
		if holds, err := l.Holds(gid, claim); err != nil || holds {
			t.Errorf("claim %q holds: %v, %v", claim, holds, err)
		}
	}
}

func TestAClaimHasTheLockOfItsDeadProcess(t *testing.T) {
	l := newLocks(t)
	holder(t, l.Dir, "c-1")
	dead := onDisk(t, l)
	if holds, err := l.Holds(gid, "c-1"); err != nil || !holds {
		t.Errorf("holds: %v, %v", holds, err)
	}
	lock := acquire(t, l, "c-1")
	if !lock.Again || lock.PID != os.Getpid() || lock.CreatedAt != dead.CreatedAt || onDisk(t, l) != lock.Holder {
		t.Errorf("%+v, was %+v", lock, dead)
	}
	if lock.Nonce == dead.Nonce {
		t.Error("whoever judged the dead process would take the lock of the living one")
	}
	wantNoMarker(t, l)
}

func TestAnotherClaimReclaimsTheLockOfADeadProcess(t *testing.T) {
	l := newLocks(t)
	holder(t, l.Dir, "c-1")
	if lock := acquire(t, l, "c-2"); lock.Again || lock.Claim != "c-2" {
		t.Errorf("%+v", lock)
	}
	if holds, err := l.Holds(gid, "c-1"); err != nil || holds {
		t.Errorf("the first claim holds: %v, %v", holds, err)
	}
	_, err := l.Acquire(t.Context(), gid, "c-1")
	wantConflict(t, l, err, true)
	if found, err := l.Release(t.Context(), gid, "c-1"); err != nil || found != gidlock.NotOwned {
		t.Errorf("the first claim released %s, %v", found, err)
	}
}

func TestOneOfFiftyGetsIt(t *testing.T) {
	rows := map[string]func(t *testing.T, l gidlock.Locks){
		"nobody has it":          func(t *testing.T, l gidlock.Locks) {},
		"a dead process of ours": func(t *testing.T, l gidlock.Locks) { holder(t, l.Dir, "c-0") },
		"another dead process": func(t *testing.T, l gidlock.Locks) {
			must(t, os.MkdirAll(l.Dir, 0o700))
			must(t, os.WriteFile(lockFile(l), []byte(foreign(t, l, func(*gidlock.Holder) {})), 0o600))
		},
	}
	for name, setUp := range rows {
		t.Run(name, func(t *testing.T) {
			l := newLocks(t)
			setUp(t, l)
			var mu sync.Mutex
			var won []gidlock.Lock
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					lock, err := l.Acquire(t.Context(), gid, "c-"+strconv.Itoa(i+1))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won = append(won, lock)
					} else {
						wantConflict(t, l, err, true)
					}
				})
			}
			wg.Wait()
			if len(won) != 1 || onDisk(t, l) != won[0].Holder {
				t.Errorf("%d have it: %+v", len(won), won)
			}
			wantNoMarker(t, l)
		})
	}
}

// Another program races us for the lock of a dead process, as its protocol goes.
func TestAgainstAnotherProgram(t *testing.T) {
	for range 30 {
		l := newLocks(t)
		must(t, os.MkdirAll(l.Dir, 0o700))
		must(t, os.WriteFile(lockFile(l), []byte(foreign(t, l, func(*gidlock.Holder) {})), 0o600))
		var wg sync.WaitGroup
		var theirs int
		var ours error
		wg.Go(func() { theirs = otherReclaims(t, l) })
		wg.Go(func() { _, ours = l.Acquire(t.Context(), gid, "c-1") })
		wg.Wait()
		if (ours == nil) == (theirs == 1) {
			t.Fatalf("ours %v, theirs %d", ours, theirs)
		}
		if holds, err := l.Holds(gid, "c-1"); err != nil || holds != (ours == nil) {
			t.Fatalf("holds %v, %v", holds, err)
		}
	}
}

// otherReclaims does what the other program does with a lock that it has judged
// dead, and returns 1 when it has the lock.
func otherReclaims(t *testing.T, l gidlock.Locks) int {
	exclusive := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	text := foreign(t, l, func(h *gidlock.Holder) { h.PID, h.Nonce = os.Getpid(), "fedcba9876543210" })
	for {
		m, err := os.OpenFile(lockFile(l)+".reclaim", exclusive, 0o600)
		if err == nil {
			m.Close()
			break
		}
		if b, _ := os.ReadFile(lockFile(l)); !strings.Contains(string(b), "0123456789abcdef") {
			return 0
		}
	}
	defer os.Remove(lockFile(l) + ".reclaim")
	if b, _ := os.ReadFile(lockFile(l)); !strings.Contains(string(b), "0123456789abcdef") {
		return 0
	}
	must(t, os.Remove(lockFile(l)))
	f, err := os.OpenFile(lockFile(l), exclusive, 0o600)
	if err != nil {
		return 0
	}
	f.WriteString(text)
	f.Close()
	return 1
}

// What others may do between two of our steps.
func TestOthersInBetween(t *testing.T) {
	dead := func(t *testing.T, l gidlock.Locks) string { return foreign(t, l, func(*gidlock.Holder) {}) }
	live := func(t *testing.T, l gidlock.Locks) string {
		return foreign(t, l, func(h *gidlock.Holder) { h.PID, h.Nonce = os.Getpid(), "fedcba9876543210" })
	}
	remove := func(t *testing.T, l gidlock.Locks) { must(t, os.Remove(lockFile(l))) }
	take := func(t *testing.T, l gidlock.Locks) { must(t, os.WriteFile(lockFile(l), []byte(live(t, l)), 0o600)) }
	both := func(t *testing.T, l gidlock.Locks) { remove(t, l); take(t, l) }
	rows := []struct {
		name  string
		there func(*testing.T, gidlock.Locks) string
		step  string
		do    func(*testing.T, gidlock.Locks)
		taken bool
	}{
		{"the holder releases before we look", live, "exists", remove, true},
		{"the holder releases and another takes it before we look", live, "exists", both, false},
		{"a dead holder's lock is reclaimed before our marker", dead, "marked", both, false},
		{"a dead holder's lock is removed before our marker", dead, "marked", remove, false},
		{"another takes it in the gap", dead, "in-gap", take, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			l := newLocks(t)
			must(t, os.MkdirAll(l.Dir, 0o700))
			must(t, os.WriteFile(lockFile(l), []byte(row.there(t, l)), 0o600))
			watched := l.At(func(step string) {
				if step == row.step {
					row.do(t, l)
				}
			})
			lock, err := watched.Acquire(t.Context(), gid, "c-1")
			if row.taken && (err != nil || onDisk(t, l) != lock.Holder) {
				t.Errorf("%+v, %v", lock, err)
			}
			if _, conflict := errors.AsType[*gidlock.Conflict](err); conflict == row.taken {
				t.Errorf("%+v, %v", lock, err)
			}
			if holds, err := l.Holds(gid, "c-1"); err != nil || holds != row.taken {
				t.Errorf("holds %v, %v", holds, err)
			}
			wantNoMarker(t, l)
		})
	}
}

// The holder releases, and before our second attempt another has the lock.
func TestOneMoreAttempt(t *testing.T) {
	l := newLocks(t)
	must(t, os.MkdirAll(l.Dir, 0o700))
	text := foreign(t, l, func(h *gidlock.Holder) { h.PID = os.Getpid() })
	must(t, os.WriteFile(lockFile(l), []byte(text), 0o600))
	attempts := 0
	watched := l.At(func(step string) {
		switch step {
		case "exists":
			must(t, os.Remove(lockFile(l)))
		case "before-create":
			if attempts++; attempts == 2 {
				must(t, os.WriteFile(lockFile(l), []byte(text), 0o600))
			}
		}
	})
	_, err := watched.Acquire(t.Context(), gid, "c-1")
	wantConflict(t, l, err, true)
	if attempts != 2 || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("%d attempts, %v", attempts, err)
	}
}

func TestKilledAnywhere(t *testing.T) {
	steps := []struct {
		point string
		first string // who has the lock before: a claim of ours that died, or - for another program
	}{
		{"gidlock.before-create", ""}, {"gidlock.after-create", ""}, {"gidlock.before-release", ""}, {"gidlock.after-release", ""},
		{"gidlock.marked", "-"}, {"gidlock.in-gap", "-"}, {"gidlock.after-create", "-"},
		{"gidlock.marked", "c-0"}, {"gidlock.in-gap", "c-0"},
		{"gidlock.marked", "c-1"}, {"gidlock.before-takeover", "c-1"}, {"gidlock.after-takeover", "c-1"},
	}
	for _, step := range steps {
		t.Run(step.point+" after "+step.first, func(t *testing.T) {
			for _, next := range []string{"c-1", "c-2"} {
				l := newLocks(t)
				switch step.first {
				case "":
				case "-":
					must(t, os.MkdirAll(l.Dir, 0o700))
					must(t, os.WriteFile(lockFile(l), []byte(foreign(t, l, func(*gidlock.Holder) {})), 0o600))
				default:
					holder(t, l.Dir, step.first)
				}
				if end := holder(t, l.Dir, "c-1", andRelease+"=1", "RATCHET_FAILPOINTS="+step.point+"=kill"); end.Exited() {
					t.Fatalf("not killed: %v", end)
				}
				lock := acquire(t, l, next)
				if onDisk(t, l) != lock.Holder {
					t.Errorf("%+v is not on disk", lock)
				}
				if found, err := l.Release(t.Context(), gid, next); err != nil || found != gidlock.Unlocked {
					t.Errorf("%s, %v", found, err)
				}
			}
		})
	}
}

func acquire(t *testing.T, l gidlock.Locks, claim string) gidlock.Lock {
	t.Helper()
	lock, err := l.Acquire(t.Context(), gid, claim)
	must(t, err)
	return lock
}

func wantConflict(t *testing.T, l gidlock.Locks, err error, named bool) {
	t.Helper()
	c, ok := errors.AsType[*gidlock.Conflict](err)
	if !ok || c.LockPath != lockFile(l) || (c.Holder != nil) != named || c.Detail == "" {
		t.Errorf("conflict %+v, %v; holder named: %v", c, err, named)
	}
}

func wantNoMarker(t *testing.T, l gidlock.Locks) {
	t.Helper()
	if _, err := os.Lstat(lockFile(l) + ".reclaim"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the marker stays: %v", err)
	}
}

func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	l := newLocks(t)
	if end := holder(t, l.Dir, "c-1", "RATCHET_FAILPOINTS=citizen.before-name=kill"); end.Exited() {
		t.Fatalf("not killed: %v", end)
	}
	left, err := filepath.Glob(filepath.Join(l.Dir, "*.lock.tmp-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("%q, %v", left, err)
	}
	must(t, os.Chtimes(left[0], time.Time{}, time.Now().Add(-2*time.Hour)))
	acquire(t, l, "c-2")
	if left, err := filepath.Glob(filepath.Join(l.Dir, "*.tmp-*")); err != nil || len(left) != 0 {
		t.Errorf("%q, %v", left, err)
	}
}
