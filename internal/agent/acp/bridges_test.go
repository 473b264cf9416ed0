package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// node is the command line of a script that a variable names, for the Node of
// NODE_BIN. These agents are for who tries them by hand: no CI installs them,
// and what is not set is skipped there, too.
func node(t *testing.T, variable string, args ...string) (argv []string, path string) {
	t.Helper()
	need.Suite(t, need.Nightly)
	node, script := os.Getenv("NODE_BIN"), os.Getenv(variable)
	if node == "" || script == "" { // not installed by any tier: the bridges are other projects' programs
		t.Skip("needs the variables NODE_BIN and " + variable)
	}
	return append([]string{node, script}, args...), "PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH")
}

// TestTheBridgeToClaudeCode is run with CLAUDE_ACP_JS, the dist/index.js of
// @agentclientprotocol/claude-agent-acp.
func TestTheBridgeToClaudeCode(t *testing.T) {
	argv, path := node(t, "CLAUDE_ACP_JS")
	runReal(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			return acp.New(acp.Config{
				Greeting: acp.Greeting{Unboxed: true},
				Argv:     argv, Allow: []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"},
				Environ: []string{
					path, "HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=" + model.URL, "ANTHROPIC_API_KEY=sk-ant-dummy",
					"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
				},
			}), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: func(path string) string {
			return fakemodel.Tool("Write", object{"file_path": path, "content": "made"})
		},
	})
}

// TestGemini is run with GEMINI_JS, the bundle/gemini.js of @google/gemini-cli.
func TestGemini(t *testing.T) {
	argv, path := node(t, "GEMINI_JS", "--acp", "-m", "gemini-2.5-flash")
	runSuite(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			home := t.TempDir()
			write(t, filepath.Join(home, ".gemini", "settings.json"), object{
				"security": object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
				"privacy":  object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
				"general": object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
				"model":   object{"disableLoopDetection": true},
			})
			return acp.New(acp.Config{
				Greeting: acp.Greeting{Unboxed: true},
				Argv:     argv, Allow: []string{"GOOGLE_GEMINI_BASE_URL", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_TRUST_WORKSPACE"},
				Environ: []string{
					path, "HOME=" + home, "TMPDIR=" + t.TempDir(), "GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + speakGemini(t, model.Model),
					"GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true",
				},
			}), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: func(path string) string {
			return fakemodel.Tool("run_shell_command", object{"command": "touch " + path})
		},
	})
}

// TestTheBridgeToCodex is run with CODEX_ACP_JS, the dist/index.js of
// @agentclientprotocol/codex-acp.
func TestTheBridgeToCodex(t *testing.T) {
	argv, path := node(t, "CODEX_ACP_JS")
	runReal(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			home := t.TempDir()
			write(t, filepath.Join(home, "config.toml"), strings.Join([]string{
				`model = "fake-model"`, `model_provider = "fake"`, `approval_policy = "on-request"`, `sandbox_mode = "read-only"`,
				`check_for_update_on_startup = false`, `[analytics]`, `enabled = false`,
				`[model_providers.fake]`, `name = "fake"`, fmt.Sprintf("base_url = %q", model.URL+"/v1"), `wire_api = "responses"`, `env_key = "FAKE_KEY"`,
			}, "\n"))
			return acp.New(acp.Config{
				Greeting: acp.Greeting{Unboxed: true},
				Argv:     argv, Allow: []string{"FAKE_KEY", "NO_BROWSER"},
				Environ: []string{path, "HOME=" + home, "CODEX_HOME=" + home, "FAKE_KEY=dummy", "NO_BROWSER=1"},
			}), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: func(path string) string {
			return fakemodel.Tool("exec_command", object{"cmd": "touch " + path, "sandbox_permissions": "require_escalated", "justification": "to see"})
		},
	})
}
