package main

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// BenchmarkAgentFirstToken takes turns between a run, a run of --quick and the bare client, each
// from its start to the first request that asks the model for work, and
// compares the medians. It also weighs what a live session costs beside the
// client itself.
func BenchmarkAgentFirstToken(b *testing.B) {
	for _, a := range realAgents {
		b.Run(a.name, func(b *testing.B) {
			s := newAgentFixture(b, a)
			s.spawnGroup()
			s.bare(b) // warms the client's home
			var runs, quick, bare []time.Duration
			var beside []float64
			for b.Loop() {
				asked, began := s.asked(), time.Now()
				in := s.job(hanging)
				s.start(in)
				s.awaitRequest(b, asked)
				runs = append(runs, time.Since(began))
				beside = append(beside, s.besideClient(b))
				s.stop(in.RunID)
				asked, began = s.asked(), time.Now()
				in = s.job(hanging)
				in.Providers.Planner, in.NoBaseline = run.NoPlanner, true
				s.start(in)
				s.awaitRequest(b, asked)
				quick = append(quick, time.Since(began))
				s.stop(in.RunID)
				bare = append(bare, s.bare(b))
			}
			b.ReportMetric(ms(median(runs)), "run-ms")
			b.ReportMetric(ms(median(quick)), "quick-ms")
			b.ReportMetric(ms(median(bare)), "bare-ms")
			b.ReportMetric(float64(median(runs))/float64(median(bare)), "ratio")
			b.ReportMetric(float64(median(quick))/float64(median(bare)), "quick-ratio")
			b.ReportMetric(slices.Max(beside), "supervisor-KB")
		})
	}
}

func (s *agentFixture) awaitRequest(b *testing.B, asked int) {
	b.Helper()
	for end := time.Now().Add(time.Minute); s.asked() <= asked; {
		if time.Now().After(end) {
			b.Fatal("the model was not asked")
		}
		time.Sleep(time.Millisecond) // the pace of polling
	}
}

// bare is how long the client takes by itself.
func (s *agentFixture) bare(b *testing.B) time.Duration {
	b.Helper()
	asked, began := s.asked(), time.Now()
	session, err := s.adapter.Start(b.Context(), agent.Options{Dir: s.repo, Sandbox: agent.WorkspaceWrite})
	if err != nil {
		b.Fatal(err)
	}
	if err := session.Send(b.Context(), "Make the test pass. [[hang]]"); err != nil {
		b.Fatal(err)
	}
	s.awaitRequest(b, asked)
	took := time.Since(began)
	if err := session.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	return took
}

// besideClient is the memory of the supervisors that stand between the workers
// and their agents, in KB.
func (s *agentFixture) besideClient(b *testing.B) float64 {
	b.Helper()
	var sum float64
	for _, worker := range s.pids() {
		out, err := exec.Command("ps", "-o", "pid=,args=", "--ppid", strconv.Itoa(worker)).Output()
		if err != nil {
			continue // it has no children
		}
		for line := range strings.Lines(string(out)) {
			pid, args, _ := strings.Cut(strings.TrimSpace(line), " ")
			if n, err := strconv.Atoi(pid); err == nil && strings.Contains(args, supervisor.Name) {
				sum += rss(b, n) * 1024
			}
		}
	}
	return sum
}
