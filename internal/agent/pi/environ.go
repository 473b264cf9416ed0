package pi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// passedNames are the variables of ours that pi and its commands see: variables
// that a program needs, those by which it reaches the network, and the keys of
// the models that pi knows. Names with one of the passedPrefixes are passed as
// well.
var (
	passedNames = []string{
		"PATH", "HOME", "USER", "LANG", "TMPDIR", "TERM",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY",
		"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_RESOURCE_NAME", "AZURE_OPENAI_API_VERSION",
		"AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "GOOGLE_CLOUD_API_KEY", "COPILOT_GITHUB_TOKEN",
		"AI_GATEWAY_API_KEY", "ANT_LING_API_KEY", "BASETEN_API_KEY", "CEREBRAS_API_KEY",
		"CLOUDFLARE_API_KEY", "CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID", "DEEPSEEK_API_KEY", "FIREWORKS_API_KEY",
		"GROQ_API_KEY", "HF_TOKEN", "KIMI_API_KEY", "META_API_KEY", "MINIMAX_API_KEY", "MINIMAX_CN_API_KEY",
		"MISTRAL_API_KEY", "MOONSHOT_API_KEY", "NVIDIA_API_KEY", "OPENCODE_API_KEY", "OPENROUTER_API_KEY",
		"QWEN_TOKEN_PLAN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY", "RADIUS_API_KEY", "TOGETHER_API_KEY", "XAI_API_KEY",
		"XIAOMI_API_KEY", "XIAOMI_TOKEN_PLAN_AMS_API_KEY", "XIAOMI_TOKEN_PLAN_CN_API_KEY", "XIAOMI_TOKEN_PLAN_SGP_API_KEY",
		"ZAI_API_KEY", "ZAI_CODING_CN_API_KEY",
	}
	passedPrefixes = []string{"LC_", "PI_"}
)

// strippedNames say which session a program belongs to. If we run in a command of
// another pi, they name that session: a program that believed them would act in
// its name (docs/contracts/dispatch.md, 5).
var strippedNames = []string{
	"PI_SESSION_ID", "PI_AGENT_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL", "PI_CODING_AGENT",
}

const (
	homeVariable     = "PI_CODING_AGENT_DIR"
	sessionsVariable = "PI_CODING_AGENT_SESSION_DIR"
)

// piEnviron returns the whole environment of pi. It switches off actions that pi
// was not asked for; the entries of o win.
func (a *adapter) piEnviron(o agent.Options) []string {
	ours := child.ParseEnviron(a.Environ)
	for _, name := range strippedNames {
		delete(ours, name)
	}
	extra := map[string]string{"PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
	theirs := child.ParseEnviron(o.Env)
	if a.Trust == TrustNobody {
		extra["PI_OFFLINE"] = "1" // otherwise it fetches programs and lists of models
		extra[sessionsVariable] = sessionsDir(o.Dir, ours, theirs)
	}
	maps.Copy(extra, theirs)
	return child.BuildEnviron(ours, slices.Concat(passedNames, a.Allow), passedPrefixes, extra)
}

// sessionsDir returns the directory in which pi keeps the sessions of a working
// directory. It is set explicitly, because the settings of a project can name
// another place even if nothing of the project is trusted. A place within the
// checkout would make the transcript part of its changes. Where the user names a
// directory for all sessions, this is one in it: a box shows no others.
func sessionsDir(dir string, ours, theirs map[string]string) string {
	value := func(name string) string { return cmp.Or(theirs[name], ours[name]) }
	home := cmp.Or(value(homeVariable), "~/.pi/agent")
	sessions := expandHome(cmp.Or(ours[sessionsVariable], filepath.Join(home, "sessions")), value("HOME"))
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	name := strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimPrefix(dir, "/"))
	return filepath.Join(sessions, "--"+name+"--")
}

// ArgvVariable names the variable that holds the command line of pi, if it is not pi on PATH.
const ArgvVariable = "RATCHET_PI"

// Argv returns the command line of pi that an environment names.
func Argv(environ []string) ([]string, error) {
	line := child.ParseEnviron(environ)[ArgvVariable]
	if line == "" {
		return []string{"pi"}, nil
	}
	argv, err := shellquote.Split(line)
	if err == nil && len(argv) == 0 {
		err = errors.New("no program given")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ArgvVariable, err)
	}
	return argv, nil
}
