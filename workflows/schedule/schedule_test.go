package schedule_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	activities "github.com/ratchet-dev/ratchet/activities/schedule"
	"github.com/ratchet-dev/ratchet/internal/forge"
	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/workflows/notify"
	"github.com/ratchet-dev/ratchet/workflows/schedule"
)

func TestMain(m *testing.M) {
	gittest.Isolate()
	os.Exit(m.Run())
}

// engine stands for what the host wires: it keeps the runs that were begun.
type engine struct {
	t      *testing.T
	begun  []run.Input
	fail   int // of the first starts
	looks  int // until the run is over
	status run.Status
	lacks  []string // what is wrong with the providers
	ticket ticket.End
	issues []string // whose tickets were begun
}

func (e *engine) Begin(_ context.Context, in *run.Input, _ string) error {
	if e.fail--; e.fail >= 0 {
		return errors.New("the engine is away")
	}
	in.Name = "shop#1"
	e.begun = append(e.begun, *in)
	return nil
}

func (e *engine) Inspect(ctx context.Context, r run.Repository, base string) (workspace.Source, error) {
	return workspace.Inspect(ctx, r.Path, base)
}

func (e *engine) Status(context.Context, run.ID) (run.Status, bool, error) {
	e.looks--
	return e.status, e.looks <= 0, nil
}

func (e *engine) Check(context.Context, run.Input) ([]string, error) { return e.lacks, nil }

func (e *engine) BeginTicket(_ context.Context, t activities.Ticket) error {
	if e.fail--; e.fail >= 0 {
		return errors.New("the engine is away")
	}
	e.issues = append(e.issues, t.Name())
	return nil
}

func (e *engine) TicketEnd(context.Context, string) (ticket.End, bool, error) {
	e.looks--
	return e.ticket, e.looks <= 0, nil
}

func newPlan(t *testing.T) activities.Plan {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "shop")
	gittest.Run(t, ".", "init", "-q", "-b", "main", repo)
	gittest.Run(t, repo, "commit", "-q", "--allow-empty", "-m", "first")
	return activities.Plan{Schedule: "nightly", Base: "HEAD", Input: run.Input{
		Goal: "update", Repository: run.Repository{Path: repo}, Checks: []string{"true"}, Policy: run.Always, Notify: []run.Channel{run.WebhookChannel},
		Providers: run.Providers{Planner: "claude", Developer: "claude", Fixer: "claude"},
	}}
}

// fire runs the workflow and returns its result and the notices that it sent.
func fire(t *testing.T, host *engine, p activities.Plan) (out schedule.Result, sent []notices.Notice, err error) {
	t.Helper()
	e := temporaltest.Environment()
	schedule.Register(e, activities.New(host))
	e.RegisterWorkflowWithOptions(func(_ workflow.Context, in notify.Input) (notify.Result, error) {
		sent = append(sent, in.Notice)
		return notify.Result{}, nil
	}, workflow.RegisterOptions{Name: "Notice"})
	e.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "fire-nightly-2026-11-20T03:00:00Z", TaskQueue: "q"})
	e.ExecuteWorkflow(schedule.Fire, p)
	err = e.GetWorkflowResult(&out)
	return out, sent, err
}

// A fire starts one run at the last commit of the base, whatever attempts it takes, and lasts until the run is over.
func TestAFireStartsOneRun(t *testing.T) {
	p := newPlan(t)
	head := gittest.Run(t, p.Input.Repository.Path, "rev-parse", "HEAD")
	host := &engine{t: t, fail: 2, looks: 5, status: run.Completed}
	out, sent, err := fire(t, host, p)
	if err != nil || out.Status != run.Completed || out.Name != "shop#1" || out.Problem != nil {
		t.Fatalf("got %+v, %v; want a completed run", out, err)
	}
	if !strings.HasPrefix(string(out.RunID), "nightly-2026-11-20T030000Z-") {
		t.Errorf("got the run %s, want an id with the schedule and the time", out.RunID)
	}
	if len(host.begun) != 1 || string(host.begun[0].Repository.Base) != head || host.begun[0].RunID != out.RunID {
		t.Errorf("got runs %+v, want one at %s", host.begun, head)
	}
	if host.looks > 0 || len(sent) != 0 {
		t.Errorf("got %d looks left and notices %v, want the end of the run and none", host.looks, sent)
	}
}

var issue = activities.Ticket{Ticket: forgeacts.Ticket{Repository: forge.Repo{Host: "git.example", Owner: "acme", Name: "shop"}, Issue: 7, Input: run.Input{Policy: run.Always}}}

// A fire of a ticket starts it, whatever attempts it takes, and lasts until it is over.
func TestAFireStartsATicket(t *testing.T) {
	p, host := newPlan(t), &engine{t: t, fail: 2, looks: 5, ticket: ticket.OutOfRounds}
	p.Ticket = &issue
	out, sent, err := fire(t, host, p)
	if err != nil || out.Ticket != issue.Name() || out.End != ticket.OutOfRounds || out.Problem != nil || len(sent) != 0 {
		t.Fatalf("got %+v, %v, %v; want the end of the ticket and no notice", out, sent, err)
	}
	if len(host.issues) != 1 || len(host.begun) != 0 || host.looks > 0 {
		t.Errorf("got the tickets %v, the runs %v and %d looks left, want one ticket", host.issues, host.begun, host.looks)
	}
}

// A fire that can start no run says why in its result, and tells people once.
func TestAFireThatCannotStart(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*activities.Plan, *engine)
		want   string
	}{
		"the repository is gone":        {func(p *activities.Plan, _ *engine) { p.Input.Repository.Path += "-gone" }, "no such file"},
		"the base is gone":              {func(p *activities.Plan, _ *engine) { p.Base = "release" }, "release"},
		"the engine stays away":         {func(_ *activities.Plan, e *engine) { e.fail = 1000 }, "away"},
		"a provider is missing":         {func(_ *activities.Plan, e *engine) { e.lacks = []string{"no program claude"} }, "no program claude"},
		"its ticket is over":            {func(p *activities.Plan, e *engine) { p.Ticket = &issue; e.ticket = ticket.Merged }, "is over (merged): `starter ticket retry` begins it again"},
		"a ticket's repository is gone": {func(p *activities.Plan, e *engine) { p.Ticket = &issue; p.Input.Repository.Path += "-gone" }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			p, host := newPlan(t), &engine{t: t}
			tc.change(&p, host)
			out, sent, err := fire(t, host, p)
			if err != nil || out.Problem == nil || !strings.Contains(out.Problem.Message, tc.want) || len(host.begun) != 0 {
				t.Errorf("got %+v (%+v), %v; want a problem with %q and no run", out, out.Problem, err, tc.want)
			}
			if len(sent) != 1 || sent[0].Kind != notices.NotStarted || !strings.Contains(sent[0].Title(), "nightly could not start") {
				t.Errorf("got notices %+v, want one", sent)
			}
		})
	}
}
