package main

import (
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// The benchmarks share an engine and a worker each; read their ratios and
// counts, for the times are those of the machine. See docs/testing.md.

// simple is the whole of a short run: plan, execute, apply, one check. It has no baseline.
func (s *fixture) simple() run.Input {
	in := s.input(s.replay(newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"}).answers))
	in.NoBaseline = true
	return in
}

// BenchmarkRunOverFloor takes turns between a run and its floor and compares
// the medians, without the box and with it.
func BenchmarkRunOverFloor(b *testing.B) {
	for _, sandbox := range []run.Sandbox{run.SandboxOff, run.SandboxRequired} {
		b.Run("sandbox="+string(sandbox), func(b *testing.B) {
			if sandbox == run.SandboxRequired {
				need.Sandbox(b)
			}
			benchmarkRunOverFloor(b, sandbox)
		})
	}
}

func benchmarkRunOverFloor(b *testing.B, sandbox run.Sandbox) {
	s := newOwnFixture(b)
	s.sandbox = sandbox
	s.spawn(asWorker + "=" + floored)
	in := s.simple()
	first := s.start(in)
	if err := first.Get(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	history := s.executions(in.RunID, first.GetRunID())[0]
	steps := history.steps()
	var runs, floors []time.Duration
	for b.Loop() {
		in := s.simple()
		runs = append(runs, s.timed(in.RunID.WorkflowID(), workflows.Run, workflows.RunInput{Input: &in}))
		floors = append(floors, s.timed("floor-"+string(in.RunID), floor, steps))
	}
	b.ReportMetric(ms(median(runs)), "run-ms")
	b.ReportMetric(ms(median(floors)), "floor-ms")
	b.ReportMetric(float64(median(runs))/float64(median(floors)), "ratio")
	b.ReportMetric(float64(len(steps)-count(steps, local)), "activities")
	b.ReportMetric(float64(count(steps, local)), "local-activities")
}

// timed is how long a workflow takes from its start to its result.
func (s *fixture) timed(id string, workflow any, in any) time.Duration {
	s.t.Helper()
	began := time.Now()
	wr, err := s.client.ExecuteWorkflow(s.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: s.queue}, workflow, in)
	if err == nil {
		err = wr.Get(s.t.Context(), nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return time.Since(began)
}

// BenchmarkRunsWaiting has 200 runs wait for an approval, or 2,000, and then as many more. The first are compared with
// the worker as it began. The others are compared with the first, in a worker that has been idle: what each more takes.
func BenchmarkRunsWaiting(b *testing.B) {
	size := 200
	if need.Has(need.Nightly) {
		size = 2000
	}
	for b.Loop() {
		s := newOwnFixture(b)
		w := s.spawn()
		worker, server := rss(b, w.cmd.Process.Pid), rss(b, s.engine.PID)
		each := func(mb float64) float64 { return mb * 1024 / float64(size) }
		began := time.Now()
		s.waitMany(size)
		b.ReportMetric(float64(size), "runs")
		b.ReportMetric(time.Since(began).Seconds(), "seconds")
		b.ReportMetric(rss(b, w.cmd.Process.Pid), "worker-MB")
		b.ReportMetric(each(rss(b, w.cmd.Process.Pid)-worker), "worker-KB/run")
		b.ReportMetric(each(rss(b, s.engine.PID)-server), "engine-KB/run")
		first := settledRSS(b, w.cmd.Process.Pid)
		s.waitMany(size)
		b.ReportMetric(each(settledRSS(b, w.cmd.Process.Pid)-first), "more-KB/run")
	}
}

// waitMany starts so many runs and returns when all of them wait for an approval.
func (s *fixture) waitMany(size int) {
	s.t.Helper()
	waiting := make([]run.Input, size)
	for i := range waiting {
		waiting[i] = s.simple()
		waiting[i].Policy = run.Always
		s.start(waiting[i])
	}
	for _, in := range waiting {
		eventually.Within(s.t, "the approval", 20*time.Minute, func() bool {
			state, err := s.runs.Run(in.RunID).State()
			return err == nil && state.PendingApprovalID != ""
		})
	}
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func count(steps []step, kind step) (n int) {
	for _, st := range steps {
		if st == kind {
			n++
		}
	}
	return n
}

// settledRSS is rss once it has not changed for 25 s, in which an idle worker gives memory back.
func settledRSS(b *testing.B, pid int) float64 {
	b.Helper()
	last, since := 0.0, time.Now()
	for time.Since(since) < 25*time.Second {
		if now := rss(b, pid); math.Abs(now-last) > 1 {
			last, since = now, time.Now()
		}
		time.Sleep(time.Second) // the pace of measuring
	}
	return last
}

// rss is the resident memory of a process in MB.
func rss(b *testing.B, pid int) float64 {
	b.Helper()
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		b.Fatal(err)
	}
	kb, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		b.Fatal(err)
	}
	return float64(kb) / 1024
}
