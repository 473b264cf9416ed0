package dispatches

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

// Past is a dispatch that has ended or is still open.
type Past struct {
	Target dispatch.GardenID `json:"target"`
	ID     string            `json:"id"`
	Intent dispatch.Intent   `json:"intent"`
	At     time.Time         `json:"at"` // end of the dispatch; its begin while it is open
	// Result is nil while the dispatch is open, and when it is lost.
	Result *dispatch.Result `json:"result,omitempty"`
	// Lost says how the workflow of a lost dispatch ended. The message may have been
	// delivered.
	Lost string `json:"lost,omitempty"`
}

// workflowType is the name that workers register dispatchflow.Dispatch under.
const workflowType = "Dispatch"

const queryLimit = 10 * time.Second

// Past returns the last dispatches to the target, the newest first. An empty target selects
// all dispatches. Only a worker can report the open dispatches. When no worker does, Past
// returns the other dispatches together with an error.
func (c Client) Past(ctx context.Context, target dispatch.GardenID, most int) (found []Past, unknown error) {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus != 'ContinuedAsNew'", workflowType) // the next execution knows its dispatches
	if target != "" {
		query += fmt.Sprintf(" AND WorkflowId = '%s'", dispatchflow.WorkflowID(target))
	}
	found = []Past{}
	for info, err := range temporalclient.Executions(ctx, c.Temporal, query, min(most, 100)) { // open ones first, then the last closed
		if err != nil {
			return nil, fmt.Errorf("list the dispatches: %w", err)
		}
		if len(found) >= most && closedBefore(info, found[most-1].At) {
			break
		}
		if unknown != nil && info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			continue // no worker answers
		}
		res, err := c.readResult(ctx, info)
		if err != nil && unknown == nil {
			unknown = fmt.Errorf("no worker answers for the workflow %s: %v", info.GetExecution().GetWorkflowId(), err) // %v, not %w: the server can be reached
		}
		found = append(found, pastOf(res, info.GetStatus())...)
		slices.SortStableFunc(found, func(a, b Past) int { return b.At.Compare(a.At) })
	}
	return found[:min(most, len(found))], unknown
}

// closedBefore reports whether an execution closed before then.
func closedBefore(info *workflow.WorkflowExecutionInfo, then time.Time) bool {
	return info.GetCloseTime() != nil && info.GetCloseTime().AsTime().Before(then)
}

// readResult returns the dispatches of an execution. It reads them from the result of a completed
// execution and queries any other.
func (c Client) readResult(ctx context.Context, info *workflow.WorkflowExecutionInfo) (res dispatch.History, err error) {
	id, runID := info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId()
	if info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return res, c.Temporal.GetWorkflow(ctx, id, runID).Get(ctx, &res)
	}
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	v, err := c.Temporal.QueryWorkflow(ctx, id, runID, dispatchflow.Query)
	if err == nil {
		err = v.Get(&res)
	}
	return res, err
}

// pastOf returns the dispatches of an execution with that status, in any order.
func pastOf(res dispatch.History, status enums.WorkflowExecutionStatus) (all []Past) {
	lost := ""
	if status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		lost = "its workflow ended: " + strings.ToLower(status.String())
	}
	for _, o := range res.Open {
		all = append(all, Past{Target: res.Target, ID: o.ID, Intent: o.Intent, At: o.Since, Lost: lost})
	}
	for _, d := range res.Ended {
		all = append(all, Past{Target: res.Target, ID: d.ID, Intent: d.Intent, At: d.At, Result: &d.Result})
	}
	return all
}
