package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
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

// TestHostsBurnBesideManyWaitingRuns has 2,000 runs that wait for a person, on three hosts that keep 200 runs in memory.
// Beside them 300 agents work, and a host burns every 20 s. Then all that wait are approved. Nothing is lost, and nothing is
// done twice.
func TestHostsBurnBesideManyWaitingRuns(t *testing.T) {
	need.Suite(t, need.Nightly)
	need.Program(t, "unshare")
	const waiting, agents, every, atOnce = 2000, 300, 20 * time.Second, 100
	one := edit{file: "log.txt", line: "one"}
	s := newFixture(t)
	s.flags = []string{"-cached-runs", "200"}
	first := s.share("scale", newScript(run.Always, "true").patch("execute-1", one), 0)
	runs, wave := []*sharedRun{first}, []*scripted{}
	for len(runs) < waiting {
		runs = append(runs, first.beside(newScript(run.Always, "true").patch("execute-1", one), 0))
	}
	for range agents {
		r := first.beside(newScript(run.Never, "true").patch("execute-1", one), 10)
		runs, wave = append(runs, r), append(wave, r.scripted)
	}
	names := 0
	next := func() *hostProcess {
		names++
		return first.host(fmt.Sprintf("host-%d", names))
	}
	hosts := []*hostProcess{next(), next(), next()}
	began := time.Now()
	lap := func() time.Duration {
		took := time.Since(began)
		began = began.Add(took)
		return took.Round(time.Second)
	}
	for _, r := range runs[:waiting] {
		r.s.start(r.in)
	}
	count := &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("TaskQueue = '%s' AND %s = '%s'", first.s.queue, attribute.Status().GetName(), run.AwaitingApproval),
	}
	eventually.Within(t, "all wait", time.Hour, func() bool {
		n, err := s.client.CountWorkflow(t.Context(), count)
		return err == nil && n.GetCount() == waiting
	})
	toWait, burnt := lap(), 0
	over := first.s.waves(wave, agents)
	for open := true; open; {
		select {
		case <-over:
			open = false
		case <-time.After(every):
			hosts[burnt%len(hosts)].burn(t)
			hosts[burnt%len(hosts)] = next()
			burnt++
		}
	}
	toWork := lap()
	if burnt == 0 {
		t.Errorf("no host burnt in %v", toWork)
	}
	for group := range slices.Chunk(runs[:waiting], atOnce) {
		wave := []*scripted{}
		for _, r := range group {
			wave = append(wave, r.scripted)
		}
		stop := first.s.decided(t, wave)
		for _, r := range group {
			if err := r.await(t, s.client.GetWorkflow(t.Context(), r.in.RunID.WorkflowID(), "")); err != nil {
				t.Fatal(err)
			}
		}
		stop()
	}
	toEnd, again := lap(), 0
	for _, r := range runs {
		r.verify(t, string(r.in.RunID), burnt)
		count, _, _ := r.calls()
		again += count["execute-1"] - 1
	}
	t.Logf("%d runs wait after %v; %d agents beside them in %v, %d hosts burnt, %d calls made again; all approved and over in %v", waiting, toWait, agents, toWork, burnt, again, toEnd)
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
