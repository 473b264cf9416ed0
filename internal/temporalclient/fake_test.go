package temporalclient_test

import (
	"context"
	"crypto/tls"
	"net"
	"path"
	"slices"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// fakeServer knows search attributes and nothing else of Temporal.
type fakeServer struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer

	refuse codes.Code // answer to everyone who asks for the system info
	deny   bool       // answer to who registers search attributes
	lag    int        // so many queries are answered before a registered attribute is known

	tls *tls.Config // nil: it speaks no TLS

	mu         sync.Mutex
	attributes map[string]enums.IndexedValueType
	added      int
	seen       []metadata.MD
	methods    []string // that were called
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
	l := listen(t)
	f.serveOn(t, l)
	return l.Addr().String()
}

// serveOn returns how to end the server before the test does.
func (f *fakeServer) serveOn(t *testing.T, l net.Listener) (stop func()) {
	t.Helper()
	options := []grpc.ServerOption{grpc.UnaryInterceptor(f.intercept)}
	if f.tls != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(f.tls)))
	}
	return serveOn(t, l, f, f, options...)
}

// serve is that of a server that proves nothing.
func serve(t *testing.T, f workflowservice.WorkflowServiceServer, o operatorservice.OperatorServiceServer) string {
	t.Helper()
	l := listen(t)
	serveOn(t, l, f, o)
	return l.Addr().String()
}

func serveOn(t *testing.T, l net.Listener, f workflowservice.WorkflowServiceServer, o operatorservice.OperatorServiceServer, options ...grpc.ServerOption) (stop func()) {
	t.Helper()
	s := grpc.NewServer(options...)
	workflowservice.RegisterWorkflowServiceServer(s, f)
	operatorservice.RegisterOperatorServiceServer(s, o)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	stop = func() { s.Stop(); serving.Wait() }
	t.Cleanup(stop)
	return stop
}

// intercept notes what is called.
func (f *fakeServer) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	f.mu.Lock()
	f.methods = append(f.methods, path.Base(info.FullMethod))
	f.mu.Unlock()
	return handle(ctx, req)
}

// lockedBy returns the TLS of an engine that has the key.
func lockedBy(key engine.Key) *tls.Config {
	c := key.TLS()
	c.ClientCAs, c.ClientAuth = c.RootCAs, tls.RequireAndVerifyClientCert
	return c
}

func newKey(t *testing.T) engine.Key {
	t.Helper()
	key, err := engine.MakeKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// called are the methods that were called, each once.
func (f *fakeServer) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(f.methods)))
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
