package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// outside is a connection to a target. A Read or Write on it fails when no byte has come for the idle time.
type outside struct {
	net.Conn
	idle time.Duration
}

func (c *outside) Read(p []byte) (int, error) {
	c.Conn.SetReadDeadline(time.Now().Add(c.idle))
	return c.Conn.Read(p)
}

func (c *outside) Write(p []byte) (int, error) {
	c.Conn.SetWriteDeadline(time.Now().Add(c.idle))
	return c.Conn.Write(p)
}

// CloseWrite ends the direction to the target.
func (c *outside) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// tunnel copies between a connection of the box and one to a target.
type tunnel struct {
	inside, outside halfCloser
	idle            time.Duration
	last            atomic.Int64 // when a byte came in either direction, in ns since the epoch
}

type halfCloser interface {
	net.Conn
	CloseWrite() error
}

func newTunnel(inside, outside halfCloser, idle time.Duration) *tunnel {
	t := &tunnel{inside: inside, outside: outside, idle: idle}
	t.last.Store(time.Now().UnixNano())
	return t
}

// run copies until both directions have ended, each by its own end, or both by an error or by the
// idle time. Early are bytes of the box that were read before.
func (t *tunnel) run(early []byte) {
	if _, err := t.outside.Write(early); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { t.copy(t.outside, t.inside) })
	both.Go(func() { t.copy(t.inside, t.outside) })
	both.Wait()
}

func (t *tunnel) copy(to, from halfCloser) {
	if err := t.copyBytes(to, from); err != nil || to.CloseWrite() != nil {
		to.Close()
		from.Close()
	}
}

const tunnelBuffer = 64 << 10

func (t *tunnel) copyBytes(to, from net.Conn) error {
	buffer := make([]byte, tunnelBuffer)
	for {
		from.SetReadDeadline(time.Now().Add(t.idle))
		n, err := from.Read(buffer)
		if n > 0 {
			t.last.Store(time.Now().UnixNano())
			to.SetWriteDeadline(time.Now().Add(t.idle))
			if _, err := to.Write(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(time.Unix(0, t.last.Load())) < t.idle:
		case err != nil:
			return err
		}
	}
}
