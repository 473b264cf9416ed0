package fakemodel

import (
	"fmt"
	"os"
	"path/filepath"
)

// CodexConfig returns a config.toml by which Codex asks the model at the address, and reaches nothing else.
func CodexConfig(address string) string { return fmt.Sprintf(codexConfig, address) }

// OpencodeConfig returns an opencode.json by which opencode asks the model at the address, and a person before each use
// of a tool.
func OpencodeConfig(address string) string { return fmt.Sprintf(opencodeConfig, address) }

// SettleOpencode prepares a home for opencode, which installs the package for its plugins from the registry of npm,
// in the background of each start, until the directory of its configuration has it (internal/agent/acp/CLIENT.md, 4).
func SettleOpencode(home string) error {
	dir := filepath.Join(home, ".config", "opencode")
	if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(`{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`), 0o600)
}

const codexConfig = `model = "fake-model"
model_provider = "fake"
model_reasoning_summary = "none"
check_for_update_on_startup = false
web_search = "disabled"
[model_providers.fake]
name = "fake"
base_url = "%s/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[feedback]
enabled = false
[agents]
enabled = false
[features]
plugins = false
apps = false
remote_plugin = false
shell_snapshot = false
goals = false
enable_request_compression = false
`

const opencodeConfig = `{"model":"fake/fake-model","small_model":"fake/fake-model","autoupdate":false,"share":"disabled","enabled_providers":["fake"],
"provider":{"fake":{"name":"Fake","npm":"@ai-sdk/openai-compatible","options":{"baseURL":"%s/v1","apiKey":"dummy"},
"models":{"fake-model":{"name":"Fake","tool_call":true,"limit":{"context":200000,"output":8000},"cost":{"input":3,"output":15}}}}},
"permission":{"edit":"ask","bash":"ask","external_directory":"ask"}}`
