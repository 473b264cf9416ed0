package egress

import (
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// listener bounds the connections of a box, and knows them all: the server forgets those that
// became tunnels.
type listener struct {
	net.Listener
	free   chan struct{} // holds a token for each connection that may be taken
	closed chan struct{}

	mu   sync.Mutex
	open map[*session]bool
}

// Accept waits for a free place and for a connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	s := &session{Conn: conn, home: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		conn.Close()
		return nil, net.ErrClosed
	default:
		l.open[s] = true
		return s, nil
	}
}

// closeAll ends the listener and all its connections.
func (l *listener) closeAll() {
	l.mu.Lock()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	all := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	l.Listener.Close()
	for _, s := range all {
		s.Close()
	}
}

// session is one connection of the box.
type session struct {
	net.Conn
	home *listener
	once sync.Once
	// unanswered is set while bytes have come that are no request yet.
	unanswered atomic.Bool
}

func (s *session) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n > 0 {
		s.unanswered.Store(true)
	}
	return n, err
}

// CloseWrite ends the direction to the box.
func (s *session) CloseWrite() error { return s.Conn.(*net.UnixConn).CloseWrite() }

// Close frees the place of the connection. A second call does nothing.
func (s *session) Close() error {
	err := net.ErrClosed
	s.once.Do(func() {
		err = s.Conn.Close()
		s.home.mu.Lock()
		delete(s.home.open, s)
		s.home.mu.Unlock()
		<-s.home.free
	})
	return err
}
