package temporalclient

import (
	"context"
	"iter"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// The terms of a query of the engine's visibility for the executions that are open, and for those that have ended. One
// that an operator has paused is open, and its status is not Running.
const (
	OpenTerm = "CloseTime IS NULL"
	OverTerm = "CloseTime IS NOT NULL"
)

// Executions yields the executions that match a query of the engine's visibility, in the engine's order. It asks for
// so many at once as page says; zero leaves that to the engine. An error ends the sequence.
func Executions(ctx context.Context, c client.Client, query string, page int) iter.Seq2[*workflow.WorkflowExecutionInfo, error] {
	return func(yield func(*workflow.WorkflowExecutionInfo, error) bool) {
		request := &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: int32(page)}
		for {
			answer, err := c.ListWorkflow(ctx, request)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, info := range answer.GetExecutions() {
				if !yield(info, nil) {
					return
				}
			}
			if request.NextPageToken = answer.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return
			}
		}
	}
}

// PayloadValue reads a search attribute or a field of a memo. It returns the zero value for a missing or unreadable
// payload.
func PayloadValue[T any](p *common.Payload) (v T) {
	if p != nil {
		_ = converter.GetDefaultDataConverter().FromPayload(p, &v)
	}
	return v
}
