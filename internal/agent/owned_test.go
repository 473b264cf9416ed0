package agent_test

import (
	"fmt"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

func TestAnOwnersAccountOfItsThread(t *testing.T) {
	var o agent.Owned
	status := func(want string) agent.Thread {
		t.Helper()
		thread := o.Thread("thread", &delivery.Allows{})
		if thread.Status != want || (len(thread.Active) == 1) != (want == "active") {
			t.Errorf("%+v, want %s", thread, want)
		}
		return thread
	}
	status("idle")
	o.Begin("u-1", "m-1")
	if turn, first, alone := status("active").Marked("m-1"); turn.ID != "u-1" || !first || !alone || turn.Ended {
		t.Errorf("under way: %+v", turn)
	}
	o.End("u-1", agent.Interrupted)
	if turn, _, _ := status("idle").Marked("m-1"); delivery.EndOf(turn.Status) != delivery.TurnInterrupted || !turn.Ended {
		t.Errorf("interrupted: %+v", turn)
	}
	o.Begin("u-2", "m-2")
	o.Forget("u-2")
	if _, _, alone := status("idle").Marked("m-2"); alone {
		t.Error("a turn that was not begun is in the account")
	}
	for i := range 100 {
		o.Begin(fmt.Sprint("u-", i), fmt.Sprint("m-", i))
		o.End(fmt.Sprint("u-", i), agent.Completed)
	}
	if n := len(status("idle").Turns); n != 64 {
		t.Errorf("%d turns are kept", n)
	}
	if c := agent.OwnedCapabilities(); !c.Minimum() || c.TurnSteer() {
		t.Errorf("capabilities %+v", c)
	}
}
