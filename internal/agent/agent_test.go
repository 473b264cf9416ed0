package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

func TestAnOverrideWinsFieldByField(t *testing.T) {
	sticky := agent.Choice{Model: "large", Mode: "plan"}
	for name, tc := range map[string]struct{ over, want agent.Choice }{
		"nothing overridden": {agent.Choice{}, sticky},
		"the model":          {agent.Choice{Model: "small"}, agent.Choice{Model: "small", Mode: "plan"}},
		"the mode":           {agent.Choice{Mode: "edit"}, agent.Choice{Model: "large", Mode: "edit"}},
		"both":               {agent.Choice{Model: "small", Mode: "edit"}, agent.Choice{Model: "small", Mode: "edit"}},
	} {
		if got := (agent.Options{Sticky: sticky, Override: tc.over}).Choice(); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
	if got := (agent.Options{}).Choice(); got != (agent.Choice{}) {
		t.Errorf("nothing chosen: %+v", got)
	}
}

func TestTheManifestOfWhatIsMissingHasNoNulls(t *testing.T) {
	m := agent.MissingManifest(setup.Codex, "Codex", "not on PATH")
	if m.Installed || m.Kind != setup.Codex || m.Status != agent.Unsupported || m.Unavailable != "not on PATH" {
		t.Errorf("manifest %+v", m)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ Models, Modes json.RawMessage }
	if err := json.Unmarshal(b, &back); err != nil || string(back.Models) != "[]" || string(back.Modes) != "[]" {
		t.Errorf("in JSON: %s (%v)", b, err)
	}
}
