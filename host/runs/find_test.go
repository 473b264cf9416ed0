package runs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// engine is a Temporal that has workflows and answers what finding and
// listing asks. Its visibility is behind: it does not list the late ones.
type engine struct {
	client.Client
	workflows []*workflow.WorkflowExecutionInfo
	late      map[string]bool
}

func (e *engine) add(t *testing.T, id string, status run.Status, s enums.WorkflowExecutionStatus) *workflow.WorkflowExecutionInfo {
	payload := func(v any) *common.Payload {
		p, err := converter.GetDefaultDataConverter().ToPayload(v)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	info := &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: id, RunId: "r-" + id},
		Type:      &common.WorkflowType{Name: "Run"},
		Status:    s,
		SearchAttributes: &common.SearchAttributes{IndexedFields: map[string]*common.Payload{
			attribute.StatusName: payload(status), attribute.PhaseName: payload("fix"), attribute.IterationName: payload(2),
		}},
		Memo: &common.Memo{Fields: map[string]*common.Payload{"goal": payload("goal of " + id)}},
	}
	e.workflows = append(e.workflows, info)
	return info
}

func (e *engine) DescribeWorkflow(ctx context.Context, id, execution string) (*client.WorkflowExecutionDescription, error) {
	return temporaltest.Described(e.describe(ctx, id, execution))
}

func (e *engine) describe(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	for _, w := range e.workflows {
		if w.GetExecution().GetWorkflowId() == id {
			return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: w}, nil
		}
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

// nameOf returns the name that the engine lists for a workflow.
func nameOf(w *workflow.WorkflowExecutionInfo) string {
	return temporalclient.PayloadValue[string](w.GetSearchAttributes().GetIndexedFields()[attribute.NameName])
}

// ListWorkflow knows the filters of finding, and gives a page a workflow.
func (e *engine) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	_, prefix, _ := strings.Cut(in.GetQuery(), "STARTS_WITH '")
	prefix = strings.TrimSuffix(prefix, "'")
	_, one, byName := strings.Cut(in.GetQuery(), attribute.NameName+" IN ")
	_, _, byLabel := strings.Cut(in.GetQuery(), attribute.NameName+" STARTS_WITH ")
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	for i, w := range e.workflows[len(in.GetNextPageToken()):] {
		id := w.GetExecution().GetWorkflowId()
		match := strings.HasPrefix(id, prefix)
		if byName {
			match = nameOf(w) != "" && strings.Contains(one, "'"+nameOf(w)+"'")
		} else if byLabel {
			match = strings.HasPrefix(nameOf(w), prefix)
		}
		if match && !e.late[id] {
			out.Executions = append(out.Executions, w)
			if next := len(in.GetNextPageToken()) + i + 1; next < len(e.workflows) {
				out.NextPageToken = make([]byte, next)
			}
			break
		}
	}
	return out, nil
}

func TestFind(t *testing.T) {
	e := &engine{late: map[string]bool{"run-new": true}}
	for _, id := range []string{"run-0198aa-1", "run-0198aa-2", "run-0198bb-3", "run-run-x", "run-new", "other"} {
		e.add(t, id, run.Running, enums.WORKFLOW_EXECUTION_STATUS_RUNNING)
	}
	c := runs.New(e, "queue")
	for _, tt := range []struct {
		name, arg string
		want      run.ID
		says      string // of the error
		missing   bool
	}{
		{name: "the run id", arg: "0198aa-1", want: "0198aa-1"},
		{name: "the workflow id", arg: "run-0198aa-1", want: "0198aa-1"},
		{name: "a beginning that one run has", arg: "0198b", want: "0198bb-3"},
		{name: "the beginning of a workflow id", arg: "run-0198b", want: "0198bb-3"},
		{name: "a beginning that two runs have", arg: "0198aa", says: "such as 0198aa-1 and 0198aa-2"},
		{name: "a run id that looks like a workflow id", arg: "run-x", want: "run-x"},
		{name: "a run that visibility does not have yet", arg: "new", want: "new"},
		{name: "nobody's", arg: "zzz", missing: true},
		{name: "nothing", arg: "", missing: true},
		{name: "a quote", arg: "' OR WorkflowType != '", missing: true},
		{name: "a workflow that is no run", arg: "other", missing: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.Find(t.Context(), tt.arg)
			_, missing := errors.AsType[*runs.NotFoundError](err)
			switch {
			case tt.missing:
				if !missing {
					t.Errorf("got %q, %v", got, err)
				}
			case tt.says != "":
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("got %q, %v", got, err)
				}
			case err != nil || got != tt.want:
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestListSaysHowItReallyEnded(t *testing.T) {
	e := &engine{}
	e.add(t, "run-open", run.AwaitingApproval, enums.WORKFLOW_EXECUTION_STATUS_RUNNING)
	e.add(t, "run-done", run.Running, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	e.add(t, "run-killed", run.AwaitingInput, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED)
	e.add(t, "run-open", run.Failed, enums.WORKFLOW_EXECUTION_STATUS_FAILED) // an earlier execution, resumed
	list, err := runs.New(e, "queue").List(t.Context(), runs.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 {
		t.Fatalf("%d runs: %+v", len(list), list)
	}
	if l := list[0]; l.Status != run.AwaitingApproval || l.Phase != run.Fix || l.Iteration != 2 || l.Goal != "goal of run-open" {
		t.Errorf("open: %+v", l)
	}
	if l := list[1]; l.Status != run.Completed || l.Phase != "" {
		t.Errorf("done: %+v", l)
	}
	if l := list[2]; l.Status != run.Failed || l.Outcome != "terminated" {
		t.Errorf("killed: %+v", l)
	}
}

func TestNoRunWaitsUnseen(t *testing.T) {
	e := &engine{}
	const count = 250 // more than a list has, and more than a page
	for i := range count {
		e.add(t, fmt.Sprintf("run-%d", i), run.AwaitingApproval, enums.WORKFLOW_EXECUTION_STATUS_RUNNING)
	}
	c := runs.New(e, "queue")
	if list, err := c.Waiting(t.Context()); err != nil || len(list) != count || list[count-1].ID != "249" {
		t.Errorf("%d of %d wait, %v", len(list), count, err)
	}
	if list, err := c.List(t.Context(), runs.Filter{}); err != nil || len(list) != 100 {
		t.Errorf("the control: %d are listed, %v", len(list), err)
	}
}
