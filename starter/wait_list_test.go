package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// crowd is an engine with many runs that work, and older ones that wait.
type crowd struct {
	client.Client
	working, waiting []*workflow.WorkflowExecutionInfo
}

const crowdSize = 300 // more than a list has

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{}
	for i := range crowdSize {
		c.working = append(c.working, listedRun(t, fmt.Sprintf("working-%d", i), run.Running, "/shop", "kim"))
	}
	c.waiting = []*workflow.WorkflowExecutionInfo{
		listedRun(t, "mine", run.AwaitingApproval, "/shop", "kim"), listedRun(t, "theirs", run.AwaitingInput, "/shop", "lee"), listedRun(t, "elsewhere", run.AwaitingInput, "/store", "kim"),
	}
	return c
}

func listedRun(t *testing.T, id string, status run.Status, repository, by string) *workflow.WorkflowExecutionInfo {
	t.Helper()
	payload := func(v any) *common.Payload {
		p, err := converter.GetDefaultDataConverter().ToPayload(v)
		clitest.Must(t, err)
		return p
	}
	return &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: "run-" + id}, Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, StartTime: timestamppb.New(time.Unix(1, 0)),
		SearchAttributes: &common.SearchAttributes{IndexedFields: map[string]*common.Payload{
			attribute.StatusName: payload(status), attribute.RepositoryName: payload(repository),
		}},
		Memo: &common.Memo{Fields: map[string]*common.Payload{"by": payload(by)}},
	}
}

// ListWorkflow gives all in one page, the newest first. It knows a filter for runs that wait, and one for runs that are
// over.
func (c *crowd) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	switch {
	case strings.Contains(in.GetQuery(), temporalclient.OverTerm):
	case strings.Contains(in.GetQuery(), " IN ("):
		out.Executions = c.waiting
	default:
		out.Executions = slices.Concat(c.working, c.waiting)
	}
	return out, nil
}

// A run that waits is shown once, however many others are newer.
func TestTheBoardShowsEachWait(t *testing.T) {
	engine := newCrowd(t)
	for name, working := range map[string]int{"listed": 1, "no longer listed": crowdSize} {
		t.Run(name, func(t *testing.T) {
			rows, err := boardRows(t.Context(), runs.New(&crowd{working: engine.working[:working], waiting: engine.waiting}, "queue"))
			waits := 0
			for _, r := range rows {
				if r.Status.Waiting() {
					waits++
				}
			}
			if err != nil || waits != len(engine.waiting) {
				t.Errorf("%d of %d waits, %v", waits, len(engine.waiting), err)
			}
		})
	}
}

// A bound or a status that the user has given counts for the runs that wait, too.
func TestTheListShowsEachWait(t *testing.T) {
	client := runs.New(newCrowd(t), "queue")
	for name, row := range map[string]struct {
		filter  runs.Filter
		bounded bool
		want    string
	}{
		"all":                      {runs.Filter{}, false, "elsewhere mine theirs"},
		"of a repository":          {runs.Filter{Repository: "/shop"}, false, "mine theirs"},
		"of a user":                {runs.Filter{By: "kim"}, false, "elsewhere mine"},
		"of a status":              {runs.Filter{Status: run.Running}, false, ""},
		"as many as the user says": {runs.Filter{Max: 5}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := listRuns(t.Context(), client, row.filter, row.bounded)
			clitest.Must(t, err)
			var waits []string
			for _, l := range found {
				if l.Status.Waiting() {
					waits = append(waits, string(l.ID))
				}
			}
			if slices.Sort(waits); strings.Join(waits, " ") != row.want {
				t.Errorf("%q wait, want %q", waits, row.want)
			}
		})
	}
}
