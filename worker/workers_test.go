package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// workerGroup is a number of worker processes: who dies is replaced at once.
type workerGroup struct {
	s       *fixture
	workers []*workerProcess
}

func (s *fixture) spawnGroup(n int, env ...string) *workerGroup {
	s.t.Helper()
	c := &workerGroup{s: s}
	for range n {
		c.workers = append(c.workers, s.spawn(env...))
	}
	return c
}

// killOne kills a worker and starts another, which it does not wait for. It waits
// while that could cost a call the last time that it is paid for.
func (c *workerGroup) killOne(rng *rand.Rand) {
	c.s.t.Helper()
	eventually.Within(c.s.t, "calls that can be lost once more", 5*time.Minute, func() bool { return !c.s.oftenLost() })
	i := rng.IntN(len(c.workers))
	c.workers[i].kill()
	c.workers[i] = c.s.launch()
}

// oftenLost reports whether the provider of some call has been started four times
// without an answer: the fifth time is the last.
func (s *fixture) oftenLost() bool {
	counts, err := filepath.Glob(filepath.Join(s.runsDir, "workflows", "*", "locks", "*.begun"))
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.ContainsFunc(counts, func(name string) bool {
		info, err := os.Stat(name) // or it has been answered
		return err == nil && info.Size() >= 4
	})
}

// waves starts the runs, so many at a time, and closes the channel when all
// are over.
func (s *fixture) waves(runs []*scripted, inFlight int) <-chan struct{} {
	s.t.Helper()
	over := make(chan struct{})
	slots := make(chan struct{}, inFlight)
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Minute)
	s.t.Cleanup(cancel)
	go func() {
		defer close(over)
		var wg sync.WaitGroup
		for _, r := range runs {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				s.finish(ctx, r)
			})
		}
		wg.Wait()
	}()
	return over
}

// finish starts a run and waits for its end, whatever becomes of the server.
func (s *fixture) finish(ctx context.Context, r *scripted) {
	err := s.patiently(ctx, func() error {
		wr, err := s.begin(ctx, r.in)
		if err != nil {
			return err
		}
		return wr.Get(ctx, nil)
	})
	if err != nil {
		s.t.Errorf("run %s: %v", r.in.RunID, err)
	}
}
