package codex

import (
	"encoding/json"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

func TestWhatASessionMayDo(t *testing.T) {
	held, open := child.Sandbox{Box: new(box.Box)}, child.Sandbox{}
	reach := child.Sandbox{Box: new(box.Box), Network: []string{"example.org:443"}}
	reads := agent.Options{Sandbox: agent.ReadOnly}
	const (
		free   = `{"approvalPolicy":"never","sandbox":{"type":"dangerFullAccess"}}`
		walled = `{"approvalPolicy":"never","sandbox":{"type":"readOnly","networkAccess":false}}`
	)
	for _, row := range []struct {
		name   string
		answer string
		o      agent.Options
		box    child.Sandbox
		want   *delivery.Allows
	}{
		{"a reader in its client's sandbox", walled, reads, open, &delivery.Allows{}},
		{"a client without a sandbox, outside of a box", free, reads, open, &delivery.Allows{Network: true, Write: true}},
		{"a reader that asks for the network, outside of a box", walled, agent.Options{Sandbox: agent.ReadOnly, Network: true}, open, &delivery.Allows{Network: true}},
		{"a reader with servers of its own, outside of a box", walled, agent.Options{Sandbox: agent.ReadOnly, Servers: map[string]setup.Server{"w": {}}}, open, &delivery.Allows{Network: true, Write: true}},
		{"a reader with servers of its own, in a box", free, agent.Options{Sandbox: agent.ReadOnly, Servers: map[string]setup.Server{"w": {}}}, held, &delivery.Allows{}},
		{"a reader in a box", free, reads, held, &delivery.Allows{}},
		{"a writer in a box", free, agent.Options{Sandbox: agent.WorkspaceWrite}, held, &delivery.Allows{Write: true}},
		{"a reader in a box, with a directory to write", free, agent.Options{Sandbox: agent.ReadOnly, Dirs: []string{"/d"}}, held, &delivery.Allows{Write: true}},
		{"a reader in a box that reaches more than the model", free, reads, reach, &delivery.Allows{Network: true}},
		{"a reader in a box that asks for the network", free, agent.Options{Sandbox: agent.ReadOnly, Network: true}, held, &delivery.Allows{Network: true}},
		{"a reader with the user's servers", free, agent.Options{Sandbox: agent.ReadOnly, UserServers: true}, held, &delivery.Allows{Network: true, Write: true}},
		{"a client in a box that asks", `{"approvalPolicy":"untrusted","sandbox":{"type":"dangerFullAccess"}}`, reads, held, &delivery.Allows{Approval: true}},
		{"a policy that is no word", `{"approvalPolicy":{"granular":{}},"sandbox":{"type":"readOnly"}}`, reads, held, nil},
		{"no sandbox told", `{"approvalPolicy":"never"}`, reads, held, nil},
	} {
		var answer threadAnswer
		if err := json.Unmarshal([]byte(row.answer), &answer); err != nil {
			t.Fatal(err)
		}
		got := answer.allowsOf(row.o, row.box)
		if (got == nil) != (row.want == nil) || got != nil && *got != *row.want {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
}

func TestASteerIsProvedForTheTriedVersionAlone(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"userAgent":"ratchet/0.169.0 (Debian 12.0.0; x86_64) xterm (ratchet; 1)"}`: true,
		`{"userAgent":"ratchet/0.170.0 (Debian 12.0.0; x86_64)"}`:                    false,
		`{"userAgent":"0.169.0"}`: false,
		`{}`:                      false,
		`[]`:                      false,
	} {
		s := &session{version: versionOf(json.RawMessage(answer)), keepsAnswers: true}
		if c := s.Capabilities(); c.TurnSteer() != want || !c.Minimum() || c.Steer.Gate {
			t.Errorf("%s: %+v", answer, c)
		}
	}
}
