package home

import (
	"testing"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// A run that waits is shown once, however many others are newer.
func TestTheBoardShowsEachWait(t *testing.T) {
	engine := clitest.NewCrowd(t)
	for name, working := range map[string]int{"listed": 1, "no longer listed": clitest.CrowdSize} {
		t.Run(name, func(t *testing.T) {
			rows, err := Rows(t.Context(), runs.New(&clitest.Crowd{Working: engine.Working[:working], Waiting: engine.Waiting}, "queue"))
			waits := 0
			for _, r := range rows {
				if r.Status.Waiting() {
					waits++
				}
			}
			if err != nil || waits != len(engine.Waiting) {
				t.Errorf("%d of %d waits, %v", waits, len(engine.Waiting), err)
			}
		})
	}
}
