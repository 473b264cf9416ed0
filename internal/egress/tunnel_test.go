package egress_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/egress"
)

// serveOne accepts one connection after the other and serves each by serve.
func serveOne(t testing.TB, serve func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn))
			}()
		}
	}()
	return l.Addr().String()
}

func TestEachDirectionEndsByItself(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	t.Run("the box's first", func(t *testing.T) {
		address := serveOne(t, func(c *net.TCPConn) {
			got, _ := io.ReadAll(c)
			fmt.Fprintf(c, "%d bytes", len(got))
		})
		p := open(t, egress.Config{}, address)
		conn := tunnel(t, p, address)
		conn.Write(big)
		conn.CloseWrite()
		if got, err := io.ReadAll(conn); err != nil || string(got) != "1048576 bytes" {
			t.Errorf("got %q, %v", got, err)
		}
		p.Close()
		if got := p.Traffic().String(); got != "reached "+address+", 1 connection" {
			t.Errorf("noted %s", got)
		}
	})
	t.Run("the target's first", func(t *testing.T) {
		received := make(chan int)
		address := serveOne(t, func(c *net.TCPConn) {
			c.Write(big)
			c.CloseWrite()
			got, _ := io.ReadAll(c)
			received <- len(got)
		})
		conn := tunnel(t, open(t, egress.Config{}, address), address)
		if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, big) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		conn.Write(big)
		conn.CloseWrite()
		if n := <-received; n != len(big) {
			t.Errorf("%d bytes arrived", n)
		}
	})
	t.Run("bytes behind the request's head", func(t *testing.T) {
		address := serveOne(t, func(c *net.TCPConn) { io.Copy(c, c) })
		conn := dial(t, open(t, egress.Config{}, address))
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\nearly", address)
		conn.CloseWrite()
		if got, _ := io.ReadAll(conn); !strings.HasSuffix(string(got), "\r\n\r\nearly") {
			t.Errorf("got %q", got)
		}
	})
}

func TestAnIdleTunnelEnds(t *testing.T) {
	address := serveOne(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	p := open(t, egress.Config{Limits: egress.Limits{Idle: 20 * time.Millisecond}}, address)
	conn := tunnel(t, p, address)
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

func TestATunnelThatIsUsedInOneDirectionStays(t *testing.T) {
	const idle = 300 * time.Millisecond
	received := make(chan int)
	address := serveOne(t, func(c *net.TCPConn) {
		got, _ := io.ReadAll(c)
		received <- len(got)
	})
	p := open(t, egress.Config{Limits: egress.Limits{Idle: idle}}, address)
	conn := tunnel(t, p, address)
	sent, longest, last := 0, time.Duration(0), time.Now()
	var broken error
	for began := time.Now(); broken == nil && time.Since(began) < 3*idle; sent++ {
		_, broken = conn.Write([]byte("x"))
		<-time.After(idle / 20)
		longest, last = max(longest, time.Since(last)), time.Now()
	}
	conn.CloseWrite()
	if got := <-received; (got != sent || broken != nil) && longest < idle/2 {
		t.Errorf("%d of %d bytes arrived: %v", got, sent, broken)
	}
}
