package temporalclient_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// fakeServer knows search attributes and nothing else of Temporal.
type fakeServer struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer

	refuse codes.Code // answer to everyone who asks for the system info
	deny   bool       // answer to who registers search attributes
	lag    int        // so many queries are answered before a registered attribute is known

	mu         sync.Mutex
	attributes map[string]enums.IndexedValueType
	added      int
	seen       []metadata.MD
}

func (f *fakeServer) GetSystemInfo(ctx context.Context, _ *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	f.seen = append(f.seen, md)
	if f.refuse != codes.OK {
		return nil, status.Error(f.refuse, "no")
	}
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (f *fakeServer) CountWorkflowExecutions(context.Context, *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lag > 0 {
		f.lag--
		return nil, status.Error(codes.InvalidArgument, "unknown column")
	}
	return &workflowservice.CountWorkflowExecutionsResponse{}, nil
}

func (f *fakeServer) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest) (*operatorservice.ListSearchAttributesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: f.attributes}, nil
}

func (f *fakeServer) AddSearchAttributes(_ context.Context, r *operatorservice.AddSearchAttributesRequest) (*operatorservice.AddSearchAttributesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deny {
		return nil, status.Error(codes.PermissionDenied, "operators only")
	}
	f.added++
	for name, kind := range r.GetSearchAttributes() {
		f.attributes[name] = kind
	}
	return &operatorservice.AddSearchAttributesResponse{}, nil
}

// serve returns the address of a running server.
func (f *fakeServer) serve(t *testing.T) string {
	t.Helper()
	return serve(t, f, f)
}

func serve(t *testing.T, f workflowservice.WorkflowServiceServer, o operatorservice.OperatorServiceServer) string {
	t.Helper()
	l := listen(t)
	s := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(s, f)
	operatorservice.RegisterOperatorServiceServer(s, o)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { s.Stop(); serving.Wait() })
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}
