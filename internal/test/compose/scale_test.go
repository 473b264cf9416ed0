package compose_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

const (
	beating = 100          // activities at once
	beats   = 10 * beating // heartbeats that are measured
)

// BenchmarkHeartbeats measures what a heartbeat of 100 activities costs Temporal and PostgreSQL: commits, CPU time of both,
// and activities that were lost. What both do without heartbeats is in it. Use -benchtime 1x.
func BenchmarkHeartbeats(b *testing.B) {
	need.Suite(b, need.Nightly)
	for _, shards := range []int{4, 512} {
		for _, every := range []time.Duration{5 * time.Second, time.Second} {
			b.Run(fmt.Sprintf("%d-shards/every-%v", shards, every), func(b *testing.B) {
				m := newTeam(b)
				m.once(m.command("certificates"))
				database := m.database()
				server := m.server("NUM_HISTORY_SHARDS=" + strconv.Itoa(shards))
				m.namespace()
				for b.Loop() {
					m.beat(b, every, server, database)
				}
			})
		}
	}
}

// beat runs the activities, and reports what their heartbeats cost.
func (m *team) beat(b *testing.B, every time.Duration, server, database int) {
	c := m.client()
	begun, end := make(chan bool, beating), make(chan bool)
	var beaten atomic.Int64
	options := worker.Options{
		MaxConcurrentActivityExecutionSize: beating, MaxHeartbeatThrottleInterval: every, DefaultHeartbeatThrottleInterval: every,
		MaxConcurrentWorkflowTaskPollers: 4, MaxConcurrentActivityTaskPollers: 4,
	}
	w := worker.New(c, "beats", options)
	beat := func(ctx context.Context) (int, error) {
		begun <- true
		for ticks := time.NewTicker(every); ; {
			select {
			case <-ticks.C:
				activity.RecordHeartbeat(ctx, "works")
				beaten.Add(1)
			case <-end:
				return int(activity.GetInfo(ctx).Attempt), nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	}
	flow := func(ctx workflow.Context) (attempt int, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: 15 * time.Second})
		err = workflow.ExecuteActivity(ctx, "beat").Get(ctx, &attempt)
		return attempt, err
	}
	w.RegisterActivityWithOptions(beat, activity.RegisterOptions{Name: "beat"})
	w.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "flow"})
	eventually.Holds(b, "the namespace is known", func() bool { return w.Start() == nil })
	defer w.Stop()
	var all []client.WorkflowRun
	for range beating {
		var wr client.WorkflowRun
		eventually.Holds(b, "a workflow begins", func() (ok bool) {
			var err error
			wr, err = c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: "beats"}, "flow")
			return err == nil
		})
		all = append(all, wr)
	}
	for range beating {
		<-begun
	}
	commits, serverCPU, databaseCPU, before := m.commits(), cpuOf(b, server), cpuOf(b, database), beaten.Load()
	eventually.Holds(b, "the heartbeats", func() bool { return beaten.Load()-before >= beats })
	sent := float64(beaten.Load() - before)
	b.ReportMetric(float64(m.commits()-commits)/sent, "commits/heartbeat")
	b.ReportMetric(float64((cpuOf(b, server)-serverCPU).Milliseconds())/sent, "server-ms/heartbeat")
	b.ReportMetric(float64((cpuOf(b, database)-databaseCPU).Milliseconds())/sent, "database-ms/heartbeat")
	close(end)
	lost := 0
	for _, wr := range all {
		attempt := 0
		if err := wr.Get(b.Context(), &attempt); err != nil || attempt != 1 {
			lost++
		}
	}
	b.ReportMetric(float64(lost), "lost")
}

const waiting = 200 // runs at once

// BenchmarkRuns measures what a run costs Temporal and PostgreSQL until it waits for an approval, and from there to its end:
// CPU time of both, commits, and the room in the database of a run that waits. Use -benchtime 1x.
func BenchmarkRuns(b *testing.B) {
	need.Suite(b, need.Nightly)
	m := newTeam(b)
	m.prepare()
	database := m.database()
	server := m.server()
	m.serve()
	home, runsDir := m.environment("worker"), filepath.Join(m.dir, "runs")
	starter := func(args ...string) *exec.Cmd { return m.starter(home, append(args, "--runs-dir", runsDir)...) }
	goal := append(m.goal(), "--sandbox", "off") // the worker has none
	var ids []string
	begin := func(runs int) {
		for range runs {
			ids = append(ids, strings.Fields(m.once(starter(goal...)))[0])
		}
		m.awaitRuns(run.AwaitingApproval, runs)
	}
	approve := func() {
		for _, id := range ids {
			m.once(starter("approve", id))
		}
		m.awaitRuns(run.AwaitingApproval, 0)
		m.awaitRuns(run.Running, 0)
		ids = nil
	}
	measure := func(stage string, do func()) {
		commits, room, serverCPU, databaseCPU := m.commits(), m.room(), cpuOf(b, server), cpuOf(b, database)
		do()
		b.ReportMetric(float64(m.commits()-commits)/waiting, "commits-"+stage+"/run")
		b.ReportMetric(float64(m.room()-room)/1024/waiting, "KiB-"+stage+"/run")
		b.ReportMetric(float64((cpuOf(b, server)-serverCPU).Milliseconds())/waiting, "server-ms-"+stage+"/run")
		b.ReportMetric(float64((cpuOf(b, database)-databaseCPU).Milliseconds())/waiting, "database-ms-"+stage+"/run")
	}
	begin(1) // the mirror, the tables' first pages
	approve()
	for b.Loop() {
		measure("to-approval", func() { begin(waiting) })
		measure("to-end", approve)
	}
}

// awaitRuns waits until so many runs have the status.
func (m *team) awaitRuns(status run.Status, runs int) {
	m.Helper()
	c := m.client()
	eventually.Holds(m.TB, fmt.Sprintf("%d runs are %s", runs, status), func() bool {
		n, err := c.CountWorkflow(m.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("ExecutionStatus = 'Running' and %s = '%s'", attribute.StatusName, status),
		})
		return err == nil && n.Count == int64(runs)
	})
}

// commits returns how many transactions the database has committed.
func (m *team) commits() int {
	return m.ask("select xact_commit from pg_stat_database where datname = 'temporal'")
}

// room returns the bytes of the databases.
func (m *team) room() int {
	return m.ask("select sum(pg_database_size(datname)) from pg_database where datname like 'temporal%'")
}

// ask returns the number that a query of PostgreSQL yields.
func (m *team) ask(query string) int {
	m.Helper()
	cmd := exec.Command("psql", "-h", "127.0.0.1", "-p", m.ports["postgresql"], "-U", "temporal", "-d", "temporal", "-Atc", query)
	cmd.Env = append(os.Environ(), "PGPASSWORD=of-the-test")
	n, err := strconv.Atoi(strings.TrimSpace(m.once(cmd)))
	if err != nil {
		m.Fatal(err)
	}
	return n
}

// cpuOf returns the CPU time of a process and its children, those that have ended included.
func cpuOf(b *testing.B, pid int) (sum time.Duration) {
	b.Helper()
	const hertz = 100 // of the kernel's figures
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if err != nil || len(f) < 15 || f[1] != strconv.Itoa(pid) && filepath.Base(filepath.Dir(file)) != strconv.Itoa(pid) {
			continue
		}
		for _, i := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime
			ticks, _ := strconv.Atoi(f[i])
			sum += time.Duration(ticks) * time.Second / hertz
		}
	}
	return sum
}
