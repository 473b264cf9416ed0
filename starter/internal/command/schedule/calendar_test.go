package schedule

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ratchet-dev/ratchet/activities/schedule"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	scheduleflow "github.com/ratchet-dev/ratchet/workflows/schedule"
)

func TestMain(m *testing.M) {
	gittest.Isolate()
	code := m.Run()
	temporaltest.StopShared()
	os.Exit(code)
}

// host stands for what starts runs: it counts the starts of each, and says that they are over once they may be.
type host struct {
	mu    sync.Mutex
	begun map[run.ID]int
	open  bool // the runs are not over
}

func (h *host) Begin(_ context.Context, in *run.Input, _ string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun[in.RunID]++
	return nil
}

func (h *host) Status(context.Context, run.ID) (run.Status, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return run.Completed, !h.open, nil
}

func (h *host) Inspect(ctx context.Context, r run.Repository, base string) (workspace.Source, error) {
	return workspace.Inspect(ctx, r.Path, base)
}

func (h *host) Check(context.Context, run.Input) ([]string, error)          { return nil, nil }
func (h *host) BeginTicket(context.Context, schedule.Ticket) error          { return nil }
func (h *host) TicketEnd(context.Context, string) (ticket.End, bool, error) { return "", true, nil }
func (h *host) register(w worker.Registry)                                  { scheduleflow.Register(w, schedule.New(h)) }
func (h *host) ids() (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.begun {
		list = append(list, string(id))
	}
	slices.Sort(list)
	return list
}

// create creates the schedule of the flags, which `schedule create` would have checked.
func create(t *testing.T, c client.Client, name, queue string, f *scheduleFlags) client.ScheduleHandle {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "shop")
	gittest.Run(t, ".", "init", "-q", "-b", "main", repo)
	gittest.Run(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	plan := schedule.Plan{Schedule: name, Base: "HEAD", Input: run.Input{
		Goal: "update", Repository: run.Repository{Path: repo}, Checks: []string{"true"}, Policy: run.Always,
		Providers: run.Providers{Planner: "claude", Developer: "claude", Fixer: "claude"},
	}}
	h, err := c.ScheduleClient().Create(t.Context(), optionsOf(f, plan, queue))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A time that the clocks skip in spring is left out, and one that they show twice in autumn counts once, the second time.
func TestClocksThatChange(t *testing.T) {
	e := temporaltest.Shared(t)
	create(t, e.Client, "dst", "dst", &scheduleFlags{overlap: "skip", cron: "30 2 * * *", zone: "Europe/Berlin", catchUp: time.Hour, paused: true})
	for season, tc := range map[string]struct {
		from, to string
		want     []string
	}{
		"spring": {"2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z", []string{"2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"}},
		"autumn": {"2026-10-23T12:00:00Z", "2026-10-26T12:00:00Z", []string{"2026-10-24T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"}},
	} {
		from, _ := time.Parse(time.RFC3339, tc.from)
		to, _ := time.Parse(time.RFC3339, tc.to)
		found, err := e.Client.WorkflowService().ListScheduleMatchingTimes(t.Context(), &workflowservice.ListScheduleMatchingTimesRequest{
			Namespace: client.DefaultNamespace, ScheduleId: schedulePrefix + "dst", StartTime: timestamppb.New(from), EndTime: timestamppb.New(to),
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range found.GetStartTime() {
			got = append(got, at.AsTime().Format(time.RFC3339))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", season, got, tc.want)
		}
	}
}

// The same time that is made up for twice is one run, whose id has the schedule and the time.
func TestTheSameFireTwiceIsOneRun(t *testing.T) {
	e := temporaltest.Shared(t)
	h := &host{begun: map[run.ID]int{}}
	handle := create(t, e.Client, "twice", "twice", &scheduleFlags{overlap: "skip", cron: "0 3 * * *", zone: "UTC", catchUp: time.Hour, paused: true})
	e.Serve(t, "twice", h.register)
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for n := 1; n <= 2; n++ {
		err := handle.Backfill(t.Context(), client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{{Start: day, End: day.AddDate(0, 0, 2), Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL}}})
		if err != nil {
			t.Fatal(err)
		}
		eventually.Holds(t, "both fires are over", func() bool {
			d, err := handle.Describe(t.Context())
			return err == nil && d.Info.NumActions == 2*n && len(d.Info.RunningWorkflows) == 0
		})
	}
	got := h.ids()
	if len(got) != 2 || !strings.HasPrefix(got[0], "twice-2026-11-20T030000Z-") || !strings.HasPrefix(got[1], "twice-2026-11-21T030000Z-") {
		t.Errorf("got the runs %v, want one for each of two days", got)
	}
}

// A schedule that is deleted while its run is open leaves the run and the fire to their end.
func TestDeletedWhileOneRuns(t *testing.T) {
	e := temporaltest.Shared(t)
	h := &host{begun: map[run.ID]int{}, open: true}
	handle := create(t, e.Client, "deleted", "deleted", &scheduleFlags{overlap: "skip", every: time.Hour, zone: "UTC", catchUp: time.Hour})
	e.Serve(t, "deleted", h.register)
	if err := handle.Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the run has begun", func() bool { return len(h.ids()) == 1 })
	d, err := handle.Describe(t.Context())
	if err != nil || len(d.Info.RecentActions) != 1 {
		t.Fatalf("got the fires %+v, %v, want one", d.Info.RecentActions, err)
	}
	if err := handle.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	fire := d.Info.RecentActions[0].StartWorkflowResult
	w, err := temporalclient.Describe(t.Context(), e.Client, fire.WorkflowID, fire.FirstExecutionRunID)
	if err != nil || w.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("after the deletion: got %v, %v, want a fire that runs", w.GetWorkflowExecutionInfo().GetStatus(), err)
	}
	h.mu.Lock()
	h.open = false
	h.mu.Unlock()
	var out scheduleflow.Result
	if err := e.Client.GetWorkflow(t.Context(), fire.WorkflowID, fire.FirstExecutionRunID).Get(t.Context(), &out); err != nil || out.Status != run.Completed {
		t.Errorf("got %+v, %v, want the end of the run", out, err)
	}
}

// While no worker runs, fires wait: the first starts its run when a worker is back, and those that it overlapped are
// skipped.
func TestAWorkerThatIsAwayForThreeFires(t *testing.T) {
	e := temporaltest.Shared(t)
	h := &host{begun: map[run.ID]int{}}
	handle := create(t, e.Client, "away", "away", &scheduleFlags{overlap: "skip", cron: "0 3 * * *", zone: "UTC", catchUp: time.Hour, paused: true})
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	err := handle.Backfill(t.Context(), client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{{Start: day, End: day.AddDate(0, 0, 3), Overlap: overlaps["skip"]}}})
	if err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "two of three fires are skipped", func() bool {
		d, err := handle.Describe(t.Context())
		return err == nil && d.Info.NumActions == 1 && d.Info.NumActionsSkippedOverlap == 2
	})
	e.Serve(t, "away", h.register)
	eventually.Holds(t, "the fire is over", func() bool {
		d, err := handle.Describe(t.Context())
		return err == nil && len(d.Info.RunningWorkflows) == 0
	})
	if got := h.ids(); len(got) != 1 || !strings.HasPrefix(got[0], "away-2026-11-20T030000Z-") {
		t.Errorf("got the runs %v, want that of the first day", got)
	}
}

