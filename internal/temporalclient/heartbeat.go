package temporalclient

import (
	"context"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// heartbeatLimit bounds the duration of a heartbeat. The SDK gives it at most the time between two
// heartbeats.
const heartbeatLimit = 10 * time.Second

// silent holds the codes that say nothing about the activity: the server was not reached, or is
// overloaded.
var silent = []codes.Code{
	codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown,
}

// patient is a client interceptor under which a heartbeat without an answer counts as made. The SDK
// would otherwise cancel the activity, and with it a paid call, although a server that was paused
// still waits for the next heartbeat. A server that has given the activity up says so at that
// heartbeat.
func patient(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method != workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatLimit)
	defer cancel()
	err := invoke(ctx, method, req, reply, cc, opts...)
	if slices.Contains(silent, status.Code(err)) {
		return nil
	}
	return err
}
