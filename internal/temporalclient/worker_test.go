package temporalclient_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// busyServer has one task for a worker's own queue, with the hint that more are waiting there, which is never taken back.
// Then it has a task for each poll of the queue that all share.
type busyServer struct {
	*fakeServer
	own    sync.Once
	hinted chan struct{} // closed when a worker has seen the hint
	seen   sync.Once
	polls  chan struct{} // one for each task of the shared queue
}

func (f *busyServer) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespace.NamespaceInfo{}}, nil
}

func (f *busyServer) PollWorkflowTaskQueue(ctx context.Context, r *workflowservice.PollWorkflowTaskQueueRequest) (*workflowservice.PollWorkflowTaskQueueResponse, error) {
	task := &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: []byte("task"), WorkflowExecution: &common.WorkflowExecution{WorkflowId: "w", RunId: "r"},
		WorkflowType: &common.WorkflowType{Name: "nothing"}, StartedEventId: 3, Attempt: 1,
		History: &history.History{Events: []*history.HistoryEvent{
			{EventId: 1, EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
				WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{TaskQueue: &taskqueue.TaskQueue{Name: "q"}, WorkflowType: &common.WorkflowType{Name: "nothing"}},
			}},
			{EventId: 2, EventType: enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED},
			{EventId: 3, EventType: enums.EVENT_TYPE_WORKFLOW_TASK_STARTED},
		}},
	}
	if r.GetTaskQueue().GetKind() == enums.TASK_QUEUE_KIND_STICKY {
		first := false
		f.own.Do(func() { first = true })
		if first {
			task.BacklogCountHint = 1
			return task, nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.hinted:
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case f.polls <- struct{}{}:
		return task, nil
	}
}

func (f *busyServer) RespondWorkflowTaskCompleted(context.Context, *workflowservice.RespondWorkflowTaskCompletedRequest) (*workflowservice.RespondWorkflowTaskCompletedResponse, error) {
	f.seen.Do(func() { close(f.hinted) })
	return &workflowservice.RespondWorkflowTaskCompletedResponse{}, nil
}

func (f *busyServer) PollActivityTaskQueue(ctx context.Context, _ *workflowservice.PollActivityTaskQueueRequest) (*workflowservice.PollActivityTaskQueueResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A worker takes new runs while its own queue says that it has more for it.
func TestAWorkerServesBothQueues(t *testing.T) {
	const tasks = 20 // more than a worker begins polls
	f := &busyServer{fakeServer: &fakeServer{}, hinted: make(chan struct{}), polls: make(chan struct{}, tasks)}
	c, err := client.NewLazyClient(client.Options{HostPort: serve(t, f, f), Logger: temporaltest.Quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, "q", temporalclient.WorkerOptions("w"))
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: "nothing"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	eventually.Within(t, "the tasks of the shared queue are taken", 30*time.Second, func() bool { return len(f.polls) == tasks })
}
