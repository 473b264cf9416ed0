package runs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// signals is a Temporal that keeps the signals of each workflow, and takes only so many for one. It refuses more in the
// server's words, which internal/engine/server compares.
type signals struct {
	client.Client
	most int
	of   map[string][]*common.Payload
}

func (s *signals) SignalWithStartWorkflow(_ context.Context, id, _ string, arg any, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if len(s.of[id]) == s.most {
		return nil, serviceerror.NewInvalidArgument("exceeded workflow execution limit for signal events")
	}
	p, err := converter.GetDefaultDataConverter().ToPayload(arg)
	s.of[id] = append(s.of[id], p)
	return nil, err
}

func (s *signals) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if s.of[id] == nil {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{}, nil
}

func (s *signals) GetWorkflowHistory(_ context.Context, id, _ string, _ bool, _ enums.HistoryEventFilterType) client.HistoryEventIterator {
	return &pages{id: id, left: s.of[id], none: s.of[id] == nil}
}

// pages is a history of signals.
type pages struct {
	id   string
	left []*common.Payload
	none bool
}

func (p *pages) HasNext() bool { return p.none || len(p.left) > 0 }

func (p *pages) Next() (*history.HistoryEvent, error) {
	if p.none {
		return nil, serviceerror.NewNotFound("no workflow " + p.id)
	}
	first := p.left[0]
	p.left = p.left[1:]
	return &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
		WorkflowExecutionSignaledEventAttributes: &history.WorkflowExecutionSignaledEventAttributes{
			SignalName: "claim", Input: &common.Payloads{Payloads: []*common.Payload{first}},
		},
	}}, nil
}

func nthRun(n int) run.ID { return run.ID(fmt.Sprintf("run-of-%d", n)) }

// Workflows that are full are followed by others. A name stays its run's, also when the engine takes more signals for
// one workflow later, and a repeated claim gets the same name from whichever workflow has it.
func TestNamesFillSeveralWorkflows(t *testing.T) {
	engine := &signals{most: 3, of: map[string][]*common.Payload{}}
	c := runs.New(engine, "queue")
	claim := func(n int) {
		t.Helper()
		name, err := c.ClaimName(t.Context(), "shop", run.Claim{RunID: nthRun(n)})
		if want := run.NewName("shop", n); err != nil || name != want {
			t.Errorf("%s, %v, want %s", name, err, want)
		}
	}
	for n := 1; n <= 8; n++ {
		claim(n)
	}
	if len(engine.of["names-shop"]) != 3 || len(engine.of["names-shop.2"]) != 3 || len(engine.of["names-shop.3"]) != 2 {
		t.Fatalf("%d, %d and %d claims", len(engine.of["names-shop"]), len(engine.of["names-shop.2"]), len(engine.of["names-shop.3"]))
	}
	claim(2)
	engine.most = 5
	claim(9)
}

// An engine with as many full workflows as a label may have gives no name, and says so.
func TestNamesAreUsedUp(t *testing.T) {
	c := runs.New(&signals{most: 0, of: map[string][]*common.Payload{}}, "queue")
	if name, err := c.ClaimName(t.Context(), "shop", run.Claim{RunID: "run-1"}); !errors.Is(err, runs.ErrNoName) {
		t.Errorf("%q, %v", name, err)
	}
}
