package temporaltest

import (
	"context"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
)

// WithClient returns an interceptor that gives the activities of a test environment a client.
func WithClient(c client.Client) interceptor.WorkerInterceptor { return &withClient{client: c} }

type withClient struct {
	interceptor.WorkerInterceptorBase
	client client.Client
}

func (w *withClient) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &inbound{interceptor.ActivityInboundInterceptorBase{Next: next}, w.client}
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	client client.Client
}

func (i *inbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	return i.Next.Init(replaceClient(next, next.GetClient, i.client))
}

// outbound has another client. C is the type of a client by the SDK's own name for it, which cannot be
// written here.
type outbound[C any] struct {
	interceptor.ActivityOutboundInterceptorBase
	client C
}

func (o *outbound[C]) GetClient(context.Context) C { return o.client }

func replaceClient[C any](next interceptor.ActivityOutboundInterceptor, _ func(context.Context) C, c client.Client) *outbound[C] {
	return &outbound[C]{interceptor.ActivityOutboundInterceptorBase{Next: next}, c.(C)}
}

// Described returns what a client says of a workflow by the server's answer.
func Described(d *workflowservice.DescribeWorkflowExecutionResponse, err error) (*client.WorkflowExecutionDescription, error) {
	return &client.WorkflowExecutionDescription{RawResponse: d}, err
}
