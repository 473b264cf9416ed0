package standing

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/runtest"
)

// unserved is an engine that has one run, and no worker. Without a status it has forgotten the run.
type unserved struct {
	client.Client
	status enums.WorkflowExecutionStatus
}

func (e unserved) DescribeWorkflow(ctx context.Context, id, execution string) (*client.WorkflowExecutionDescription, error) {
	return temporaltest.Described(e.describe(ctx, id, execution))
}

func (e unserved) describe(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if e.status == 0 {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: "run-r1", RunId: "e1"}, Type: &common.WorkflowType{Name: "Run"}, Status: e.status,
	}}, nil
}

func (unserved) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	return nil, serviceerror.NewDeadlineExceeded("no poller")
}

// GetWorkflow returns a run without a result.
func (unserved) GetWorkflow(context.Context, string, string) client.WorkflowRun { return noResult{} }

type noResult struct{ client.WorkflowRun }

func (noResult) Get(context.Context, any) error { return errors.New("there is no result") }

// GetWorkflowHistory returns no events.
func (unserved) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return clitest.NoEvents{}
}

func TestStatusOfARunThatIsOverNeedsNoWorker(t *testing.T) {
	canceled, open := enums.WORKFLOW_EXECUTION_STATUS_CANCELED, enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	for name, row := range map[string]struct {
		engine enums.WorkflowExecutionStatus
		ends   bool   // the record
		says   string // on standard error
		want   string // error
	}{
		"over":                     {canceled, true, "no worker answers: this is what the record", ""},
		"over, and forgotten":      {0, true, "the engine does not know the run any more: this is what the record", ""},
		"over, and not the record": {canceled, false, "", "is canceled as last heard; no worker"},
		"open":                     {open, true, "", "no worker"},
	} {
		t.Run(name, func(t *testing.T) {
			f := runtest.Play()
			if row.ends {
				f.Add(run.RunCanceled{})
			}
			var out, errs captured.Output
			c := factory.New(console.Console{Out: &out, Err: &errs, Now: time.Now}, nil)
			c.RunsDir = t.TempDir()
			var log strings.Builder
			for _, e := range f.Emitted {
				b, err := json.Marshal(e)
				clitest.Must(t, err)
				log.WriteString(string(b) + "\n")
			}
			clitest.Write(t, filepath.Join(c.RunsDir, "workflows", "r1", "events.ndjson"), log.String())
			st, err := Of(t.Context(), c, runref.Found{Client: c.ClientOf(unserved{status: row.engine}), ID: "r1", Name: ""})
			if row.want != "" {
				if err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want %q", err, row.want)
				}
				return
			}
			if err != nil || st.Status != run.Canceled || st.Facts.Goal != "g" || !strings.Contains(errs.String(), row.says) {
				t.Errorf("got %+v, %v, %q on standard error; want the state of the record", st, err, errs.String())
			}
		})
	}
}
