package main

import (
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestEngineKilled kills the engine, and workers too, while runs are in
// flight. The engine comes back on the same file and the same port.
func TestEngineKilled(t *testing.T) {
	need.Suite(t, need.Nightly)
	t.Parallel()
	size, kills, inFlight := 6, 3, 6
	if need.Has(need.Nightly) {
		size, kills, inFlight = 60, 20, 20
	}
	s := newOwnFixture(t)
	s.flaky = true
	workerGroup := s.spawnGroup(2)
	rng := rand.New(rand.NewPCG(3, uint64(time.Now().UnixNano())))
	siege{
		size: size, inFlight: inFlight, kills: 2 * kills,
		pace: func() time.Duration { return time.Duration(300+rng.IntN(1500)) * time.Millisecond },
		kill: func(n int) {
			if n%2 == 0 {
				s.killEngine()
			} else {
				workerGroup.killOne(rng)
			}
		},
	}.lay(t, s)
	s.verifyDatabase(t)
}

// killEngine ends the engine as a crash would and starts it again.
func (s *fixture) killEngine() {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.engine.Address)
	if err != nil {
		s.t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err == nil {
		err = syscall.Kill(s.engine.PID, syscall.SIGKILL)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	<-s.engine.Done()
	s.startEngine(n)
}

func (s *fixture) verifyDatabase(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Log("the database file is not checked: no sqlite3 program")
		return
	}
	out, err := exec.Command(program, s.db, "PRAGMA integrity_check").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("integrity check: %s, %v", out, err)
	}
}
