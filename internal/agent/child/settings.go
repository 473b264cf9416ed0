package child

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pelletier/go-toml/v2"
)

// Where a client's settings name another API than the usual one, the box lets the client reach it. The files are the
// user's own: no program in a box can write them. A file that is missing or cannot be read names no API, and the client
// itself reports what is wrong with it.

// readSettings returns a client's file of settings; it is empty where there is none.
func readSettings(path string) []byte {
	text, _ := os.ReadFile(path)
	return text
}

// ClaudeHosts returns the hosts of the API that Claude Code asks. The variables in its settings win over its environment.
func ClaudeHosts(values map[string]string) []string {
	var settings struct{ Env map[string]string }
	_ = json.Unmarshal(readSettings(filepath.Join(homeOf(values, "CLAUDE_CONFIG_DIR", ".claude"), "settings.json")), &settings)
	values = maps.Clone(values)
	maps.Copy(values, settings.Env)
	return HostsOf(values, "api.anthropic.com:443",
		"ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL")
}

// CodexHosts returns the hosts of the API that Codex asks: of the provider that its configuration chooses, else OpenAI's.
func CodexHosts(values map[string]string) []string {
	type choice struct {
		Provider string `toml:"model_provider"`
		OpenAI   string `toml:"openai_base_url"`
		ChatGPT  string `toml:"chatgpt_base_url"`
	}
	var config struct {
		choice
		Profile   string            `toml:"profile"`
		Profiles  map[string]choice `toml:"profiles"`
		Providers map[string]struct {
			URL string `toml:"base_url"`
		} `toml:"model_providers"`
	}
	_ = toml.Unmarshal(readSettings(filepath.Join(homeOf(values, "CODEX_HOME", ".codex"), "config.toml")), &config)
	chosen := config.choice
	if p := config.Profiles[config.Profile]; p.Provider != "" {
		chosen.Provider = p.Provider
	}
	if url := config.Providers[chosen.Provider].URL; url != "" {
		return hostsOfURLs(url, config.ChatGPT)
	}
	usual := HostsOf(map[string]string{"": config.OpenAI, "OPENAI_BASE_URL": values["OPENAI_BASE_URL"]}, "api.openai.com:443", "", "OPENAI_BASE_URL")
	return append(usual, hostsOfURLs(config.ChatGPT)...)
}

// OpencodeHosts returns the hosts that opencode's configuration names for the APIs of its providers.
func OpencodeHosts(values map[string]string) []string {
	dir := filepath.Join(homeOf(values, "XDG_CONFIG_HOME", ".config"), "opencode")
	texts := [][]byte{[]byte(values["OPENCODE_CONFIG_CONTENT"]), readSettings(values["OPENCODE_CONFIG"])}
	for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
		texts = append(texts, readSettings(filepath.Join(dir, name)))
	}
	var urls []string
	for _, text := range texts {
		var config struct {
			Provider map[string]struct {
				API     string
				Options struct {
					BaseURL string `json:"baseURL"`
				}
			}
		}
		_ = json.Unmarshal(plainJSON(text), &config)
		for _, p := range config.Provider {
			urls = append(urls, expandEnv(p.API, values), expandEnv(p.Options.BaseURL, values))
		}
	}
	return hostsOfURLs(urls...)
}

// PiHosts returns the hosts that pi's models.json names for the APIs of its providers.
func PiHosts(values map[string]string) []string {
	values = maps.Clone(values)
	values["PI_CODING_AGENT_DIR"] = ExpandHome(values["PI_CODING_AGENT_DIR"], values["HOME"])
	var models struct {
		Providers map[string]struct {
			URL string `json:"baseUrl"`
		}
	}
	_ = json.Unmarshal(plainJSON(readSettings(filepath.Join(homeOf(values, "PI_CODING_AGENT_DIR", ".pi/agent"), "models.json"))), &models)
	var urls []string
	for _, p := range models.Providers {
		urls = append(urls, p.URL)
	}
	return hostsOfURLs(urls...)
}

// homeOf returns the directory that a variable names, or the one below HOME.
func homeOf(values map[string]string, variable, dir string) string {
	if path := values[variable]; path != "" {
		return path
	}
	return filepath.Join(values["HOME"], dir)
}

var (
	jsonComments = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|//[^\n]*|/\*[\s\S]*?\*/`)
	jsonCommas   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|,\s*[}\]]`)
	envReference = regexp.MustCompile(`\{env:([^}]*)\}`)
)

// plainJSON returns JSON without the comments and the commas before a closing bracket that clients allow.
func plainJSON(text []byte) []byte {
	text = jsonComments.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[0] == '/' {
			return []byte(" ")
		}
		return m
	})
	return jsonCommas.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[0] == ',' {
			return m[len(m)-1:]
		}
		return m
	})
}

// expandEnv returns a text with the values of the variables that it names as opencode does.
func expandEnv(text string, values map[string]string) string {
	return envReference.ReplaceAllStringFunc(text, func(m string) string { return values[envReference.FindStringSubmatch(m)[1]] })
}