// The engine is down for three fires: they are made up for within the catch-up window, once each, and left out behind it.
func TestTheEngineIsDownForThreeFires(t *testing.T) {
	need.Suite(t, need.CI)
	const every, queue = 4 * time.Second, "down"
	db := filepath.Join(t.TempDir(), "engine.db")
	start := func() (*engine.Engine, client.Client) {
		e, err := engine.Start(t.Context(), engine.Options{DB: db})
		if err != nil {
			t.Fatal(err)
		}
		c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Engine: e.Address, Key: e.Key, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return e, c
	}
	e, c := start()
	windows := map[string]time.Duration{"wide": time.Hour, "narrow": 10 * time.Second}
	for name, window := range windows {
		create(t, c, name, queue, &scheduleFlags{every: every, zone: "UTC", overlap: "allow", catchUp: window})
	}
	eventually.Holds(t, "each schedule has fired", func() bool {
		for name := range windows {
			d, err := c.ScheduleClient().GetHandle(t.Context(), schedulePrefix+name).Describe(t.Context())
			if err != nil || d.Info.NumActions == 0 {
				return false
			}
		}
		return true
	})
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	down := time.Now()
	eventually.Holds(t, "fires have come while it is down, some of them more than the narrow window ago", func() bool { return time.Since(down) > 10*time.Second+2*every })
	e, c = start()
	t.Cleanup(func() { _ = e.Stop(context.Background()) })
	up := time.Now()
	for kind := range windows {
		var d *client.ScheduleDescription
		eventually.Holds(t, "it fires again", func() bool {
			var err error
			d, err = c.ScheduleClient().GetHandle(t.Context(), schedulePrefix+kind).Describe(t.Context())
			return err == nil && len(d.Info.RecentActions) > 0 && d.Info.RecentActions[len(d.Info.RecentActions)-1].ScheduleTime.After(up)
		})
		missed := 0
		times := map[time.Time]int{}
		for _, a := range d.Info.RecentActions {
			times[a.ScheduleTime]++
			if a.ScheduleTime.After(down) && a.ScheduleTime.Before(up) {
				missed++
			}
		}
		for at, n := range times {
			if n != 1 {
				t.Errorf("%s: got %d fires for %s, want one", kind, n, at)
			}
		}
		switch lost := d.Info.NumActionsMissedCatchupWindow; {
		case kind == "wide" && (missed < 3 || lost != 0):
			t.Errorf("wide: got %d fires of the outage, %d lost, want at least three and none lost", missed, lost)
		case kind == "narrow" && lost == 0:
			t.Errorf("narrow: got no fire that is lost, want those from before the window")
		}
	}
}
