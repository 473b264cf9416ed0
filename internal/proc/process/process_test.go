package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// As a child the test binary says that it runs, and waits to be ended.
const asChild = "PROCESS_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		os.Stdout.WriteString("up")
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs the test binary under a name that is hard to find the end of.
func child(t *testing.T) *exec.Cmd {
	t.Helper()
	odd := filepath.Join(t.TempDir(), "a) b (1 2")
	if err := os.Symlink(os.Args[0], odd); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(odd)
	cmd.Env = append(os.Environ(), asChild+"=1", "GORACE=atexit_sleep_ms=0")
	in, _ := cmd.StdinPipe()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	if _, err := out.Read(make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestAProcessThatRuns(t *testing.T) {
	pid := child(t).Process.Pid
	key := process.StartKey(pid)
	if !strings.HasPrefix(key, "linux:") && !strings.HasPrefix(key, "darwin:") {
		t.Errorf("key %q", key)
	}
	if process.StartKey(pid) != key || !process.Is(pid, key) || !process.Runs(pid, key) {
		t.Error("its key changes")
	}
	if process.Parent(pid) != os.Getpid() {
		t.Errorf("parent %d, want %d", process.Parent(pid), os.Getpid())
	}
	if process.Gone(pid) || process.Replaced(pid, key) {
		t.Error("it is thought to be gone")
	}
	scheme, _, _ := strings.Cut(key, ":")
	rows := map[string]bool{scheme + ":1": true, "other:1": false, "": false, scheme: false}
	for earlier, replaced := range rows {
		if process.Replaced(pid, earlier) != replaced {
			t.Errorf("replaced one of key %q: %v", earlier, !replaced)
		}
	}
}

func TestAProcessThatHasEnded(t *testing.T) {
	cmd := child(t)
	pid, key := cmd.Process.Pid, process.StartKey(cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if process.Gone(pid) {
		t.Error("gone before its parent knows")
	}
	eventually.Holds(t, "it does not run, although its parent does not know", func() bool { return !process.Runs(pid, key) })
	if !process.Is(pid, key) {
		t.Error("its number is free before its parent knows")
	}
	cmd.Wait()
	if !process.Gone(pid) || process.StartKey(pid) != "" || process.Is(pid, key) || process.Is(pid, "") {
		t.Error("still there")
	}
	if process.Replaced(pid, key) || process.Parent(pid) != 0 {
		t.Error("somebody has its number")
	}
}

func TestNumbersThatAreNoProcess(t *testing.T) {
	for _, pid := range []int{0, -1, -1000} {
		if process.Gone(pid) || process.StartKey(pid) != "" || process.Parent(pid) != 0 || process.Plausible(pid) {
			t.Errorf("%d is taken for a process", pid)
		}
	}
	if process.Plausible(1) || process.Gone(1) || !process.Plausible(2) {
		t.Error("1 owns nothing and is never gone")
	}
}

func TestWhatProvesThatThereIsNoProcess(t *testing.T) {
	rows := []struct {
		name string
		err  error
		want bool
	}{
		{"it was signalled", nil, false},
		{"it belongs to somebody else", unix.EPERM, false},
		{"there is none", unix.ESRCH, true},
		{"an error that nobody expects", unix.EINVAL, false},
	}
	for _, row := range rows {
		if got := process.Absent(row.err); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}
