package host

import (
	"testing"
	"time"
)

// A server that many share gets few heartbeats, but three within the shortest timeout of workflows.
func TestHeartbeatsOfASharedServer(t *testing.T) {
	own, shared := (&Worker{}).options().MaxHeartbeatThrottleInterval, (&Worker{remote: true}).options().MaxHeartbeatThrottleInterval
	if own > time.Second || shared != 5*time.Second {
		t.Errorf("held back for %v on one's own engine and %v on a shared server, want at most 1s and 5s", own, shared)
	}
}
