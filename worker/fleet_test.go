package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestHostsBurnAtAnyMoment has three hosts that share a bucket and nothing else. At any moment one of them burns, and a new
// one comes, or one does not reach the engine for a time longer than the others wait for it. No run loses anything, does
// anything twice, or asks again for an answer that is in the bucket.
func TestHostsBurnAtAnyMoment(t *testing.T) {
	need.Suite(t, need.Nightly)
	need.Program(t, "unshare")
	const size, ends, cut = 100, 200, 10 * time.Second
	s := newFixture(t)
	first := s.share("fleet", variants[0](), 0.3)
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	names := 0
	next := func() *hostProcess {
		names++
		return first.host(fmt.Sprintf("host-%d", names))
	}
	hosts := []*hostProcess{next(), next(), next()}
	runs := []*sharedRun{first}
	began, ended, cuts := time.Now(), 0, 0
	for done := 0; done < size || ended < ends; done = len(runs) {
		for n := len(runs); len(runs) < done+25; n++ {
			runs = append(runs, first.beside(variants[n%len(variants)](), 0.3))
		}
		wave := make([]*scripted, 0, len(runs)-done)
		for _, r := range runs[done:] {
			wave = append(wave, r.scripted)
		}
		stop := first.s.decided(t, wave)
		over := first.s.waves(wave, 10)
		for open := true; open; {
			select {
			case <-over:
				open = false
			case <-time.After(time.Duration(500+rng.IntN(2500)) * time.Millisecond):
				switch i := rng.IntN(len(hosts)); {
				case ended == ends:
				case rng.IntN(4) == 0:
					hosts[i].network.cut(cut)
					cuts, ended = cuts+1, ended+1
				default:
					hosts[i].burn(t)
					hosts[i] = next()
					ended++
				}
			}
		}
		stop()
	}
	again := 0
	var repaid []string // a host that is cut off stores an answer while another has begun to ask again
	for _, r := range runs {
		repaid = append(repaid, r.verifyRun(t, string(r.in.RunID), ended)...)
		count, _, _ := r.calls()
		for _, n := range count {
			again += n - 1
		}
	}
	if len(repaid) > cuts {
		t.Errorf("paid again for answers in the bucket: %v, with %d hosts cut off", repaid, cuts)
	}
	t.Logf("%d runs, %d hosts burnt, %d cut off for %v, in %v; %d calls were cut short and made again, %d of them beside a late answer", len(runs), ended-cuts, cuts, cut, time.Since(began).Round(time.Second), again, len(repaid))
}

// network is the way of one host to the engine.
type network struct {
	address string // host:port

	mu    sync.Mutex
	until time.Time // it is cut
	open  map[net.Conn]bool
}

// networkTo returns a way to an address of this machine, until the test ends.
func networkTo(t testing.TB, address string) *network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{address: l.Addr().String(), open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		l.Close()
		n.cut(time.Hour)
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go n.pass(conn, address)
		}
	}()
	return n
}

// cut ends all connections, and new ones for a time.
func (n *network) cut(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.until = time.Now().Add(d)
	for conn := range n.open {
		conn.Close()
	}
}

// pass connects a host to the engine, until either ends or the network is cut.
func (n *network) pass(conn net.Conn, address string) {
	defer conn.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	n.mu.Lock()
	isCut := time.Now().Before(n.until)
	n.open[conn] = true
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.open, conn)
	}()
	if isCut {
		return
	}
	go func() {
		_, _ = io.Copy(to, conn)
		to.Close()
	}()
	_, _ = io.Copy(conn, to)
}
