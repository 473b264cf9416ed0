package child_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// plainBox is a boundary that bounds nothing. The program gets a pipe of package proc in it.
type plainBox struct{}

func (plainBox) Enclose(argv []string, _ string, _ []string) (*proc.Enclosure, error) {
	return &proc.Enclosure{Argv: argv, Ended: func(int) (string, error) { return "", nil }, Close: func() {}}, nil
}

// dots calls full once so many dots were written to it.
type dots struct {
	due  int
	full func()
}

func (d *dots) Write(p []byte) (int, error) {
	if d.due -= len(p); d.due <= 0 {
		d.full()
	}
	return len(p), nil
}

// The output of a program in a box goes through two pipes. What does not fit, nobody takes.
func TestAProgramThatIsNotReadEndsInABoxToo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	full := make(chan struct{})
	c, err := child.Start(t.Context(), child.Spec{
		Argv: []string{self, "flood"}, Dir: t.TempDir(), Grace: 50 * time.Millisecond, Box: plainBox{},
		Log: &dots{due: 33, full: sync.OnceFunc(func() { close(full) })}, // two pipes hold 32 pages
	})
	if err != nil {
		t.Fatal(err)
	}
	<-full
	c.End()
	if c.Alive() {
		t.Error("it is alive")
	}
}
