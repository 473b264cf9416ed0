package controlsocket_test

import (
	"net"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// BenchmarkLook reports how many times a bare connect and close a look takes.
func BenchmarkLook(b *testing.B) {
	path := controlsocket.Path(folder(b), gid)
	l := listen(b, path)
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			conn.Close()
		}
	}()
	var bare, look time.Duration
	for b.Loop() {
		began := time.Now()
		conn, err := net.Dial("unix", path)
		must(b, err)
		conn.Close()
		between := time.Now()
		if got := controlsocket.Look(b.Context(), path); got.Liveness != dispatch.Alive {
			b.Fatal(got)
		}
		bare, look = bare+between.Sub(began), look+time.Since(between)
	}
	b.ReportMetric(float64(look)/float64(bare), "x-bare-connect")
	b.ReportMetric(float64(look.Nanoseconds())/float64(b.N), "ns/look")
}
