package main

import (
	"syscall"
	"testing"
	"time"
)

// pause stops processes as a closed lid would, for so long.
func (s *site) pause(d time.Duration, pids ...int) {
	s.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			s.t.Fatal(err)
		}
	}
	time.Sleep(d) // the pause itself
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestPausesCostNothing stops the engine, the workers, and both, while a call, a
// check, an application and an agent's turn are under way: nothing is begun
// again. Findings H1, B8.
func TestPausesCostNothing(t *testing.T) {
	pause := 4 * time.Second
	if long() {
		pause = 25 * time.Second
	}
	s := newSite(t)
	begun := s.pauses(t, "1", pause)
	for p, n := range begun {
		if n != 1 && !(long() && p == atApply) { // which is missed after 15 s, and makes the same commit again
			t.Errorf("%s: begun %d times", p, n)
		}
	}
	again := 0
	begun = s.pauses(t, hasty, 4*time.Second)
	for _, n := range begun {
		again += n - 1
	}
	if again == 0 {
		t.Error("with a heartbeat timeout of 2 s nothing was begun again: the pauses are none")
	}
	t.Logf("with a heartbeat timeout of 2 s: %v", begun)
	if begun[atCall] != 1 || begun[atAgent] != 1 {
		t.Error("what is paid was not waited for after the engine had given it up")
	}
}

// pauses holds a run at each place, in workers of that kind, and stops them all.
// It returns how often each was begun.
func (s *site) pauses(t *testing.T, kind string, d time.Duration) map[place]int {
	t.Helper()
	var runs []*heldRun
	var workers []int
	for _, p := range places {
		h, w := s.hold(p, kind)
		runs, workers = append(runs, h), append(workers, w.cmd.Process.Pid)
	}
	for _, pids := range [][]int{{s.engine.PID}, workers, append([]int{s.engine.PID}, workers...)} {
		s.pause(d, pids...)
		time.Sleep(2 * time.Second) // so that what the pause has done shows
	}
	begun := map[place]int{}
	for _, h := range runs {
		begun[h.place] = h.begun()
		h.let()
	}
	for _, h := range runs {
		h.finished(t, 0)
	}
	return begun
}
