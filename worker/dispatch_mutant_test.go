package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/interceptor"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/run"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
)

// resending, as the value of asWorker, makes the test binary a worker that sends a message until it hears that it was
// taken. It is the control of the kill suites: they must show that it repeats itself.
const resending = "resending"

func serveResending() {
	runsDir := flag.String("runs-dir", "", "")
	queue := flag.String("task-queue", "", "")
	flag.String("sandbox", "", "") // as the tests start every worker
	flag.Parse()
	h, err := host.Open(context.Background(), host.Config{RunsDir: *runsDir, Environ: os.Environ(), Sandbox: run.SandboxOff})
	if err == nil {
		err = serveAs(*runsDir, []interceptor.WorkerInterceptor{&resender{}}, queues{*queue: func(w sdkworker.Worker) {
			w.RegisterWorkflow(dispatchflow.Dispatch)
			w.RegisterActivity(h.Dispatch)
		}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// resender has the engine try Deliver again, as it does by default.
type resender struct {
	interceptor.WorkerInterceptorBase
}

func (*resender) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &resenderIn{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type resenderIn struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *resenderIn) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&resenderOut{interceptor.WorkflowOutboundInterceptorBase{Next: out}})
}

type resenderOut struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (o *resenderOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if name == "Deliver" {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 5 * time.Second})
	}
	return o.Next.ExecuteActivity(ctx, name, args...)
}
