package workflows_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// As a program the test binary is a provider or a check that shouts out all secrets that it is given.
const (
	leakyProvider = "leaky-provider"
	leakyCheck    = "leaky-check"
)

// canaryNames are variables of the worker that hold secrets.
var canaryNames = []string{
	"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "OPENROUTER_API_KEY", "AZURE_OPENAI_KEY",
	"GITHUB_TOKEN", "GH_TOKEN", "GITLAB_PAT", "NPM_TOKEN", "PYPI_TOKEN", "CARGO_REGISTRY_TOKEN", "DOCKER_PASSWORD", "DOCKER_AUTH_CONFIG",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GOOGLE_CREDENTIALS", "AZURE_CLIENT_SECRET", "CLOUDFLARE_API_TOKEN",
	"DATABASE_URL", "HTTPS_PROXY", "REDIS_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "SENTRY_DSN", "SLACK_BOT_TOKEN", "JWT_SIGNING_KEY",
	"TEMPORAL_API_KEY", "SSH_PASSPHRASE",
}

// core is in every canary: where it is found a secret leaked, or a part of one.
const core = `cnry"7Q/x+<ü>&`

func canary(name string) string { return core + "-" + strings.ToLower(name) }

// leakyEnviron is the environment of a worker that holds the canaries: two within URLs, the others as they are.
func leakyEnviron() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HARMLESS=harmless"}
	for _, name := range canaryNames {
		value := canary(name)
		if strings.HasSuffix(name, "_URL") || strings.HasSuffix(name, "_PROXY") {
			value = (&url.URL{Scheme: "https", User: url.UserPassword("app", value), Host: "db.example:5432", Path: "/x"}).String()
		}
		env = append(env, name+"="+value)
	}
	return env
}

// leaks are the secrets of this process's environment, one a line, in every
// way of writing that happens by itself.
func leaks() string {
	var b strings.Builder
	for _, name := range canaryNames {
		if _, there := os.LookupEnv(name); !there {
			continue
		}
		c := canary(name)
		once := quoted(c)
		for _, form := range []string{
			c, once, quoted(once), url.QueryEscape(c), url.PathEscape(c),
			hex.EncodeToString([]byte(c)), strings.ToUpper(hex.EncodeToString([]byte(c))),
			base64.StdEncoding.EncodeToString([]byte(c)), base64.URLEncoding.EncodeToString([]byte("x" + c + "?")),
			base64.RawStdEncoding.EncodeToString([]byte("xy" + c + ">>")),
		} {
			fmt.Fprintf(&b, "the key is %s.\n", form)
		}
	}
	return b.String()
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// checkLeaks prints the environment and the secrets in it, and ends with the
// exit code that it is told. With "names" it prints the names of its variables only.
func checkLeaks(out io.Writer, args []string) int {
	env := os.Environ()
	slices.Sort(env)
	if args[0] == "names" {
		for _, entry := range env {
			name, _, _ := strings.Cut(entry, "=")
			fmt.Fprintln(out, name)
		}
		return 0
	}
	fmt.Fprintf(out, "%s\n%s", strings.Join(env, "\n"), leaks())
	if args[0] == "fail" {
		return 1
	}
	return 0
}

// provideLeaks answers as the id of the run says, with the secrets in all of its answer.
func provideLeaks(in io.Reader, out, complain io.Writer) int {
	var req provider.Request
	if err := json.NewDecoder(in).Decode(&req); err != nil {
		fmt.Fprintln(complain, err)
		return 2
	}
	fmt.Fprint(complain, leaks())
	said := answerOf(req)
	if said == nil {
		fmt.Fprint(out, leaks())
		return 3
	}
	fmt.Fprint(out, *said)
	if req.RunID == "canceled" {
		time.Sleep(math.MaxInt64) // until it is killed; select {} would end a program without cgo as a deadlock
	}
	return 0
}

// answerOf is nil for a call that breaks off.
func answerOf(req provider.Request) *string {
	text := leaks()
	switch req.Phase {
	case run.Plan:
		text = "# Plan with " + canary(canaryNames[0]) + "\n\n" + text
	case run.Evaluate:
		text = "DECISION: PASS\n" + text
		if req.Iteration == 1 {
			text = "DECISION: FIX\n" + strings.ReplaceAll(text, "DECISION: PASS\n", "")
		}
	default:
		return developed(req, text)
	}
	return &text
}

func developed(req provider.Request, text string) *string {
	key := canary(canaryNames[1])
	switch {
	case req.RunID == "provider-error" && req.Phase == run.Execute && req.Call == 1:
		if _, err := os.Lstat("tried"); err != nil {
			_ = os.WriteFile("tried", nil, 0o600)
			return nil
		}
		b, _ := json.Marshal(map[string]any{"rawText": text, "error": map[string]any{"code": "AUTH", "message": "401: bad key " + key + "\n" + text}})
		text = string(b)
	case req.RunID == "provider-error" && req.Phase == run.Execute:
		text = "I cannot say. " + text
	case req.RunID == "provider-error" && req.Iteration == 2:
		text = patchOf(key, "--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-"+key+"\n+x\n")
	case req.RunID == "question" && req.Call == 1:
		text = "<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: is " + key + " right?\nreason: " + key + "\nneeded_input:\n- " + key + "\n<<<AIO_RESULT_END>>>\n" + text
	case req.Phase == run.Fix && req.RunID != "provider-error" || req.RunID == "question":
		text = "<<<AIO_RESULT_START>>>\ntype: NOOP\nreason: " + key + " is there\n<<<AIO_RESULT_END>>>\n"
	case req.RunID != "control": // a patch that adds a secret would be refused
		text += patchOf(key, "--- /dev/null\n+++ b/leak.txt\n@@ -0,0 +1 @@\n+nothing\n")
	default:
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		text = patchOf(key, fmt.Sprintf("--- /dev/null\n+++ b/leak.txt\n@@ -0,0 +1,%d @@\n+%s\n", len(lines), strings.Join(lines, "\n+")))
	}
	return &text
}

func patchOf(key, diff string) string {
	return "<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: write " + key + "\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n"
}

// program is the spec of the provider and the command of the check.
func program(as string, args ...string) string {
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		panic(err)
	}
	return strings.Join(append([]string{self, as}, args...), " ")
}
