package review

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// restless is an engine with a run that changes all the time.
type restless struct{ Runs }

func (restless) Changes(ctx context.Context, _ run.ID) <-chan struct{} {
	changed := make(chan struct{})
	go func() {
		for {
			select {
			case changed <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return changed
}

// pipes is a listener of connections without a buffer.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, io.EOF
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// A browser that opens a stream and does not read it holds neither its place nor the follower, and keeps no change
// from the others.
func TestAReaderThatDoesNotReadIsLeft(t *testing.T) {
	t.Parallel()
	l := newLive(restless{}, nil)
	l.patience = time.Second
	listener := pipes{make(chan net.Conn, 1)}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.stream(w, r, "r1") })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		close(listener.conns)
		_ = server.Close()
		<-done
	})
	other, stop := l.watch("r1")
	theirs, ours := net.Pipe()
	defer theirs.Close()
	listener.conns <- ours
	if _, err := io.WriteString(theirs, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(theirs, make([]byte, 10)); err != nil { // the stream has begun
		t.Fatal(err)
	}
	for range 100 {
		<-other // the others hear of changes
	}
	eventually.Holds(t, "the stream ends", func() bool { return len(l.free) == 0 })
	stop()
	eventually.Holds(t, "the follower ends", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.topics) == 0
	})
}
