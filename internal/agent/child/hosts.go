package child

import (
	"maps"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/allow"
)

// HostsOf returns the targets of the URLs that the variables hold, or the usual one if they hold none.
func HostsOf(values map[string]string, usual string, variables ...string) []string {
	var urls []string
	for _, name := range variables {
		urls = append(urls, values[name])
	}
	if hosts := HostsOfURLs(urls...); hosts != nil {
		return hosts
	}
	return []string{usual}
}

// HostsOfURLs returns the targets of URLs. A URL that cannot be read stands for no target.
func HostsOfURLs(urls ...string) []string {
	var hosts []string
	for _, url := range urls {
		if target, err := allow.OfURL(url); err == nil {
			hosts = append(hosts, target.String())
		}
	}
	return hosts
}

// keyHosts are the APIs of models that a key opens, by the variable of the key. The first of urls that
// is set names another address.
var keyHosts = map[string]struct {
	host string
	urls []string
}{
	"ANTHROPIC_API_KEY":     {"api.anthropic.com:443", []string{"ANTHROPIC_BASE_URL"}},
	"ANTHROPIC_AUTH_TOKEN":  {"api.anthropic.com:443", []string{"ANTHROPIC_BASE_URL"}},
	"ANTHROPIC_OAUTH_TOKEN": {"api.anthropic.com:443", []string{"ANTHROPIC_BASE_URL"}},
	"OPENAI_API_KEY":        {"api.openai.com:443", []string{"OPENAI_BASE_URL"}},
	"AZURE_OPENAI_API_KEY":  {"", []string{"AZURE_OPENAI_BASE_URL"}},
	"GEMINI_API_KEY":        {"generativelanguage.googleapis.com:443", []string{"GOOGLE_GEMINI_BASE_URL"}},
	"GOOGLE_API_KEY":        {"generativelanguage.googleapis.com:443", []string{"GOOGLE_GEMINI_BASE_URL"}},
	"CEREBRAS_API_KEY":      {"api.cerebras.ai:443", nil},
	"DEEPSEEK_API_KEY":      {"api.deepseek.com:443", nil},
	"FIREWORKS_API_KEY":     {"api.fireworks.ai:443", nil},
	"GROQ_API_KEY":          {"api.groq.com:443", nil},
	"HF_TOKEN":              {"router.huggingface.co:443", nil},
	"MISTRAL_API_KEY":       {"api.mistral.ai:443", nil},
	"OPENCODE_API_KEY":      {"opencode.ai:443", nil},
	"OPENROUTER_API_KEY":    {"openrouter.ai:443", nil},
	"TOGETHER_API_KEY":      {"api.together.xyz:443", nil},
	"XAI_API_KEY":           {"api.x.ai:443", nil},
	"ZAI_API_KEY":           {"api.z.ai:443", nil},
}

// subscriptions are the hosts of a client that has no key and logs in by a subscription.
var subscriptions = []string{"api.anthropic.com:443", "console.anthropic.com:443", "platform.claude.com:443", "chatgpt.com:443", "auth.openai.com:443"}

// HostsOfKeys returns the APIs whose keys the values hold, and the hosts of subscriptions if they
// hold none. The keys of other APIs need targets that the operator names.
func HostsOfKeys(values map[string]string) []string {
	var hosts []string
	for _, name := range slices.Sorted(maps.Keys(keyHosts)) {
		key := keyHosts[name]
		if values[name] == "" {
			continue
		}
		for _, host := range HostsOf(values, key.host, key.urls...) {
			if host != "" {
				hosts = append(hosts, host)
			}
		}
	}
	if hosts == nil {
		return slices.Clone(subscriptions)
	}
	return hosts
}
