package temporalclient

import (
	"context"
	"crypto/rand"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// stranger is the error text for an answer without a proof.
const stranger = "another program listens there: it does not prove that it is the engine"

// prover accepts only the engine that holds the token. It makes each connection only after another
// one, made a moment before, has proved itself: a program that takes the port of a dead engine
// learns nothing. It accepts each answer only with a proof of its own: such a program cannot inject
// an answer either. It opens the engine's door with what the proof of the connection says.
type prover struct {
	address string
	token   engine.Token
	start   atomic.Pointer[string] // of the engine that proved itself last; empty: it is open
}

func (p *prover) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(p.believe), grpc.WithContextDialer(p.dial), grpc.WithPerRPCCredentials(p)}
}

// bearer returns the value of the authorization header for the engine that proved itself last. It
// is empty when that engine is open.
func (p *prover) bearer() string {
	start := p.start.Load()
	if start == nil {
		return ""
	}
	return p.token.Bearer(*start, p.address)
}

// GetRequestMetadata returns the header that opens the engine's door. gRPC asks for it when it has
// chosen the connection of a call, which was made after the challenge that told the start.
func (p *prover) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if bearer := p.bearer(); bearer != "" {
		return map[string]string{"authorization": bearer}, nil
	}
	return nil, nil
}

// RequireTransportSecurity returns false: the engine is on the loopback interface.
func (p *prover) RequireTransportSecurity() bool { return false }

func (p *prover) dial(ctx context.Context, address string) (net.Conn, error) {
	if err := p.challenge(ctx); err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// challenge makes a call on a connection of its own. The call contains nothing secret. A locked
// engine proves itself and refuses the call.
func (p *prover) challenge(ctx context.Context) error {
	const method = workflowservice.WorkflowService_GetSystemInfo_FullMethodName
	conn, err := grpc.NewClient("passthrough:///"+p.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	proven, err := p.call(ctx, method, func(ctx context.Context, opts ...grpc.CallOption) error {
		return conn.Invoke(ctx, method, &workflowservice.GetSystemInfoRequest{}, &workflowservice.GetSystemInfoResponse{}, opts...)
	})
	switch {
	case proven:
		return nil
	case err != nil && unanswered(err):
		return err
	}
	return status.Error(codes.Unavailable, stranger)
}

// believe is a client interceptor that accepts only answers with a proof.
func (p *prover) believe(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	proven, err := p.call(ctx, method, func(ctx context.Context, more ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, conn, append(slices.Clip(opts), more...)...)
	})
	if proven || err != nil && (unanswered(err) || saysNothing(err)) {
		return err
	}
	return status.Error(codes.Unavailable, stranger)
}

// call makes one call with a fresh nonce and reports whether its answer came with the proof. The
// error says so when the answer came with another's proof.
func (p *prover) call(ctx context.Context, method string, invoke func(context.Context, ...grpc.CallOption) error) (proven bool, err error) {
	nonce := rand.Text()
	var header metadata.MD
	err = invoke(metadata.AppendToOutgoingContext(ctx, engine.NonceHeader, nonce), grpc.Header(&header))
	proofs := header.Get(engine.ProofHeader)
	proven = slices.ContainsFunc(proofs, func(proof string) bool {
		return p.token.Proves(proof, nonce, p.address, method)
	})
	switch {
	case proven:
		start := strings.Join(header.Get(engine.StartHeader), "")
		p.start.Store(&start)
	case len(proofs) > 0:
		err = status.Error(codes.Unavailable, stranger)
	}
	return proven, err
}

// unanswered reports whether err was made on this side because no answer came.
func unanswered(err error) bool {
	return slices.Contains([]codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled}, status.Code(err))
}

// saysNothing reports whether err can come from the transport of the true engine before the engine
// sees the call: for a method that it does not have, or for a message that is too large. A program
// that fakes one of these errors only delays the client.
func saysNothing(err error) bool {
	return slices.Contains([]codes.Code{codes.Unimplemented, codes.ResourceExhausted}, status.Code(err))
}
