package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestDeliveriesOutliveTheirWorkersAndEngine kills worker and engine at random moments and points while batches are
// delivered. No batch is taken twice, and each ends delivered or in a person's hands: a person closes those as they
// come, and so the queues are empty at the end. Every session answers afterwards.
func TestDeliveriesOutliveTheirWorkersAndEngine(t *testing.T) {
	need.Suite(t, need.Nightly)
	t.Parallel()
	kills, batches, sessions := 12, 12, 12
	if need.Has(need.Nightly) {
		kills, batches, sessions = 200, 100, 25
	}
	k := newKiller(t, faking, sessions, "", "*=kill%0.1")
	given := 0
	for i := range kills {
		for given < batches && given*kills <= i*batches {
			k.give(t, given)
			given++
		}
		k.killOne(i)
	}
	k.finish(t, given)
	processes := 0
	for _, h := range k.readers {
		h.resumes(t)
		h.checkLedger(t)
		if snap, err := h.sessions().State(t.Context(), h.id); err == nil {
			processes += snap.Epochs
		}
	}
	t.Logf("%d deliveries into %d sessions, %d workers and %d engines killed: %v, %d processes", given, sessions, k.dead, k.restarts, k.tally, processes)
	if processes < sessions+k.dead/3 {
		t.Errorf("%d workers killed, %d processes: the kills hit nothing", k.dead, processes)
	}
}

// TestADeliveryThatIsSentAgainIsTakenTwice is the control of the suite above: its workers die at random ones of the points
// where the agent has the message and the workflow has no answer, and send again.
func TestADeliveryThatIsSentAgainIsTakenTwice(t *testing.T) {
	need.Suite(t, need.Nightly)
	t.Parallel()
	k := newKiller(t, repeating, 6, "delivery.sent=kill%0.5,delivery.accepted=kill%0.5")
	for i := range k.readers {
		k.give(t, i)
	}
	eventually.Within(t, "batch that was taken twice", 5*time.Minute, func() (twice bool) {
		k.revive()
		for i := range k.readers {
			twice = twice || k.taken(i) > 1
		}
		return twice
	})
	t.Logf("%d workers killed over %d batches", k.dead, len(k.readers))
}

// killer kills the one worker of a fixture, and its engine.
type killer struct {
	*fixture
	kind           string   // of the worker
	points         []string // where it dies by itself: one of these, at random
	ledger         string   // directory in which the agents note what they take
	rng            *rand.Rand
	readers        []*sessionFixture
	worker         *workerProcess
	dead, restarts int            // workers and engines that were killed
	tally          map[string]int // of fates
	settleHeads    func()         // ends the person who closes what waits for one
}

func newKiller(t *testing.T, kind string, sessions int, points ...string) *killer {
	s := newOwnFixture(t)
	s.queue, s.flags = "deliveries", []string{"-sessions", fmt.Sprint(sessions)}
	k := &killer{fixture: s, kind: kind, points: points, ledger: t.TempDir(), rng: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 14)), tally: map[string]int{}}
	for range sessions {
		k.readers = append(k.readers, s.newReader(t, k.ledger))
	}
	k.settleHeads = k.attend(t)
	t.Cleanup(k.settleHeads)
	k.revive()
	return k
}

func batchName(i int) string { return fmt.Sprintf("b-%d", i) }

// taken returns how often the agents took the batch.
func (k *killer) taken(i int) int { return k.readers[0].heard(batchName(i) + " ") }

// give gives the batch to its session, whose worker dies meanwhile.
func (k *killer) give(t *testing.T, i int) {
	t.Helper()
	eventually.Holds(t, "batch given", func() bool {
		k.revive()
		return k.reader(i).enqueue(t, batchName(i), slowBatch, client.WorkflowUpdateStageAccepted, 2*time.Second)
	})
}

func (k *killer) reader(i int) *sessionFixture { return k.readers[i%len(k.readers)] }

// revive replaces a worker that has died.
func (k *killer) revive() {
	if k.worker != nil && !k.worker.dead() {
		return
	}
	if k.worker != nil {
		k.dead++
	}
	points := k.points[k.rng.IntN(len(k.points))]
	k.worker = k.spawn(asWorker+"="+k.kind, takenIn(k.ledger), "RATCHET_FAILPOINTS="+points)
}

// killOne kills the worker at a random moment, or the engine every fourth time.
func (k *killer) killOne(i int) {
	select {
	case <-time.After(time.Duration(k.rng.IntN(4000)) * time.Millisecond): // the moment
	case <-k.worker.done:
	}
	if i%4 == 3 {
		k.killEngine()
		k.restarts++
	} else {
		k.worker.kill()
	}
	k.revive()
}

// finish lets a worker live, and waits until every batch is delivered or a person's.
func (k *killer) finish(t *testing.T, given int) {
	t.Helper()
	k.worker.kill()
	k.worker = k.spawn(asWorker+"="+k.kind, takenIn(k.ledger))
	for i := range given {
		h, id := k.reader(i), batchName(i)
		eventually.Holds(t, "batch in its session", func() bool {
			return h.enqueue(t, id, slowBatch, client.WorkflowUpdateStageCompleted, 10*time.Second)
		})
		got, n := h.settled(t, id), k.taken(i)
		if n > 1 || got == delivered && n != 1 {
			t.Errorf("batch %s is %s, and was taken %d times", id, got, n)
		}
		k.tally[fmt.Sprintf("%s, taken %d times", got, n)]++
	}
	k.settleHeads()
}

// attend has a person close what waits for one, until stop is called.
func (k *killer) attend(t *testing.T) (stop func()) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			case <-tick.C:
				k.readers[i%len(k.readers)].closeHead(t)
			}
		}
	})
	return sync.OnceFunc(func() {
		close(over)
		wg.Wait()
	})
}
