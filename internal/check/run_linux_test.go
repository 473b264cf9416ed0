package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/check"
)

// Finding B4: it must neither pass nor go round for ever.
func TestCommandThatEndsItsSupervisorCannotRun(t *testing.T) {
	for _, signal := range []string{"KILL", "TERM"} {
		log := filepath.Join(t.TempDir(), "begun")
		report := run(t, spec(t, "echo begun >> "+log+"; kill -"+signal+" $PPID; sleep 300"))
		got := report.Checks[0]
		if got.Status != check.Error || got.ExitCode != -1 || !strings.Contains(got.Reason, "supervis") {
			t.Errorf("SIG%s: got %+v", signal, got)
		}
		if v := report.Verdict(); v.Outcome != check.Blocked {
			t.Errorf("SIG%s: the outcome is %s; nobody is asked", signal, v.Outcome)
		}
		if b, err := os.ReadFile(log); err != nil || strings.Count(string(b), "begun") != 2 {
			t.Errorf("SIG%s: begun %q, %v", signal, b, err)
		}
	}
}

func TestCommandThatLosesItsSupervisorOnceIsBegunAgain(t *testing.T) {
	got := run(t, spec(t, "test -e again || { touch again; kill -KILL $PPID; sleep 300; }")).Checks[0]
	if got.Status != check.Pass || got.Reason != "" {
		t.Errorf("got %+v", got)
	}
}

func TestCommandThatStopsItsSupervisorRunsOutOfTime(t *testing.T) {
	s := spec(t, "kill -STOP $PPID; sleep 300")
	s.Timeout = 300 * time.Millisecond
	if got := run(t, s).Checks[0]; got.Status != check.Timeout {
		t.Errorf("got %+v", got)
	}
}

func TestCommandGetsThreeDescriptors(t *testing.T) {
	got := run(t, spec(t, "for f in /proc/self/fd/*; do [ -e $f ] && printf '%s ' ${f##*/}; done")).Checks[0]
	if got.Head != "0 1 2 " {
		t.Errorf("got %+v", got)
	}
}
