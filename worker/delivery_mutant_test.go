package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	sessionacts "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

const (
	// faking, as the value of asWorker, makes the test binary the product's worker, whose sessions are of an agent in
	// memory. The agent notes each delivery that it takes in the directory that takenVariable names.
	faking = "faking"
	// repeating is such a worker of sessions that takes a delivery without an answer for one that was not sent, and
	// sends it again. It is the control of the kill suite: it must deliver twice.
	repeating = "repeating"

	takenVariable = "RATCHET_TEST_TAKEN"
)

func serveFaking(repeats bool) {
	c := host.Config{Environ: os.Environ()}
	flag.StringVar(&c.RunsDir, "runs-dir", "", "")
	flag.StringVar(&c.TaskQueue, "task-queue", "", "")
	c.AddFlags(flag.CommandLine)
	flag.Parse()
	if err := serveFake(c, repeats); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveFake(c host.Config, repeats bool) error {
	ctx := context.Background()
	h, err := host.Open(ctx, c)
	if err != nil {
		return err
	}
	fake := agenttest.NewFake(fakemodel.New())
	fake.Foreign = true
	fake.Took = func(d agent.Delivery) { noteLine(os.Getenv(takenVariable), batchIn(d.Text)+" "+d.Marker) }
	h.Sessions.Open = func(sessionacts.Opening) (agent.Adapter, error) { return fake, nil }
	if repeats {
		return serveSessions(h, c.RunsDir, c.TaskQueue, &repeater{})
	}
	w, err := h.Serve(ctx, temporalclient.Options{RunsDir: c.RunsDir, Logger: slog.Default()})
	if err != nil {
		return err
	}
	fmt.Println("serving task queue", w.TaskQueue)
	select {}
}

// batchIn returns the id of the batch that a message delivers.
func batchIn(text string) string {
	_, rest, _ := strings.Cut(text, ", batch ")
	id, _, _ := strings.Cut(rest, ",")
	return id
}

// repeater has the workflow hear, instead of no answer to a delivery, that the delivery was not sent.
type repeater struct {
	interceptor.WorkerInterceptorBase
}

func (*repeater) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &repeaterIn{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type repeaterIn struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *repeaterIn) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&repeaterOut{interceptor.WorkflowOutboundInterceptorBase{Next: out}})
}

type repeaterOut struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (o *repeaterOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	answer := o.Next.ExecuteActivity(ctx, name, args...)
	if name != "SendDelivery" {
		return answer
	}
	told, tell := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		var out deliveryacts.DeliverResult
		if err := answer.Get(ctx, &out); err != nil {
			out = deliveryacts.DeliverResult{Refused: delivery.NotSent, Reason: err.Error()}
		}
		tell.SetValue(out)
	})
	return told
}
