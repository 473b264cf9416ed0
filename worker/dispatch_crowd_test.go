package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestManyOwnOneSession has several clients ask at once for the outcome of one
// session that does not run, while two workers serve. One gets it, and one agent
// runs. The others are told that the session is locked, before the turn of the
// first one ends. Finding H3.
func TestManyOwnOneSession(t *testing.T) {
	need.Suite(t, need.Nightly)
	sizes := []int{2, 10}
	if need.Has(need.Nightly) {
		sizes = []int{2, 10, 50}
	}
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	r.spawn()
	r.spawn()
	for _, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			to, done := h.settle(dormant), fmt.Sprint("done-", size)
			over := make(chan told)
			for i := range size {
				c := r.from(t, i%5)
				go func() { over <- c.dispatch(message(to, dispatch.OwnedOutcome, "until="+done)) }()
			}
			for range size - 1 {
				got := <-over
				if h.verify(t, got); got.word() != string(dispatch.TargetLocked) {
					t.Errorf("%s", got)
				}
			}
			h.end(done)
			got := <-over
			if h.verify(t, got); got.word() != string(dispatch.Completed) {
				t.Errorf("%s", got)
			}
			if n := h.lines(startedLine, string(to)); n != 1 {
				t.Errorf("%d agents were started", n)
			}
			// It does not run any more: the next one may.
			if got := r.dispatch(message(to, dispatch.OwnedOutcome)); got.word() != string(dispatch.Completed) || h.lines(startedLine, string(to)) != 2 {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
	h.verifyHost(t)
}

// from is the same with the nth of several clients.
func (r *queueFixture) from(t *testing.T, n int) *queueFixture {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.clients) <= n {
		c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Engine: r.engine.Address, Key: r.engine.Key, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		r.t.Cleanup(c.Close)
		r.clients = append(r.clients, c)
	}
	there := *r.queue
	there.client = r.clients[n]
	return &queueFixture{r.dispatchFixture, &there}
}

// TestOwnedTurnsInARow has owned dispatches come one behind the other's end.
func TestOwnedTurnsInARow(t *testing.T) {
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	r.spawn()
	to := h.settle(dormant)
	for range 5 {
		if got := r.dispatch(message(to, dispatch.OwnedOutcome)); got.word() != string(dispatch.Completed) {
			t.Errorf("%s", got)
		}
	}
	h.verifyHost(t)
}

// TestPeersReachAnOwnedTurn sends to a session while a dispatch owns its turn: what
// comes has turns of its own, in their order.
func TestPeersReachAnOwnedTurn(t *testing.T) {
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	r.spawn()
	to := h.settle(dormant)
	first := message(to, dispatch.OwnedOutcome, "until=done")
	over := r.give(first)
	eventually.Holds(t, "the errand", func() bool { return h.lines(promptLine, string(to)) == 1 })
	want := []string{first.ID}
	for range 3 {
		l := message(to, dispatch.FireAndForget)
		if got := r.dispatch(l); got.word() != string(dispatch.Sent) || got.Outcome.DeliveredAs != dispatch.Followed {
			t.Errorf("%s", got)
		}
		want = append(want, l.ID)
	}
	h.end("done")
	got := <-over
	if h.verify(t, got); got.word() != string(dispatch.Completed) || got.Outcome.Answer != first.ID {
		t.Errorf("%s", got)
	}
	eventually.Holds(t, "the turns of the others", func() bool { return h.lines(promptLine, string(to)) == len(want) })
	if prompts := h.prompts(t); !slices.Equal(prompts, want) {
		t.Errorf("prompts %v, want %v", prompts, want)
	}
	h.verifyHost(t)
}

// prompts are the messages that sessions were given, in their order.
func (h *dispatchFixture) prompts(t *testing.T) (ids []string) {
	t.Helper()
	b, err := os.ReadFile(h.ledger)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if what := strings.Fields(line); what[0] == promptLine {
			ids = append(ids, what[2])
		}
	}
	return ids
}

