package check_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/check"
)

func TestCommandThatKillsItsSupervisorFails(t *testing.T) {
	got := run(t, spec(t, "kill -KILL $PPID; sleep 300")).Checks[0]
	if got.Status != check.Fail || got.Reason == "" {
		t.Errorf("got %+v", got)
	}
}
