package review_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/review"
)

// A run that waits is shown once, however many others are listed before it.
func TestTheQueueShowsEachWait(t *testing.T) {
	for name, newer := range map[string]int{"listed": 0, "no longer listed": 500} {
		t.Run(name, func(t *testing.T) {
			s := atGate(t, review.Config{})
			s.engine.newer = newer
			v := s.enter("kim")
			const link, none = `href="/runs/r1"`, "Nothing is waiting for you."
			body := v.get("/").body
			if strings.Count(body, link) != 1 || !strings.Contains(body, "put a comma") || strings.Contains(body, none) {
				t.Errorf("the queue:\n%.3000s", body)
			}
			v.post(decidePath, v.yes())
			if body := v.get("/").body; !strings.Contains(body, none) {
				t.Errorf("the queue of runs that work:\n%.3000s", body)
			}
		})
	}
}
