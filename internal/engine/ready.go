package engine

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
)

// namespaceName is the namespace that every engine has.
const namespaceName = "default"

// retention is how long closed workflows of the namespace are kept, as our own engine keeps them.
const retention = 30 * 24 * time.Hour

// awaitCommand returns when the temporal command serves its namespace, which then keeps what has ended
// as long as our own engine does.
func (e *Engine) awaitCommand(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %v; its log: %s", readyTimeout, e.log))
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+e.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	service := workflowservice.NewWorkflowServiceClient(conn)
	tick := time.NewTicker(commandPoll)
	defer tick.Stop()
	for {
		_, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespaceName})
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-e.child.done:
			return fmt.Errorf("%s ended (%s): %s; its log: %s", e.Command, e.child.state(), lastLine(e.log), e.log)
		case <-tick.C:
		}
		conn.ResetConnectBackoff()
	}
	e.PID = e.child.cmd.Process.Pid
	if err := CheckOwner(e.Address, e.PID); err != nil {
		return err
	}
	_, err = service.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: namespaceName, Config: &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(retention)},
	})
	return err
}
