package workflows_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
	"github.com/ratchet-dev/ratchet/workflows/dispatch"
	"github.com/ratchet-dev/ratchet/workflows/forge"
	"github.com/ratchet-dev/ratchet/workflows/format"
	"github.com/ratchet-dev/ratchet/workflows/notify"
	"github.com/ratchet-dev/ratchet/workflows/session"
)

const refusal = "another build of Ratchet started this workflow"

func TestEachWorkflowRefusesAnotherFormat(t *testing.T) {
	for name, workflow := range map[string]any{
		"Run": workflows.Run, "Session": session.Session, "Dispatch": dispatch.Dispatch, "Notice": notify.Notice, "Ticket": forge.Ticket, "Watch": forge.Watch,
	} {
		stamped := func(number int) string { return fmt.Sprintf(`{"format":%d}`, number) }
		for input, refused := range map[string]bool{`{}`: true, stamped(format.Number - 1): true, stamped(format.Number + 1): true, stamped(format.Number): false} {
			e := temporaltest.Environment()
			e.RegisterWorkflow(workflow)
			e.ExecuteWorkflow(name, json.RawMessage(input))
			if err := e.GetWorkflowError(); refused != (err != nil && strings.Contains(err.Error(), refusal)) {
				t.Errorf("%s of %s: got %v, want refused %v", name, input, err, refused)
			}
		}
	}
}

func TestWhateverStartsAWorkflowStampsIt(t *testing.T) {
	b, err := json.Marshal(workflows.RunInput{})
	var in workflows.RunInput
	if err != nil || json.Unmarshal(b, &in) != nil {
		t.Fatalf("%s, %v", b, err)
	}
	in.Format.Check()
}
