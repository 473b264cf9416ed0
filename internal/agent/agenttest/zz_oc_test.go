package agenttest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/agenttest"
	"github.com/ratchet-dev/ratchet/internal/agent/agenttest/fakemodel"
)

const occfg = `{"model":"fake/fake-model","small_model":"fake/fake-model","autoupdate":false,"share":"disabled","enabled_providers":["fake"],
 "provider":{"fake":{"name":"Fake","npm":"@ai-sdk/openai-compatible","options":{"baseURL":"@URL/v1","apiKey":"dummy"},
   "models":{"fake-model":{"name":"Fake","tool_call":true,"limit":{"context":200000,"output":8000},"cost":{"input":3,"output":15}}}}},
 "permission":{"edit":"ask","bash":"ask","external_directory":"ask"}}`

func TestZZOC(t *testing.T) {
	bin := os.Getenv("OPENCODE_BIN")
	if bin == "" {
		t.Skip()
	}
	agenttest.Run(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			home := t.TempDir()
			os.WriteFile(home+"/oc.json", []byte(strings.ReplaceAll(occfg, "@URL", model.URL)), 0o600)
			env := []string{"PATH=/usr/bin:/bin", "HOME=" + home, "OPENCODE_CONFIG=" + home + "/oc.json", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1"}
			return acp.New(acp.Config{Argv: []string{bin, "acp"}, Environ: env}), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite, Env: env}
		},
		Touch: func(path string) string {
			return fakemodel.Tool("bash", map[string]string{"command": "touch " + path, "description": "touch"})
		},
	})
}
