package workflows_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// edit changes what a workflow asks of Temporal, as a careless change of its code would.
type edit struct {
	interceptor.WorkerInterceptorBase
	begin    func(workflow.Context)
	outbound func(next interceptor.WorkflowOutboundInterceptor) interceptor.WorkflowOutboundInterceptor
}

func (e *edit) InterceptWorkflow(ctx workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &edited{interceptor.WorkflowInboundInterceptorBase{Next: next}, e}
}

type edited struct {
	interceptor.WorkflowInboundInterceptorBase
	edit *edit
}

func (i *edited) Init(out interceptor.WorkflowOutboundInterceptor) error {
	if i.edit.outbound != nil {
		out = i.edit.outbound(out)
	}
	return i.Next.Init(out)
}

func (i *edited) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	if i.edit.begin != nil {
		i.edit.begin(ctx)
	}
	return i.Next.ExecuteWorkflow(ctx, in)
}

type (
	base       = interceptor.WorkflowOutboundInterceptorBase
	outboundOf = interceptor.WorkflowOutboundInterceptor
)

// renamed calls an activity by another name.
type renamed struct{ base }

func (r *renamed) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if name == "Apply" {
		name = "ApplyPatch"
	}
	return r.Next.ExecuteActivity(ctx, name, args...)
}

// swapped starts an activity after the one that follows it.
type swapped struct {
	base
	held func()
}

func (s *swapped) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if name == "Prepare" {
		f, set := workflow.NewFuture(ctx)
		s.held = func() { set.Chain(s.Next.ExecuteActivity(ctx, name, args...)) }
		return f
	}
	f := s.Next.ExecuteActivity(ctx, name, args...)
	if s.held != nil {
		s.held()
		s.held = nil
	}
	return f
}

// dropped leaves a branch out.
type dropped struct{ base }

func (d *dropped) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if name != "CleanUp" {
		return d.Next.ExecuteActivity(ctx, name, args...)
	}
	f, set := workflow.NewFuture(ctx)
	set.SetValue(nil)
	return f
}

// deaf listens for a signal under another name.
type deaf struct{ base }

func (d *deaf) GetSignalChannelWithOptions(ctx workflow.Context, name string, o workflow.SignalChannelOptions) workflow.ReceiveChannel {
	if name == workflows.ApprovalMessage {
		name += "-v2"
	}
	return d.Next.GetSignalChannelWithOptions(ctx, name, o)
}

var edits = map[string]*edit{
	"a timer at the start": {begin: func(ctx workflow.Context) { workflow.NewTimer(ctx, time.Minute) }},
	"an activity renamed":  {outbound: func(next outboundOf) outboundOf { return &renamed{base{Next: next}} }},
	"two activities swapped": {outbound: func(next outboundOf) outboundOf {
		return &swapped{base: base{Next: next}}
	}},
	"a branch dropped": {outbound: func(next outboundOf) outboundOf { return &dropped{base{Next: next}} }},
	"a signal renamed": {outbound: func(next outboundOf) outboundOf { return &deaf{base{Next: next}} }},
}

// TestReplayCatchesIncompatibleEdits is the control of TestReplay.
func TestReplayCatchesIncompatibleEdits(t *testing.T) {
	t.Parallel()
	histories := corpus.Load(t)
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		t.Run(name, func(t *testing.T) {
			r := corpus.Replayer(t, edits[name])
			caught := 0
			for _, h := range histories {
				if r.ReplayWorkflowHistory(temporaltest.Quiet{}, h) != nil {
					caught++
				}
			}
			t.Logf("caught by %d of %d histories", caught, len(histories))
			if caught == 0 {
				t.Error("no history shows it")
			}
		})
	}
	if err := corpus.Replayer(t, &edit{}).ReplayWorkflowHistory(temporaltest.Quiet{}, histories["v1/completed"]); err != nil {
		t.Errorf("an edit that changes nothing: %v", err)
	}
}
