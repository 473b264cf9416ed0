package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestWorkersKilledAtAnyMoment kills workers by SIGKILL while runs are in
// flight. At the end every run is what its script says: nothing is lost,
// nothing is done twice, nothing is left.
func TestWorkersKilledAtAnyMoment(t *testing.T) {
	need.Suite(t, need.Nightly)
	t.Parallel()
	size, kills, inFlight := 15, 30, 15
	if need.Has(need.Nightly) {
		size, kills, inFlight = 100, 200, 25
	}
	s := newOwnFixture(t)
	workerGroup := s.spawnGroup(3)
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	siege{
		size: size, inFlight: inFlight, kills: kills,
		pace: func() time.Duration { return time.Duration(100+rng.IntN(700)) * time.Millisecond },
		kill: func(int) { workerGroup.killOne(rng) },
	}.lay(t, s)
}

// siege is a number of runs and of kills that fall on them.
type siege struct {
	size     int // runs, at least: there are always some for the kills to fall on
	inFlight int
	kills    int
	pace     func() time.Duration
	kill     func(n int)
	pauses   bool                  // nobody dies: no call may be made again
	follow   func(n int) *scripted // nil: the variants in turn, with quick answers
}

// lay takes the runs through the kills and verifies every one of them, which it
// returns.
func (g siege) lay(t *testing.T, s *fixture) (all []*scripted) {
	t.Helper()
	began, killed := time.Now(), 0
	var runs []*scripted
	logs := map[run.ID][]byte{} // as last seen
	for size := g.size; len(runs) == 0 || killed < g.kills; size = g.inFlight {
		wave := make([]*scripted, size)
		for i := range wave {
			if n := len(runs) + i; g.follow != nil {
				wave[i] = g.follow(n)
			} else {
				wave[i] = s.follow(variants[n%len(variants)](), 0.3)
			}
		}
		runs = append(runs, wave...)
		stop := s.decided(t, wave)
		over := s.waves(wave, g.inFlight)
		for open := true; open; {
			select {
			case <-over:
				open = false
			case <-time.After(g.pace()):
				if killed < g.kills {
					g.kill(killed)
					killed++
					s.verifyAppended(t, runs, logs)
				}
			}
		}
		stop()
	}
	s.verifyAppended(t, runs, logs)
	again, deaths := 0, killed
	if g.pauses {
		deaths = 0
	}
	for _, r := range runs {
		s.verify(t, r, deaths)
		count, _, _ := r.calls()
		for _, n := range count {
			again += n - 1
		}
	}
	s.verifyFixture(t)
	t.Logf("%d runs, %d kills or pauses in %v; %d calls were cut short and made again", len(runs), killed, time.Since(began).Round(time.Millisecond), again)
	return runs
}
