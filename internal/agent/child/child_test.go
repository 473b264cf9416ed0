package child_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

func start(t *testing.T, role string) *child.Child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := child.Start(t.Context(), child.Spec{Argv: []string{self, role}, Dir: t.TempDir(), Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.End)
	return c
}

func TestLinesGoBothWays(t *testing.T) {
	c := start(t, "echo")
	for _, line := range []string{`{"a":1}`, "with its end\n"} {
		if err := c.WriteLine([]byte(line)); err != nil {
			t.Fatal(err)
		}
		got, err := c.ReadLine()
		if want := strings.TrimSpace(line); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	c.CloseStdin()
	if got, err := c.ReadLine(); !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v after the end", got, err)
	}
	if c.Alive() {
		t.Error("a program without input is alive")
	}
}

func TestALongLineWithoutAnEndIsWhole(t *testing.T) {
	c := start(t, "long")
	line, err := c.ReadLine()
	if err != nil || len(line) != 1<<20 {
		t.Errorf("got %d bytes, %v", len(line), err)
	}
}

func TestAnExitThatNobodyAskedForIsTold(t *testing.T) {
	c := start(t, "fail")
	<-c.Done()
	e, ok := c.Exit()
	if want := (agent.Exit{Code: 3, Stderr: "no way"}); !ok || e != want {
		t.Errorf("got %+v, %v, want %+v", e, ok, want)
	}
	if err := c.WriteLine([]byte("x")); err != nil && !errors.Is(err, agent.ErrGone) {
		t.Errorf("got %v", err)
	}
}

func TestAnEndOfOursIsNoExit(t *testing.T) {
	c := start(t, "deaf")
	if _, err := c.ReadLine(); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Exit(); ok || !c.Alive() {
		t.Error("it has ended before it was ended")
	}
	c.End()
	if e, ok := c.Exit(); ok || e.Signal == "" {
		t.Errorf("got %+v, %v, want a signal that is not told", e, ok)
	}
	if err := syscall.Kill(c.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("its process: %v", err)
	}
	if err := c.WriteLine([]byte("x")); !errors.Is(err, agent.ErrGone) {
		t.Errorf("got %v from a program that is gone", err)
	}
}

func TestAProgramThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	c := start(t, "deaf")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := c.SendLine(ctx, make([]byte, 1<<20)) // more than a pipe holds
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if c.Alive() {
		t.Error("half a line was written, and more could follow")
	}
}

// A line that was written as its context ended has left the wire whole.
func TestALateEndOfAContextBreaksNoWire(t *testing.T) {
	c := start(t, "deaf")
	for n := range 5000 { // the pipe holds more
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan struct{})
		go func() {
			cancel()
			close(ends)
		}()
		err := c.SendLine(ctx, []byte("x"))
		<-ends
		if err != nil { // the end came first: the input is closed
			c.End()
			c = start(t, "deaf")
			continue
		}
		if err := c.WriteLine([]byte("y")); err != nil {
			t.Fatalf("after %d lines: %v", n, err)
		}
	}
}

func TestWhatDoesNotRunIsUnavailable(t *testing.T) {
	_, err := child.Start(t.Context(), child.Spec{Argv: []string{"/no/such/program"}, Dir: t.TempDir()})
	if !errors.Is(err, agent.ErrUnavailable) || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v", err)
	}
}

// A program that writes pages without an end is read only as far as its events are.
func TestAProgramWaitsForTheReaderOfItsEvents(t *testing.T) {
	c := start(t, "flood")
	q := agent.NewQueue()
	defer q.Drop()
	c.Pace(q)
	var pages atomic.Int64
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			page, err := c.ReadLine()
			if err != nil {
				return
			}
			q.Put(agent.Raw{Frame: page})
			pages.Add(1)
		}
	}()
	const full, far = 64 << 20 / (4 << 10), 200_000
	last, same := int64(0), 0
	eventually.Holds(t, "the program is read no further, or much too far", func() bool {
		n := pages.Load()
		if same++; n != last {
			last, same = n, 0
		}
		return n > full/2 && same > 5 || n > far
	})
	if n := pages.Load(); n > full+full/10 {
		t.Errorf("%d pages were read, and nobody has read their events", n)
	}
	c.End()
	<-over // although nobody reads
}
