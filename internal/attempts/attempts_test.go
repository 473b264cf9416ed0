package attempts_test

import (
	"bufio"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/attempts"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// asWorker makes the test binary a process that holds an attempt in the directory
// of that name, and with a second argument a child that inherits its lock.
const asWorker = "ATTEMPTS_TEST_WORKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asWorker); dir != "" {
		play(dir, os.Args[1:])
		time.Sleep(math.MaxInt64) // until it is killed; select {} would end a program without cgo as a deadlock
	}
	os.Exit(m.Run())
}

func play(dir string, args []string) {
	s, err := attempts.Open(dir)
	if err != nil {
		panic(err)
	}
	h, err := s.Begin(attempts.Attempt{Engine: "e1", Token: []byte("key"), PID: os.Getpid(), Began: time.Now()})
	if err != nil {
		panic(err)
	}
	pid := 0
	if len(args) > 0 {
		heir := exec.Command("sleep", "300")
		heir.ExtraFiles = []*os.File{h.File()}
		if err := heir.Start(); err != nil {
			panic(err)
		}
		pid = heir.Process.Pid
	}
	fmt.Println(pid)
}

// worker starts such a process; heir is the process that inherited its lock.
func worker(t *testing.T, dir string, args ...string) (w *os.Process, heir int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asWorker+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if _, err := fmt.Fscan(bufio.NewReader(out), &heir); err != nil {
		t.Fatal(err)
	}
	return cmd.Process, heir
}

func open(t *testing.T) (*attempts.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "attempts")
	s, err := attempts.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// dead are the attempts that are reported, and settled if they are to be.
func dead(t *testing.T, s *attempts.Store, settled bool) (found []attempts.Attempt) {
	t.Helper()
	err := s.Dead(func(a attempts.Attempt) bool {
		found = append(found, a)
		return settled
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func names(t *testing.T, dir string) []fs.DirEntry {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func send(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// Finding H1: a process that is stopped is not dead.
func TestOnlyAProcessThatIsGoneIsDead(t *testing.T) {
	s, dir := open(t)
	w, _ := worker(t, dir)
	if got := dead(t, s, true); len(got) > 0 {
		t.Errorf("while it runs: %v", got)
	}
	send(t, w.Pid, syscall.SIGSTOP)
	if got := dead(t, s, true); len(got) > 0 {
		t.Errorf("while it is stopped: %v", got)
	}
	w.Kill()
	var got []attempts.Attempt
	eventually.Holds(t, "the report of the dead", func() bool {
		got = dead(t, s, true)
		return len(got) > 0
	})
	if len(got) != 1 || string(got[0].Token) != "key" || got[0].Engine != "e1" || got[0].PID != w.Pid {
		t.Errorf("reported %+v", got)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWhatIsNotSettledIsReportedAgain(t *testing.T) {
	s, dir := open(t)
	w, _ := worker(t, dir)
	w.Kill()
	eventually.Holds(t, "a report", func() bool { return len(dead(t, s, false)) == 1 })
	if got := dead(t, s, true); len(got) != 1 {
		t.Errorf("the second time: %v", got)
	}
	if got := dead(t, s, true); len(got) != 0 {
		t.Errorf("after it was settled: %v", got)
	}
}

func TestADeadAttemptIsReportedByOneAtATime(t *testing.T) {
	s, dir := open(t)
	w, _ := worker(t, dir)
	w.Kill()
	reported := 0
	eventually.Holds(t, "a report", func() bool {
		err := s.Dead(func(attempts.Attempt) bool {
			reported++
			if other := dead(t, s, true); len(other) > 0 {
				t.Errorf("meanwhile somebody else reports %v", other)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return reported > 0
	})
}

func TestWhoInheritsTheLockMustBeGoneToo(t *testing.T) {
	s, dir := open(t)
	w, heir := worker(t, dir, "with an heir")
	w.Kill()
	w.Wait()
	if got := dead(t, s, true); len(got) > 0 {
		t.Errorf("while the heir lives: %v", got)
	}
	send(t, heir, syscall.SIGKILL)
	eventually.Holds(t, "the report", func() bool { return len(dead(t, s, true)) == 1 })
}

func TestAnAttemptThatEndedIsGone(t *testing.T) {
	s, dir := open(t)
	h, err := s.Begin(attempts.Attempt{Engine: "e1", Token: []byte("key")})
	if err != nil {
		t.Fatal(err)
	}
	if got := dead(t, s, true); len(got) > 0 {
		t.Errorf("while this process holds it: %v", got)
	}
	if err := h.End(); err != nil {
		t.Fatal(err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A process that dies between the two steps of Begin leaves an empty file.
func TestAFileWithoutATokenTellsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		age     time.Duration
		stays   bool
	}{
		"about to be locked": {"", 0, true},
		"never written":      {"", time.Hour, false},
		"half written":       {`{"engine":"e1","tok`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := open(t)
			file, at := filepath.Join(dir, "f"), time.Now().Add(-tc.age)
			if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
			if got := dead(t, s, true); len(got) > 0 {
				t.Errorf("reported %v", got)
			}
			if left := names(t, dir); len(left) == 1 != tc.stays {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestNobodyElseReadsTokens(t *testing.T) {
	s, dir := open(t)
	h, err := s.Begin(attempts.Attempt{Token: []byte("key")})
	if err != nil {
		t.Fatal(err)
	}
	defer h.End()
	for path, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, h.File().Name(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
