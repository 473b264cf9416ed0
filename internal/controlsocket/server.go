package controlsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Session is served by a Server. Its methods are called concurrently. Their context ends when the
// server is closed, and they must return soon after it, because Close waits for them. An error says
// that nothing was done; its text is sent to the peer.
type Session interface {
	Info(context.Context) (Info, error)
	// Send gives the session a message whose Mode is set, and returns how the session took it.
	Send(context.Context, Message) (dispatch.Delivery, error)
	// LastMessage returns nil when the assistant has said nothing yet.
	LastMessage(context.Context) (*LastMessage, error)
	Abort(context.Context) error
}

// The errors that a Session may return besides its own.
var (
	ErrNotReady = errors.New("the session is not ready")
	// ErrUncertain reports that something may have been done. The peer then gets no answer, because
	// any answer would be a claim.
	ErrUncertain = errors.New("the result is unknown")
)

// The bounds on the resources that peers may use.
const (
	maxPeers    = 64                    // connections at a time; more are hung up on
	maxCommands = 16                    // of a connection at a time
	maxLine     = 1 << 20               // bytes of a command
	acceptPause = 50 * time.Millisecond // after an accept that failed
	unbindLimit = 2 * time.Second
)

// limits are the bounds that tests replace.
type limits struct {
	First    time.Duration // for the first command of a connection to come
	Patience time.Duration // for the next one to come, and for an answer to be read
	Farewell time.Duration // for all answers to be read, once the server closes
}

var usual = limits{First: 5 * time.Second, Patience: 30 * time.Second, Farewell: 2 * time.Second}

// Server serves a session at an address.
type Server struct {
	path     string
	own      fs.FileInfo // the file that was made there
	listener *net.UnixListener
	session  Session
	limits   limits
	stop     context.CancelFunc
	done     chan struct{}
	close    func() error
}

// Listen serves the session at an absolute path until Close. Ctx bounds the start alone. The
// directory gets the mode 0700 and the socket 0600. The error is ErrInUse when a session is already
// served there.
//
// Other programs remove all dead sockets and symlinks from the directory when they start. Listen
// removes a dead socket at its own path and nothing else. A socket that such a program has bound
// and does not listen on yet looks dead, and a symlink is evidence that dispatches and listings
// report.
func Listen(ctx context.Context, path string, session Session) (*Server, error) {
	return serveWith(ctx, path, session, usual)
}

func serveWith(ctx context.Context, path string, session Session, l limits) (*Server, error) {
	listener, own, err := bindSocket(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		path: path, own: own, listener: listener, session: session, limits: l,
		stop: stop, done: make(chan struct{}),
	}
	s.close = sync.OnceValue(s.endServing)
	go s.acceptPeers(ctx)
	return s, nil
}

// Close removes the path, which makes peers look for the session elsewhere. It lets the commands
// in progress answer, and returns when everything is closed. Peers that do not read their answers
// delay it for two seconds at most. A path that is no longer the server's own stays. A second Close
// does nothing.
func (s *Server) Close() error { return s.close() }

func (s *Server) endServing() error {
	ctx, cancel := context.WithTimeout(context.Background(), unbindLimit)
	defer cancel()
	err := unbindSocket(ctx, s.path, s.own)
	s.stop()
	err = errors.Join(err, s.listener.Close())
	<-s.done
	return err
}

func (s *Server) acceptPeers(ctx context.Context) {
	defer close(s.done)
	var peers sync.WaitGroup
	defer peers.Wait()
	slots := make(chan struct{}, maxPeers)
	for {
		conn, err := s.listener.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of files, or the peer is gone already
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		default: // an unread close tells the peer that nothing was done
			conn.Close()
			continue
		}
		peers.Go(func() {
			defer func() { <-slots }()
			servePeer(ctx, &peer{conn: conn, session: s.session, limits: s.limits})
		})
	}
}
