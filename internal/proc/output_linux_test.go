package proc_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// lateReader takes the first piece of an output when the program is gone, as a worker that gets no turn.
type lateReader struct {
	t    *testing.T
	pid  chan int
	once sync.Once
	text strings.Builder
}

func newLateReader(t *testing.T) *lateReader { return &lateReader{t: t, pid: make(chan int, 1)} }

func (l *lateReader) Write(b []byte) (int, error) {
	l.once.Do(func() {
		pid := <-l.pid
		eventually(l.t, "the program is gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	})
	return l.text.Write(b)
}

// lines is less than a pipe holds, and more than one read takes.
const lines = "i=0; while [ $i -lt 6000 ]; do echo 12345678; i=$((i+1)); done; echo last"

// What a program writes is kept, though all of it is read after the program's end.
func TestALateReaderLosesNothing(t *testing.T) {
	for name, argv := range map[string][]string{"by itself": sh(lines), "killed": sh(lines + "; kill -KILL $$")} {
		t.Run(name, func(t *testing.T) {
			out := newLateReader(t)
			_, err := proc.Run(t.Context(), proc.Command{Argv: argv, Stdout: out, Started: func(pid int) { out.pid <- pid }})
			wantLines(t, out.text.String(), err)
		})
	}
}

func wantLines(t *testing.T, text string, err error) {
	t.Helper()
	if want := strings.Repeat("12345678\n", 6000) + "last\n"; err != nil || !strings.HasPrefix(text, want) {
		t.Errorf("%v, %d bytes of %d", err, len(text), len(want))
	}
}

// A process that is not ours to end may hold the output: what the program wrote is whole, and Run does not wait for it.
func TestAPipeThatStaysOpenHoldsNothingUp(t *testing.T) {
	need.Root(t)
	out := newLateReader(t)
	gate := filepath.Join(t.TempDir(), "gate")
	started := func(pid int) {
		holdOutput(t, pid, gate)
		out.pid <- pid
	}
	_, err := proc.Run(t.Context(), proc.Command{Argv: sh(behind(gate) + lines), Stdout: out, Started: started})
	wantLines(t, out.text.String(), err)
}

func TestAFloodOfAnotherHoldsNothingUp(t *testing.T) {
	need.Root(t)
	over := make(chan error, 1)
	gate := filepath.Join(t.TempDir(), "gate")
	started := func(pid int) {
		held := holdOutput(t, pid, gate)
		go func() {
			_, err := io.Copy(held, zeros{})
			over <- err
		}()
	}
	got, err := proc.Run(t.Context(), proc.Command{Argv: sh(behind(gate) + "echo one"), Stdout: io.Discard, Started: started})
	if want := (proc.Result{End: proc.Exited}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := <-over; err == nil {
		t.Error("the flood has ended by itself")
	}
}

// behind is the beginning of a script that waits for a file: no one can open what a process has open once it has ended.
func behind(gate string) string { return "until [ -e '" + gate + "' ]; do sleep 0.01; done; " }

// holdOutput opens the output of a supervisor for ourselves, and opens the gate. A supervisor closes itself to all but
// root, and a moment after its exec, the kernel may refuse root, too.
func holdOutput(t *testing.T, pid int, gate string) *os.File {
	open := func() (*os.File, error) { return os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pid), os.O_WRONLY, 0) }
	held, err := open()
	for errors.Is(err, fs.ErrPermission) {
		runtime.Gosched()
		held, err = open()
	}
	if err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { held.Close() })
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Error(err)
	}
	return held
}

// zeros never end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
