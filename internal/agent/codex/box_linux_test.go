package codex_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// In a box the client keeps no sandbox of its own and asks about every command. Those that want no more
// than a sandbox gives pass, as they do without a box; the others are put to the caller.
func TestTheClientInTheBox(t *testing.T) {
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		sandbox       agent.Sandbox
		network       bool
		policy, turns string
	}{
		"a developer":                  {agent.WorkspaceWrite, false, "untrusted", "restricted"},
		"a developer with the network": {agent.WorkspaceWrite, true, "untrusted", "enabled"},
		"a reader":                     {agent.ReadOnly, false, "never", "restricted"},
	} {
		t.Run(name, func(t *testing.T) {
			const ask = `{"id":%s,"method":"item/commandExecution/requestApproval","params":{` + inTurn + `"itemId":%s,"reason":%s,"command":"c"}}`
			var begun, turn struct {
				Sandbox        string
				ApprovalPolicy string
				SandboxPolicy  struct{ Type, NetworkAccess string }
			}
			c := serve(t, func(p *peer) {
				p.answer(p.expect("initialize"), `{}`)
				p.expect("initialized")
				f, _ := p.next()
				json.Unmarshal(f.Params, &begun)
				p.answer(f, `{"thread":{"id":"`+thread+`"},"sandbox":{"type":"dangerFullAccess"},"approvalPolicy":"`+tt.policy+`"}`)
				json.Unmarshal(p.begin().Params, &turn)
				p.say(ask, 1, "plain", nil)
				p.wantAnswer("1", `{"decision":"accept"}`)
				p.say(ask, 2, "escalated", "leave a mark")
				p.wantAnswer("2", `{"decision":"decline"}`)
				p.finish("completed", "")
				p.rest()
			})
			address := ""
			for _, entry := range c.Environ {
				if at, ok := strings.CutPrefix(entry, wireVariable+"="); ok {
					address = at
				}
			}
			c.Sandbox = child.Sandbox{Box: b, Network: []string{address}}
			s, l := start(t, c, func(o *agent.Options) { o.Sandbox, o.Network = tt.sandbox, tt.network })
			l.Send("go")
			asked := agenttest.Next[agent.Permission](l)
			if asked.CallID != "escalated" {
				t.Errorf("asked about %+v", asked)
			}
			if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny}); err != nil {
				t.Error(err)
			}
			agenttest.Next[agent.Turn](l)
			if begun.Sandbox != "danger-full-access" || begun.ApprovalPolicy != tt.policy || turn.SandboxPolicy.Type != "externalSandbox" || turn.SandboxPolicy.NetworkAccess != tt.turns {
				t.Errorf("begun with %+v, and a turn with %+v", begun, turn)
			}
		})
	}
}
