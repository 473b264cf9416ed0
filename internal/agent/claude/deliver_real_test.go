package claude_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func TestDeliveriesToTheRealClient(t *testing.T) {
	model := fakemodel.Start(t)
	o := agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly, Sticky: agent.Choice{Model: main45}}
	agenttest.TakeDeliveries(t, realClient(t, realBinary(t), model), o, model)
}
