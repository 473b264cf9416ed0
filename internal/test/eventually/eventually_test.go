package eventually_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// recorder is a test that notes how it failed.
type recorder struct {
	testing.TB
	ctx    context.Context
	failed string
}

func (*recorder) Helper()                    {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// within runs a wait to its end, and returns how it failed.
func within(ctx context.Context, limit time.Duration, holds func() bool) string {
	r := &recorder{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		eventually.Within(r, "it", limit, holds)
	}()
	<-done
	return r.failed
}

func TestWithin(t *testing.T) {
	asked := 0
	third := func() bool { asked++; return asked == 3 }
	never := func() bool { return false }
	ended, end := context.WithCancel(t.Context())
	end()
	for _, row := range []struct {
		name  string
		ctx   context.Context
		limit time.Duration
		holds func() bool
		want  string
	}{
		{"it holds", ended, 0, func() bool { return true }, ""},
		{"it comes to hold", t.Context(), time.Minute, third, ""},
		{"it never does", t.Context(), time.Millisecond, never, "it: not within 1ms"},
		{"the test ends", ended, time.Minute, never, "it: not before the test ended"},
	} {
		if got := within(row.ctx, row.limit, row.holds); got != row.want {
			t.Errorf("%s: %q", row.name, got)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

// A wait leaves the machine to what it waits for: its checks are seldom where they take long.
func TestPausesGrow(t *testing.T) {
	for _, row := range []struct{ check, wait, want time.Duration }{
		{0, 0, 5 * time.Millisecond},
		{0, time.Second, 50 * time.Millisecond},
		{10 * time.Millisecond, 0, 40 * time.Millisecond},
		{time.Second, time.Hour, 100 * time.Millisecond},
	} {
		if got := eventually.PauseAfter(row.check, row.wait); got != row.want {
			t.Errorf("check %v, wait %v: %v, want %v", row.check, row.wait, got, row.want)
		}
	}
}
