package main

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// TestADeliveryReachesTheSessionOfThatID has the deliveries of another session begin with the id: until now the session
// itself has none.
func TestADeliveryReachesTheSessionOfThatID(t *testing.T) {
	t.Parallel()
	b := newTalk(t)
	bringUp(t, b.runsDir)
	b.startSession("--id", "night")
	b.startSession("--id", "night-2")
	clitest.Must(t, ledger.In(b.runsDir).Record(t.Context(), "night-2", []ledger.Entry{{N: 1}}))
	batch := `{"id":"b-1","jobs":[{"id":"j","state":"ready","summary":"all green"}]}`
	if r := starter(t.Context(), batch, "--runs-dir", b.runsDir, "deliver", "night", "--file", "-"); r.code != 0 || !strings.Contains(r.out, "deliveries night ") ||
		!strings.Contains(r.err, "the agent of session night is acp, which takes no deliveries") {
		t.Errorf("code %d: %s%s", r.code, r.out, r.err)
	}
	r := b.expect(0, "run", "--tell", "night", "--repo", b.repo, "--goal", "g", "--provider", "command:true", "--check", "true", "--sandbox", "off", "--detach")
	if !strings.Contains(r.err, "the agent of session night is acp, which takes no deliveries") {
		t.Errorf("run --tell: %q", r.err)
	}
	b.says("No deliveries into session night-2 yet", "deliveries", "night-2")
	b.says(" night  ", "deliveries", "night")
}
