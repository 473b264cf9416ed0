package failpoint_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

// The test binary is its own victim: it hits a point 50 times and another once. It does so on another thread than the
// first, which the kernel prefers for a signal to the process.
func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINT_VICTIM") != "" {
		runtime.LockOSThread()
		go func() {
			for range 50 {
				failpoint.Hit("often")
			}
			failpoint.Hit("once")
			os.Exit(0)
		}()
		time.Sleep(math.MaxInt64) // until it is killed; select {} would end a program without cgo as a deadlock
	}
	os.Exit(m.Run())
}

func TestHit(t *testing.T) {
	tests := []struct {
		spec   string
		end    string // killed, done or refused
		oftens int    // -1: any
	}{
		{"", "done", 50},
		{"other=kill", "done", 50},
		{"often=kill", "killed", 1},
		{"often=kill@3", "killed", 3},
		{"often=kill@51,once=kill", "killed", 50},
		{"often=kill%1", "killed", 1},
		{"*=kill@2", "killed", 2},
		{"often=kill%0.5", "killed", -1},
		{"often", "refused", 0},
		{"often=die", "refused", 0},
		{"often=stop@51,once=kill", "killed", 50},
		{"often=kill%0.5@2", "refused", 0},
		{"often=stop@0", "refused", 0},
		{"often=kill@0", "refused", 0},
		{"often=kill@x", "refused", 0},
		{"often=kill%2", "refused", 0},
		{"often=kill%NaN", "refused", 0},
		{"=kill", "refused", 0},
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), "FAILPOINT_VICTIM=1", "RATCHET_FAILPOINTS="+tt.spec, "RATCHET_FAILPOINT_LOG="+log)
			if got := end(cmd.Run()); got != tt.end {
				t.Errorf("%s, want %s", got, tt.end)
			}
			text, _ := os.ReadFile(log) // absent when nothing was reached
			if got := strings.Count(string(text), "often\n"); tt.oftens >= 0 && got != tt.oftens {
				t.Errorf("reached %d times, want %d", got, tt.oftens)
			}
		})
	}
}

// A process that is stopped does nothing before it gets SIGCONT.
func TestStop(t *testing.T) {
	for range 20 {
		stopOnce(t)
	}
}

func stopOnce(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "FAILPOINT_VICTIM=1", "RATCHET_FAILPOINTS=often=stop@3,once=kill", "RATCHET_FAILPOINT_LOG="+log)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Errorf("%v, %#x: want it stopped", err, status)
	}
	if text, err := os.ReadFile(log); err != nil || strings.Count(string(text), "often\n") != 3 {
		t.Errorf("%v, it is stopped after %q", err, text)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := end(cmd.Wait()); got != "killed" {
		t.Errorf("%s, want it to come to the second point", got)
	}
}

func end(err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return "done"
	case ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return "killed"
	case ok && exit.ExitCode() == 2:
		return "refused"
	}
	return err.Error()
}

func TestHitCostsNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { failpoint.Hit("x") }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
