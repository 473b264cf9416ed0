package proc_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// A process that is not ours to end may hold the output: what the program wrote is whole, and Run does not wait for it.
func TestAPipeThatStaysOpenHoldsNothingUp(t *testing.T) {
	out := newLateReader()
	started := func(pid int) {
		holdOutput(t, pid)
		out.pid <- pid
	}
	_, err := proc.Run(t.Context(), proc.Command{Argv: sh(lines), Stdout: out, Started: started})
	wantLines(t, out.text.String(), err)
}

func TestAFloodOfAnotherHoldsNothingUp(t *testing.T) {
	over := make(chan error, 1)
	started := func(pid int) {
		held := holdOutput(t, pid)
		go func() {
			_, err := io.Copy(held, zeros{})
			over <- err
		}()
	}
	got, err := proc.Run(t.Context(), proc.Command{Argv: sh("echo one"), Stdout: io.Discard, Started: started})
	if want := (proc.Result{End: proc.Exited}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := <-over; err == nil {
		t.Error("the flood has ended by itself")
	}
}

// holdOutput opens the output of a process for ourselves.
func holdOutput(t *testing.T, pid int) *os.File {
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pid), os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { held.Close() })
	return held
}

// zeros never end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
