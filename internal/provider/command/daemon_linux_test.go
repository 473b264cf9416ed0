package command_test

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func TestADaemonEndsWithTheCall(t *testing.T) {
	resp, err := asking(t, behave("leave a daemon")).Generate(t.Context(), providertest.Request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(resp.RawText)
	if err != nil {
		t.Fatalf("no process id: %v", err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the daemon %d is still there: %v", pid, err)
	}
}
