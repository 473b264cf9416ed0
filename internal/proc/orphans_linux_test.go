package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// rounds of the battery: each leaves a child, one that left the session and an orphaned daemon, all deaf to SIGTERM and
// holding the output.
const rounds = 10

func TestNothingIsLeftWhenTheProgramEnds(t *testing.T) {
	for range rounds {
		mark := newMark(t)
		got, err := proc.Run(t.Context(), proc.Command{Argv: self("play-family", mark, "exits"), Stdout: io.Discard})
		if want := (proc.Result{End: proc.Exited}); err != nil || got != want {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		wantNone(t, mark)
	}
}

func TestNothingIsLeftAfterTheDeadline(t *testing.T) {
	for range rounds {
		mark := newMark(t)
		ctx := &manualDeadline{Context: t.Context(), done: make(chan struct{})}
		got, err := proc.Run(ctx, proc.Command{Argv: self("play-family", mark, "stays"), Stdout: after("ready", ctx.pass), Grace: 10 * time.Millisecond})
		if err != nil || got.End != proc.Deadline || got.Left != 0 {
			t.Fatalf("got %+v, %v", got, err)
		}
		wantNone(t, mark)
	}
}

func TestNothingIsLeftAfterCancel(t *testing.T) {
	for range rounds {
		mark := newMark(t)
		ctx, cancel := context.WithCancel(t.Context())
		got, err := proc.Run(ctx, proc.Command{Argv: self("play-family", mark, "stays"), Stdout: after("ready", cancel), Grace: 10 * time.Millisecond})
		if err != nil || got.End != proc.Canceled || got.Left != 0 {
			t.Fatalf("got %+v, %v", got, err)
		}
		wantNone(t, mark)
	}
}

func TestNothingIsLeftWhenWeAreKilled(t *testing.T) {
	for range rounds {
		mark := newMark(t)
		parent := startUntilReady(t, self("play-parent", mark))
		parent.Process.Kill()
		parent.Wait()
		eventually(t, "the family is gone", func() bool { return len(marked(mark)) == 0 })
	}
}

// The control: what os/exec alone does leaves some of the same family, so the tests above can see orphans.
func TestPlainExecLeavesOrphans(t *testing.T) {
	mark := newMark(t)
	ctx, cancel := context.WithCancel(t.Context())
	argv := self("play-family", mark, "stays")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.WaitDelay = after("ready", cancel), 10*time.Millisecond
	if err := cmd.Run(); err == nil {
		t.Fatal("the family ended by itself")
	}
	if left := marked(mark); len(left) != 3 {
		t.Errorf("%d processes left; want the 3 that the battery starts", len(left))
	}
}

func TestKilledSupervisorIsSaidSoAndItsSessionEnds(t *testing.T) {
	mark := newMark(t)
	script := fmt.Sprintf("sleep 300 & : %s; kill -KILL $PPID; sleep 300", mark)
	_, err := proc.Run(t.Context(), proc.Command{Argv: sh(script), Env: []string{"PATH=/usr/bin:/bin", "MARK=" + mark}, Stdout: io.Discard})
	if !errors.Is(err, proc.ErrLost) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the session is gone", func() bool { return len(marked(mark)) == 0 })
}

func TestRunawayDaemonIsCaught(t *testing.T) {
	mark := newMark(t)
	_, err := proc.Run(t.Context(), proc.Command{Argv: self("play-generator", mark, "1000"), Stdout: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	wantNone(t, mark)
}

func TestStoppedProgramsEndToo(t *testing.T) {
	mark := newMark(t)
	ctx, cancel := context.WithCancel(t.Context())
	script := fmt.Sprintf("sh -c 'kill -STOP $$; sleep 300' %s & echo stopped; kill -STOP $$", mark)
	got, err := proc.Run(ctx, proc.Command{Argv: append(sh(script), mark), Env: []string{"PATH=/usr/bin:/bin"}, Stdout: after("stopped", cancel), Grace: time.Minute})
	if want := (proc.Result{ExitCode: -1, Signal: "SIGTERM", End: proc.Canceled}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	wantNone(t, mark)
}

func TestProgramGetsNoDescriptorOfOurs(t *testing.T) {
	var out bytes.Buffer
	if _, err := proc.Run(t.Context(), proc.Command{Argv: self("play-fds"), Stdout: &out, Stderr: &out}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "1 2 " {
		t.Errorf("pipes %q; want its two outputs alone", out.String())
	}
}

func TestEndlessOutputNeedsNoMemory(t *testing.T) {
	need.Suite(t, need.CI)
	const gigabyte = 1 << 30
	kept := proc.NewHeadTail(32<<10, 32<<10)
	before := resident(t)
	var peak int
	out := meter{w: kept, each: func() { peak = max(peak, resident(t)) }}
	script := "yes | head -c " + strconv.Itoa(gigabyte)
	if _, err := proc.Run(t.Context(), proc.Command{Argv: sh(script), Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if kept.Bytes() != gigabyte {
		t.Errorf("%d bytes came through", kept.Bytes())
	}
	if grown := peak - before; grown > 16<<20 {
		t.Errorf("grown by %d bytes", grown)
	}
}

// meter calls each every 16 MiB.
type meter struct {
	w     io.Writer
	since int
	each  func()
}

func (m *meter) Write(p []byte) (int, error) {
	if m.since += len(p); m.since > 16<<20 {
		m.since = 0
		m.each()
	}
	return m.w.Write(p)
}

func resident(t *testing.T) int {
	t.Helper()
	runtime.GC()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// manualDeadline is a context whose deadline passes when the test says so.
type manualDeadline struct {
	context.Context
	done chan struct{}
}

func (d *manualDeadline) pass()                 { close(d.done) }
func (d *manualDeadline) Done() <-chan struct{} { return d.done }
func (d *manualDeadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// newMark is a word that only the processes of this test carry in their arguments or environment. Those that are left at the
// end of the test are ended one by one.
func newMark(t *testing.T) string {
	mark := "mark-" + uuid.NewString()
	t.Cleanup(func() {
		for _, pid := range marked(mark) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return mark
}

// marked finds the living processes with that word, the supervisor included.
func marked(mark string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		argv, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		env, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if strings.Contains(string(argv)+string(env), mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func wantNone(t *testing.T, mark string) {
	t.Helper()
	if left := marked(mark); len(left) > 0 {
		t.Errorf("%d processes are left: %v", len(left), left)
	}
}

// startUntilReady starts a play that prints ready.
func startUntilReady(t *testing.T, argv []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	for chunk := make([]byte, 512); !strings.Contains(string(seen), "ready"); {
		n, err := out.Read(chunk)
		if err != nil {
			t.Fatalf("after %q: %v", seen, err)
		}
		seen = slices.Concat(seen, chunk[:n])
	}
	return cmd
}

// eventually polls for as long as a test may take; the machine may be slow.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
