package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// BenchmarkSessionsAsleep has sessions sleep on one worker: 200, or 1,000 with RATCHET_TEST=nightly. worker-KB/session is
// the memory that each adds to the worker, with all of them held there, and worker-KB/woken the memory that a session
// adds that was woken and went back to sleep: a tenth of them are. wake-ms is the time from a message to a sleeping
// session to its answer, the start of its agent included.
func BenchmarkSessionsAsleep(b *testing.B) {
	size := 200
	if need.Has(need.Nightly) {
		size = 1000
	}
	s := newOwnFixture(b)
	s.flags = []string{"-cached-runs", strconv.Itoa(size + 100), "-session-idle", "1s"}
	w := s.spawn()
	before := residentKB(b, w.cmd.Process.Pid)
	h := &sessionFixture{fixture: s, talk: b.TempDir()}
	var ids []session.ID
	for range size {
		ids = append(ids, h.startAsleep(b))
	}
	for _, id := range ids {
		h.awaitSleep(b, id, 0)
	}
	asleep := residentKB(b, w.cmd.Process.Pid)
	again := ids[:size/10]
	var took []time.Duration
	for _, id := range again {
		took = append(took, h.wake(b, id))
	}
	for _, id := range again {
		h.awaitSleep(b, id, 1)
	}
	after := residentKB(b, w.cmd.Process.Pid)
	slices.Sort(took)
	b.ReportMetric(float64(asleep-before)/float64(size), "worker-KB/session")
	b.ReportMetric(float64(after-asleep)/float64(len(again)), "worker-KB/woken")
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "wake-p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "wake-max-ms")
	b.ReportMetric(0, "ns/op")
}

// startAsleep starts a session that was told nothing yet.
func (h *sessionFixture) startAsleep(b *testing.B) session.ID {
	in := session.Input{
		ID: session.ID(uuid.NewString()), Provider: fmt.Sprintf("acp:%s %s %s", os.Args[0], asTalker, h.talk), Sandbox: run.SandboxOff,
		Repository: run.Repository{Path: h.repo, Base: h.base},
	}
	if err := h.sessions().Start(b.Context(), in); err != nil {
		b.Fatal(err)
	}
	return in.ID
}

// awaitSleep waits until the session sleeps after so many processes.
func (h *sessionFixture) awaitSleep(b *testing.B, id session.ID, processes int) {
	eventually.Holds(b, "session asleep", func() bool {
		snap, err := h.sessions().State(b.Context(), id)
		return err == nil && snap.State == session.Asleep && snap.Epochs == processes
	})
}

// wake says something to the session and returns the time to its answer.
func (h *sessionFixture) wake(b *testing.B, id session.ID) time.Duration {
	began := time.Now()
	m := session.Message{ID: "m1", Text: "m1"}
	if err := h.sessions().Send(b.Context(), id, sessionflow.SayUpdate, m.ID, m, nil); err != nil {
		b.Fatal(err)
	}
	eventually.Holds(b, "answer", func() bool {
		snap, err := h.sessions().State(b.Context(), id)
		return err == nil && len(snap.Past) == 1
	})
	return time.Since(began)
}

// residentKB returns the resident memory of a process.
func residentKB(b *testing.B, pid int) int {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("needs /proc: ", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return kb
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
