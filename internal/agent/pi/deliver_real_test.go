package pi_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func TestDeliveriesToTheRealPi(t *testing.T) {
	argv := realArgv(t)
	model := fakemodel.Start(t)
	c := realConfig(t, argv, model)
	c.Trust = pi.TrustNobody
	agenttest.TakeDeliveries(t, pi.New(c), agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly}, model)
}
