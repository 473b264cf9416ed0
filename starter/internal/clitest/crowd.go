package clitest

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

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
)

// Crowd is an engine with many runs that work, and older ones that wait.
type Crowd struct {
	client.Client
	Working, Waiting []*workflow.WorkflowExecutionInfo
}

const CrowdSize = 300 // more than a list has

func NewCrowd(t *testing.T) *Crowd {
	t.Helper()
	c := &Crowd{}
	for i := range CrowdSize {
		c.Working = append(c.Working, listedRun(t, fmt.Sprintf("working-%d", i), run.Running, "/shop", "kim"))
	}
	c.Waiting = []*workflow.WorkflowExecutionInfo{
		listedRun(t, "mine", run.AwaitingApproval, "/shop", "kim"), listedRun(t, "theirs", run.AwaitingInput, "/shop", "lee"), listedRun(t, "elsewhere", run.AwaitingInput, "/store", "kim"),
	}
	return c
}

func listedRun(t *testing.T, id string, status run.Status, repository, by string) *workflow.WorkflowExecutionInfo {
	t.Helper()
	payload := func(v any) *common.Payload {
		p, err := converter.GetDefaultDataConverter().ToPayload(v)
		Must(t, err)
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
func (c *Crowd) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	switch {
	case strings.Contains(in.GetQuery(), temporalclient.OverTerm), !strings.Contains(in.GetQuery(), "'Run'"):
	case strings.Contains(in.GetQuery(), " IN ("):
		out.Executions = c.Waiting
	default:
		out.Executions = slices.Concat(c.Working, c.Waiting)
	}
	return out, nil
}
