package runs_test

import (
	"context"
	"errors"
	"path/filepath"
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
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// begun is a Temporal whose answers to starts are lost.
type begun struct {
	engine
	takes  bool // it takes the start
	silent bool // it answers nothing afterwards
	asked  bool
	name   string
}

func (b *begun) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	b.asked = true
	b.name, _ = o.TypedSearchAttributes.GetKeyword(attribute.Name())
	return nil, serviceerror.NewDeadlineExceeded("too late")
}

func (b *begun) DescribeWorkflow(ctx context.Context, id, execution string) (*client.WorkflowExecutionDescription, error) {
	return temporaltest.Described(b.describe(ctx, id, execution))
}

func (b *begun) describe(ctx context.Context, id, execution string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	switch {
	case b.asked && b.silent:
		return nil, serviceerror.NewUnavailable("gone")
	case !b.asked || !b.takes:
		return b.engine.describe(ctx, id, execution)
	}
	name, err := converter.GetDefaultDataConverter().ToPayload(b.name)
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: id}, Type: &common.WorkflowType{Name: "Run"}, Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
		SearchAttributes: &common.SearchAttributes{IndexedFields: map[string]*common.Payload{attribute.NameName: name}},
	}}, err
}

// The branch of a run that the engine may have is the run's: without it the run would tell that something else has
// removed it.
func TestAStartWhoseAnswerIsLostKeepsItsBranchWhereTheRunMayBe(t *testing.T) {
	for name, tt := range map[string]struct {
		engine begun
		branch bool
		says   string // empty: it is a start
	}{
		"the engine has the run":      {begun{takes: true}, true, ""},
		"the engine does not have it": {begun{}, false, "too late"},
		"nobody knows":                {begun{takes: true, silent: true}, true, "may have started: see `starter status r1`"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			git := func(args ...string) string { return gittest.Run(t, dir, args...) }
			git("init", "-q", "-b", "main")
			git("commit", "-q", "--allow-empty", "-m", "first")
			in := run.Input{RunID: "r1", Goal: "x", Repository: run.Repository{Path: dir, Base: run.Commit(git("rev-parse", "HEAD"))}}
			err := runs.New(&tt.engine, "q").Begin(t.Context(), &in, filepath.Join(dir, "none"), "")
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%v", err)
			}
			if got := git("for-each-ref", "refs/heads/ratchet/"); (got != "") != tt.branch {
				t.Errorf("branches %q", got)
			}
			if _, exists := errors.AsType[*runs.ExistsError](err); exists {
				t.Error("it is called another's")
			}
		})
	}
}