// TestAnOwnedTurnKeepsItsOutcome has peers keep the session busy after the turn of
// the dispatch that resumed it: that one is told at once, and for good.
func TestAnOwnedTurnKeepsItsOutcome(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	w := r.spawn()
	to := h.settle(dormant)
	first := message(to, dispatch.OwnedOutcome, "until=done")
	over := r.give(first)
	eventually.Holds(t, "the errand", func() bool { return h.lines(promptLine, string(to)) == 1 })
	if got := r.dispatch(message(to, dispatch.FireAndForget, "until=never")); got.word() != string(dispatch.Sent) {
		t.Errorf("%s", got)
	}
	h.end("done")
	got := <-over
	if h.verify(t, got); got.word() != string(dispatch.Completed) || got.Outcome.Answer != first.ID {
		t.Errorf("%s", got)
	}
	if got := r.dispatch(message(to, dispatch.OwnedOutcome)); got.word() != string(dispatch.TargetLocked) {
		t.Errorf("while it goes on: %s", got)
	}
	w.kill()
	r.spawn()
	if again := <-r.give(first); again.word() != string(dispatch.Completed) || h.arrived(first) != 1 {
		t.Errorf("asked again, after the worker's death: %s", again)
	}
	if got := r.own(t, to); got.word() != string(dispatch.Completed) {
		t.Errorf("afterwards: %s", got)
	}
	h.verifyHost(t)
}

// own dispatches until the session is locked no longer: a worker that died with an
// owned turn is missed after a while.
func (r *queueFixture) own(t *testing.T, to dispatch.GardenID) (got told) {
	t.Helper()
	eventually.Holds(t, "the session to be free", func() bool {
		got = r.dispatch(message(to, dispatch.OwnedOutcome))
		r.verify(t, got)
		return got.word() != string(dispatch.TargetLocked)
	})
	return got
}

// TestAForeignLock has another program's lock on the target.
func TestAForeignLock(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	h := newDispatchFixture(t)
	r := h.on("dispatch")
	r.spawn()
	other := exec.Command("sleep", "300")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	for _, k := range []kind{live, dormant} {
		to := h.settle(k)
		path, text := h.lockAs(t, to, other.Process.Pid)
		got := r.dispatch(message(to, intentOf(k)))
		if h.verify(t, got); got.word() != string(dispatch.TargetLocked) || !strings.Contains(got.Diagnostic, fmt.Sprint(other.Process.Pid)) {
			t.Errorf("%s: %s", k, got)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, text) {
			t.Errorf("%s: the lock is %q, %v", k, b, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if got := r.dispatch(message(to, intentOf(k))); got.word() != string(good(k)) {
			t.Errorf("%s, released: %s", k, got)
		}
	}
	other.Process.Kill()
	other.Wait()
	for _, k := range []kind{live, dormant} {
		to := h.settle(k)
		h.lockAs(t, to, other.Process.Pid)
		if got := r.dispatch(message(to, intentOf(k))); got.word() != string(good(k)) {
			t.Errorf("%s, whose holder has died: %s", k, got)
		}
	}
	h.verifyHost(t)
}

// lockAs locks a target as another program does (docs/contracts/dispatch.md, 7).
func (h *dispatchFixture) lockAs(t *testing.T, id dispatch.GardenID, pid int) (path string, text []byte) {
	t.Helper()
	name, err := os.Hostname()
	if err == nil {
		err = os.MkdirAll(h.dirs.Locks, 0o700)
	}
	path = filepath.Join(h.dirs.Locks, string(id)+".lock")
	text = fmt.Appendf(nil, `{"gardenId":%q,"pid":%d,"hostname":%q,"createdAt":"2026-06-12T09:30:00.000Z","nonce":"0123456789abcdef","owner":"entwurf_v2","lockPath":%q}`+"\n", id, pid, name, path)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, text
}
