package temporalclient_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// heartbeats is a server that answers heartbeats as it is told.
type heartbeats struct {
	fakeServer
	lag    time.Duration
	answer codes.Code
	once   sync.Once
	heard  chan struct{}
}

func (h *heartbeats) RecordActivityTaskHeartbeat(ctx context.Context, _ *workflowservice.RecordActivityTaskHeartbeatRequest) (*workflowservice.RecordActivityTaskHeartbeatResponse, error) {
	select {
	case <-time.After(h.lag):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h.once.Do(func() { close(h.heard) }) // a client may ask again
	if h.answer != codes.OK {
		return nil, status.Error(h.answer, "no")
	}
	return &workflowservice.RecordActivityTaskHeartbeatResponse{CancelRequested: h.lag > 0}, nil
}

// Finding H1: the SDK cancels an activity whose heartbeat was not answered in time.
func TestAServerThatDoesNotAnswerAHeartbeatHasNotRefusedIt(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.ResourceExhausted, codes.Internal, codes.Unknown, codes.Aborted} {
		t.Run(code.String(), func(t *testing.T) {
			if err := (&heartbeats{answer: code}).hear(t, 2*time.Second); err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAServerThatHasGivenTheActivityUpIsHeard(t *testing.T) {
	if _, ok := errors.AsType[*serviceerror.NotFound]((&heartbeats{answer: codes.NotFound}).hear(t, 2*time.Second)); !ok {
		t.Error("not found is not told")
	}
}

func TestAHeartbeatOutlastsTheTimeThatItsCallerGivesIt(t *testing.T) {
	if err := (&heartbeats{lag: 300 * time.Millisecond}).hear(t, 20*time.Millisecond); err == nil {
		t.Error("a late answer, a cancellation, is lost")
	}
}

// TestAHeartbeatThatAStrangerAnswersEndsNoActivity: the engine has died and will be back.
func TestAHeartbeatThatAStrangerAnswersEndsNoActivity(t *testing.T) {
	key, l := newKey(t), listen(t)
	address := l.Addr().String()
	die := (&fakeServer{tls: lockedBy(key)}).serveOn(t, l)
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Engine: address, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	die()
	if l, err = net.Listen("tcp", address); err != nil {
		t.Skipf("somebody else took the port: %v", err)
	}
	h := &heartbeats{heard: make(chan struct{}), answer: codes.NotFound}
	serveOn(t, l, h, h)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := c.RecordActivityHeartbeat(ctx, []byte("token")); err != nil {
		t.Errorf("error %v", err)
	}
}

// hear has a client heartbeat once, within the limit, and returns its error.
func (h *heartbeats) hear(t *testing.T, limit time.Duration) error {
	t.Helper()
	h.heard = make(chan struct{})
	address := serve(t, h, h)
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Engine: address, Open: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err = c.RecordActivityHeartbeat(ctx, []byte("token"))
	<-h.heard
	return err
}
