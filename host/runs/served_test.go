package runs_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/runs"
)

// starting is a Temporal that hears of a worker with the call of that number; zero: of none.
type starting struct {
	client.Client
	after, asked int
}

func (s *starting) DescribeTaskQueue(context.Context, string, enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	s.asked++
	out := &workflowservice.DescribeTaskQueueResponse{}
	if s.after > 0 && s.asked >= s.after {
		out.Pollers = []*taskqueue.PollerInfo{{}}
	}
	return out, nil
}

// TestAWorkerThatIsStartingIsWaitedFor: who sends the first dispatch is not refused because of it. Finding B13.
func TestAWorkerThatIsStartingIsWaitedFor(t *testing.T) {
	if served, err := runs.New(&starting{after: 3}, "q").AwaitServed(t.Context(), time.Minute); err != nil || !served {
		t.Errorf("served %v, %v", served, err)
	}
	nobody := &starting{}
	if served, err := runs.New(nobody, "q").AwaitServed(t.Context(), time.Millisecond); err != nil || served {
		t.Errorf("by nobody: served %v, %v", served, err)
	}
	if nobody.asked == 0 {
		t.Error("nobody was asked")
	}
}
