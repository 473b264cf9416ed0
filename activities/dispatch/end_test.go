package dispatch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// warnings is a logger that keeps the fields of the warnings.
type warnings struct {
	temporaltest.Quiet
	mu     sync.Mutex
	fields [][]any
}

func (w *warnings) Warn(_ string, fields ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fields = append(w.fields, fields)
}

// lost returns the numbers of messages that the warnings say were lost.
func (w *warnings) lost() (numbers []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.fields {
		if i := slices.Index(f, "messages"); i >= 0 {
			numbers = append(numbers, f[i+1].(int))
		}
	}
	return numbers
}

func TestEachMessageThatHadNoTurnIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		texts []string
		ends  func(*fixture, *fakeSession)
		lost  []int
	}{
		"the agent ends before the turn of the one":     {[]string{"second"}, func(_ *fixture, g *fakeSession) { g.exit(agent.Exit{Code: 1}) }, []int{1}},
		"the agent ends before the turns of both":       {[]string{"second", "third"}, func(_ *fixture, g *fakeSession) { g.exit(agent.Exit{Code: 1}) }, []int{2}},
		"the dispatch is canceled before the turns":     {[]string{"second", "third"}, func(o *fixture, _ *fakeSession) { o.cancel() }, []int{2}},
		"the agent ends in the turn of the first":       {[]string{"second", "third"}, func(_ *fixture, g *fakeSession) { g.ends("done"); <-g.told; g.exit(agent.Exit{Code: 1}) }, []int{1}},
		"each has its turn":                             {[]string{"second"}, func(_ *fixture, g *fakeSession) { g.ends("done"); <-g.told; g.ends("done") }, nil},
		"nobody sent one, and the agent ends by itself": {nil, func(_ *fixture, g *fakeSession) { g.exit(agent.Exit{Code: 1}) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := newFixture(t)
			log := new(warnings)
			o.log = log
			over := o.own(o.ownedTurn())
			g := receive(t, "the start", o.agents.sessions)
			receive(t, "the letter", g.told)
			for _, text := range tt.texts {
				_, err := o.peer().Send(t.Context(), controlsocket.Message{Text: text})
				check(t, err)
			}
			tt.ends(o, g)
			if out := receive(t, "the outcome", over); out.err != nil {
				t.Error(out.err)
			}
			if got := log.lost(); !slices.Equal(got, tt.lost) {
				t.Errorf("told of %v lost messages, want %v", got, tt.lost)
			}
		})
	}
}

// block lets another process lock the locks' directory until the test ends, or until free is called.
func (o *fixture) block() (free func()) {
	o.t.Helper()
	other, err := os.OpenFile(filepath.Join(o.dirs.Locks, ".ratchet.lock"), os.O_RDWR, 0)
	check(o.t, err)
	o.t.Cleanup(func() { other.Close() })
	eventually.Holds(o.t, "the other process has the directory", func() bool { return unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil })
	return func() { other.Close() }
}

func TestATurnWaitsForNoOtherProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		backend dispatch.Backend
		early   bool // before it has the lock; otherwise once its agent starts
	}{
		"to have the lock":               {dispatch.Pi, true},
		"to release it at the beginning": {dispatch.Pi, false},
		"to release it at the end":       {dispatch.ClaudeCode, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := newFixture(t)
			e := o.ownedTurn()
			want := dispatch.StartFailed
			if tt.backend != dispatch.Pi {
				e.NativeSession, want = activities.NativeSession{Backend: tt.backend, Session: "n-1"}, dispatch.Completed
			}
			free := func() {}
			if tt.early {
				e.Observe = 50 * time.Millisecond
				free = o.block()
			}
			blocked := make(chan func(), 1)
			o.agents.refuse = func(context.Context) error { blocked <- o.block(); return nil }
			over := o.own(e)
			if !tt.early {
				free = receive(t, "the start", blocked)
				receive(t, "the session", o.agents.sessions).ends("done")
			}
			if out := receive(t, "the outcome", over); out.err != nil || out.Kind != want || !o.locked() {
				t.Errorf("%+v, locked: %v", out, o.locked())
			}
			free()
			mustPerform[any](o, o.acts.Unlock, e.Lock) // as the dispatch does
			o.verifyLeft(nil, false)
		})
	}
}
