package deliver

import (
	"strings"
	"testing"
)

// Where the session itself is the reason, a person is told what to do.
func TestWhyTheHeadWaits(t *testing.T) {
	for waiting, want := range map[string]string{
		"capabilities_missing: x": "this agent takes no deliveries: ",
		"session_permissions: x":  "--deliveries trusted-all",
		"session_not_live: x":     "session_not_live: x",
	} {
		if got := waitingText(waiting); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", waiting, got, want)
		}
	}
}
