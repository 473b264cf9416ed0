package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/workflows"
	"github.com/ratchet-dev/ratchet/workflows/format"
)

// queryRun queries one execution of a run's workflow. An empty execution selects the latest.
func queryRun[T any](ctx context.Context, c *Client, id run.ID, execution, name string, args ...any) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	v, err := c.temporal.QueryWorkflow(ctx, id.WorkflowID(), execution, name, args...)
	if _, failed := errors.AsType[*serviceerror.QueryFailed](err); failed {
		// A worker whose task came too late fails one question by a state that the engine did not take; then it
		// reads the history.
		v, err = c.temporal.QueryWorkflow(ctx, id.WorkflowID(), execution, name, args...)
	}
	if err != nil {
		return out, fmt.Errorf("query the %s of run %s: %w", name, id, c.unansweredError(ctx, id, err))
	}
	if err := v.Get(&out); err != nil {
		return out, fmt.Errorf("read the %s of run %s: %w", name, id, err)
	}
	return out, nil
}

func (c *Client) unansweredError(ctx context.Context, id run.ID, err error) error {
	return ExplainSilence(ctx, c.temporal, id.WorkflowID(), err, &NotFoundError{string(id)})
}

// ExplainSilence converts the error of a call that a worker has to answer. It is missing if there is no such workflow.
func ExplainSilence(ctx context.Context, c client.Client, workflowID string, err, missing error) error {
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return missing
	}
	if Paused(err) {
		return ErrPaused
	}
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, idle := errors.AsType[*serviceerror.FailedPrecondition](err)
	_, young := errors.AsType[*serviceerror.WorkflowNotReady](err)
	if late || idle || young || errors.Is(err, context.DeadlineExceeded) {
		return Unanswered(ctx, c, workflowID)
	}
	return err
}

// Unanswered returns the reason why no worker answers for a workflow: the error of a worker that cannot continue it, for
// example because another build wrote its history, or ErrNoWorker. The context may have ended.
func Unanswered(ctx context.Context, c client.Client, workflowID string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	why := ErrNoWorker
	for events := c.GetWorkflowHistory(ctx, workflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			return ErrNoWorker
		}
		if input := e.GetWorkflowExecutionStartedEventAttributes().GetInput(); input != nil {
			if err := formatError(input); err != nil {
				return err
			}
		}
		switch failed := e.GetWorkflowTaskFailedEventAttributes(); {
		case e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			why = ErrNoWorker
		case failed.GetCause() == enums.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE:
			why = fmt.Errorf("its worker cannot continue it: %s", display.OneLine(failed.GetFailure().GetMessage(), 400))
		}
	}
	return why
}

// formatError returns an error if another build started the workflow with this input. The history alone does not show it
// always: it has the first failure of a workflow task, which may have been a worker that died.
func formatError(input *common.Payloads) error {
	var in struct {
		Format *format.Stamp `json:"format"`
	}
	if converter.GetDefaultDataConverter().FromPayloads(input, &in) != nil || in.Format == nil {
		return nil
	}
	return in.Format.Err()
}

// Paused reports whether the error means that the engine refuses a query or an update because the workflow is paused.
func Paused(err error) bool {
	if rejected, ok := errors.AsType[*temporal.QueryRejectedError](err); ok {
		return rejected.QueryRejected().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_PAUSED
	}
	refused, ok := errors.AsType[*serviceerror.FailedPrecondition](err)
	return ok && strings.Contains(refused.Message, "is paused") // the server has no type for it
}

// State returns the run's state.
func (c *Client) State(ctx context.Context, id run.ID) (run.State, error) {
	return queryOrRecord(ctx, c, id, workflows.StateQuery, func(s *run.Snapshot) run.State { return s.State })
}

// Pending returns the approval, question or usage limit that the run waits for.
func (c *Client) Pending(ctx context.Context, id run.ID) (run.Pending, error) {
	return queryOrRecord(ctx, c, id, workflows.PendingQuery, (*run.Snapshot).Pending)
}

// Facts returns the run's branch, usage and settings.
func (c *Client) Facts(ctx context.Context, id run.ID) (rundir.Facts, error) {
	return queryOrRecord(ctx, c, id, workflows.FactsQuery, rundir.FactsOf)
}

// queryOrRecord queries the run. The answer for a run that is over and that the engine has forgotten is that of its record.
func queryOrRecord[T any](ctx context.Context, c *Client, id run.ID, name string, ofRecord func(*run.Snapshot) T) (T, error) {
	out, err := queryRun[T](ctx, c, id, "", name)
	if s := c.endedRecord(id, err); s != nil {
		return ofRecord(s), nil
	}
	return out, err
}

// endedRecord returns the record of a run that is over and that the engine does not know any more, as after 30 days or with
// a new database; nil: err is another one, the run is not over, or its record is not on this host.
func (c *Client) endedRecord(id run.ID, err error) *run.Snapshot {
	if _, gone := errors.AsType[*NotFoundError](err); !gone {
		return nil
	}
	if s := c.openSources(id).snapshot(); s != nil && s.State.Status.Terminal() {
		return s
	}
	return nil
}
