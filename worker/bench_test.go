package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/engine"
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
	w := s.spawn(asWorker + "=" + floored)
	in := s.simple()
	first := s.start(in)
	if err := first.Get(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	history := s.executions(in.RunID, first.GetRunID())[0]
	steps, clothes := history.steps(), history.dress()
	var based, runs, floors, dresseds cost
	for b.Loop() {
		in := s.simple()
		in.NoBaseline = false
		s.measure(w, &based, in.RunID.WorkflowID(), workflows.Run, workflows.RunInput{Input: &in})
		in = s.simple()
		s.measure(w, &runs, in.RunID.WorkflowID(), workflows.Run, workflows.RunInput{Input: &in})
		s.measure(w, &floors, "floor-"+string(in.RunID), floor, steps)
		s.measure(w, &dresseds, "dressed-"+string(in.RunID), dressedFloor, clothes)
	}
	runs.report(b, "run")
	floors.report(b, "floor")
	dresseds.report(b, "dressed")
	b.ReportMetric(float64(median(runs.times))/float64(median(floors.times)), "ratio")
	b.ReportMetric(float64(median(runs.times))/float64(median(dresseds.times)), "ratio-dressed")
	b.ReportMetric(ms(median(based.times)-median(runs.times)), "baseline-ms")
	b.ReportMetric(float64(len(steps)-count(steps, local)), "activities")
	b.ReportMetric(float64(count(steps, local)), "local-activities")
}

// cost is what workflows of a kind take, in time and in CPU time.
type cost struct {
	times                    []time.Duration
	engine, worker, children time.Duration // of all
}

// measure is timed, and adds what the workflow costs.
func (s *fixture) measure(w *workerProcess, c *cost, id string, workflow any, in any) {
	s.t.Helper()
	engine, _ := cpuTime(s.engine.PID)
	worker, children := cpuTime(w.cmd.Process.Pid)
	c.times = append(c.times, s.timed(id, workflow, in))
	time.Sleep(50 * time.Millisecond) // what the engine does afterwards belongs to it
	engineAfter, _ := cpuTime(s.engine.PID)
	workerAfter, childrenAfter := cpuTime(w.cmd.Process.Pid)
	c.engine += engineAfter - engine
	c.worker += workerAfter - worker
	c.children += childrenAfter - children
}

// report reports the median of the times, and of the CPU times, whose clock is coarse, the mean.
func (c *cost) report(b *testing.B, name string) {
	b.ReportMetric(ms(median(c.times)), name+"-ms")
	n := time.Duration(len(c.times))
	b.ReportMetric(ms(c.engine/n), name+"-engine-cpu-ms")
	b.ReportMetric(ms(c.worker/n), name+"-worker-cpu-ms")
	b.ReportMetric(ms(c.children/n), name+"-children-cpu-ms")
}

// cpuTime is the CPU time of a process, and of its children that have ended. It is zero where the system has no /proc.
func cpuTime(pid int) (own, children time.Duration) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, 0
	}
	sum := func(fields []string) (total time.Duration) {
		for _, f := range fields {
			ticks, _ := strconv.Atoi(f)
			total += time.Duration(ticks) * 10 * time.Millisecond
		}
		return total
	}
	return sum(fields[11:13]), sum(fields[13:15])
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

// BenchmarkApprovalToApplied is the time from the signal to the event
// PATCH_APPLIED, both by the engine's clock.
func BenchmarkApprovalToApplied(b *testing.B) {
	s := newOwnFixture(b)
	s.spawn()
	var times []time.Duration
	for b.Loop() {
		in := s.simple()
		in.Policy = run.Always
		wr := s.start(in)
		eventually.Holds(b, "the approval", func() bool {
			state, err := s.runs.Run(in.RunID).State()
			if err != nil || state.PendingApprovalID == "" {
				return false
			}
			return s.signal(b.Context(), in.RunID, workflows.ApprovalMessage, approve(state.PendingApprovalID)) == nil
		})
		if err := wr.Get(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		times = append(times, s.sinceSignal(in.RunID, wr.GetRunID()))
	}
	b.ReportMetric(ms(median(times)), "signal-to-applied-ms")
}

func (s *fixture) sinceSignal(id run.ID, runID string) time.Duration {
	s.t.Helper()
	var signaled time.Time
	for _, e := range s.executions(id, runID)[0].events {
		if e.EventType == enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			signaled = e.EventTime.AsTime()
		}
	}
	events, err := s.runs.Run(id).Events()
	if err != nil {
		s.t.Fatal(err)
	}
	i := slices.IndexFunc(events, func(e run.Event) bool { return e.Type == run.PatchAppliedEvent })
	return events[i].TS.Sub(signaled)
}

// BenchmarkHistoryOfARound counts what a fix round adds to history, with its
// approval and without.
func BenchmarkHistoryOfARound(b *testing.B) {
	s := newOwnFixture(b)
	s.spawn()
	for _, policy := range []run.Policy{run.Never, run.Always} {
		b.Run(string(policy), func(b *testing.B) {
			var events, bytes int64
			for b.Loop() {
				events, bytes = s.round(policy)
			}
			b.ReportMetric(float64(events), "events")
			b.ReportMetric(float64(bytes)/1024, "KiB")
		})
	}
}

// round is the difference between a run of two fixes and one of one.
func (s *fixture) round(policy run.Policy) (events, bytes int64) {
	s.t.Helper()
	for sign, line := range map[int64]string{-1: "two", 1: "three"} {
		sc := newScript(policy, "grep -q "+line+" log.txt").
			patch("execute-1", edit{file: "log.txt", line: "one"}).
			patch("fix-2", edit{file: "log.txt", line: "two"}).
			patch("fix-3", edit{file: "log.txt", line: "three"})
		in := s.input(s.replay(sc.answers))
		in.Policy, in.Checks = policy, []string{sc.check}
		stop := s.decided(s.t, []*scripted{{script: sc, in: in}})
		wr := s.start(in)
		if err := wr.Get(s.t.Context(), nil); err != nil {
			s.t.Fatal(err)
		}
		stop()
		ex := s.executions(in.RunID, wr.GetRunID())[0]
		events, bytes = events+sign*int64(len(ex.events)), bytes+sign*ex.bytes
	}
	return events, bytes
}

// BenchmarkRunsInFlight has one worker take 200 runs at once to their ends.
func BenchmarkRunsInFlight(b *testing.B) {
	const size = 200
	s := newOwnFixture(b)
	w := s.spawn()
	for b.Loop() {
		began := time.Now()
		var wg sync.WaitGroup
		for range size {
			wr := s.start(s.simple())
			wg.Go(func() {
				if err := wr.Get(b.Context(), nil); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
		b.ReportMetric(size/time.Since(began).Seconds(), "runs/s")
	}
	b.ReportMetric(rss(b, w.cmd.Process.Pid), "worker-MB")
	b.ReportMetric(rss(b, s.engine.PID), "engine-MB")
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

// BenchmarkEngineStart is the time until the built engine and its Web UI
// answer, with a new database file.
func BenchmarkEngineStart(b *testing.B) {
	if _, err := engine.Program(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		e, err := engine.Start(b.Context(), engine.Options{DB: filepath.Join(b.TempDir(), "engine.db")})
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(began))
		if err := e.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(ms(median(times)), "ready-ms")
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
