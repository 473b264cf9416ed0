package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/eventually"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// BenchmarkSessionsAsleep has sessions sleep on one worker: 200, or 1,000 with RATCHET_TEST_LONG=1. worker-KB/session is
// what each adds to the worker, with all of them held in memory; wake-ms is the time from a message to a sleeping
// session to its answer, the start of its agent included.
func BenchmarkSessionsAsleep(b *testing.B) {
	size := 200
	if long() {
		size = 1000
	}
	s := newFixture(b)
	s.flags = []string{"-cached-runs", strconv.Itoa(size + 100)}
	w := s.spawn()
	before := residentKB(b, w.cmd.Process.Pid)
	talk := b.TempDir()
	h := &sessionFixture{fixture: s, talk: talk}
	var ids []session.ID
	for range size {
		id := session.ID(uuid.NewString())
		in := session.Input{
			ID: id, Provider: fmt.Sprintf("acp:%s %s %s", os.Args[0], asTalker, talk), Sandbox: run.SandboxOff,
			Repository: run.Repository{Path: s.repo, Base: s.base},
		}
		if err := h.sessions().Start(b.Context(), in); err != nil {
			b.Fatal(err)
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		eventually.Holds(b, "session asleep", func() bool {
			ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
			defer cancel()
			snap, err := h.sessions().State(ctx, id)
			return err == nil && snap.State == session.Asleep
		})
	}
	after := residentKB(b, w.cmd.Process.Pid)
	var woken []time.Duration
	for i := range min(20, size) {
		began := time.Now()
		m := session.Message{ID: fmt.Sprint("m", i), Text: fmt.Sprint("m", i)}
		if err := h.sessions().Send(b.Context(), ids[i], sessionflow.SayUpdate, m.ID, m, nil); err != nil {
			b.Fatal(err)
		}
		eventually.Holds(b, "answer", func() bool {
			snap, err := h.sessions().State(b.Context(), ids[i])
			return err == nil && len(snap.Past) == 1
		})
		woken = append(woken, time.Since(began))
	}
	slices.Sort(woken)
	b.ReportMetric(float64(after-before)/float64(size), "worker-KB/session")
	b.ReportMetric(float64(woken[len(woken)/2].Milliseconds()), "wake-p50-ms")
	b.ReportMetric(float64(woken[len(woken)-1].Milliseconds()), "wake-max-ms")
	b.ReportMetric(0, "ns/op")
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
