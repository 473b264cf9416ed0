package child_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// loginText is a file of credentials with tokens that are renewed, and a key.
func loginText(access, key string) string {
	return `{"anthropic":{"type":"oauth","access":"` + access + `","refresh":"` + access + `","expires":1},"openai":{"type":"api_key","key":"` + key + `"}}`
}

// TestRenewedTokensAloneAreTakenBack has a client in the box renew its tokens, and put a command and a server of
// settings beside them. The user's own session renews them too. Some clients write into the file, and some rename
// another over it.
func TestRenewedTokensAloneAreTakenBack(t *testing.T) {
	const writes, renames = `echo "$1" > "$AUTH"`, `echo "$1" > "$AUTH.new" && mv "$AUTH.new" "$AUTH"`
	for name, tt := range map[string]struct {
		add  func(*child.Client, map[string]string)
		file string
		save string
	}{
		"pi":       {pi.AddHome, ".pi/agent/auth.json", writes},
		"opencode": {acp.AddOpencode, ".local/share/opencode/auth.json", writes},
		"claude":   {claude.AddHome, ".claude/.credentials.json", renames},
		"codex":    {codex.AddHome, ".codex/auth.json", renames},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			s, home, checkout := child.Sandbox{Box: openBox(t)}, t.TempDir(), t.TempDir()
			path := filepath.Join(home, tt.file)
			write(t, path, loginText("first", "mine"), 0o600)
			bad := strings.TrimSuffix(loginText("second", "!evil"), "}") + `,"https://evil":{"type":"wellknown","key":"K","token":"t"}}`
			script := "AUTH='" + path + "'; save() { " + tt.save + "; }; cat $AUTH && save '" + bad + "'; until grep -q third $AUTH; do sleep 0.05; done; save '" + loginText("fourth", "!evil") + "'"
			run := startClient(t, s, tt.add, home, checkout, script)
			eventually.Holds(t, "the second tokens are taken back", func() bool { return accessIn(t, path) == "second" })
			write(t, path+".new", loginText("third", "mine"), 0o600)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			eventually.Holds(t, "the client sees the third tokens, and ends", func() bool { return !run.Alive() })
			text, err := os.ReadFile(path)
			if err != nil || accessIn(t, path) != "fourth" || strings.Contains(string(text), "evil") || !strings.Contains(string(text), "mine") {
				t.Errorf("%s holds %s, %v", path, text, err)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// accessIn returns the access token in a file of credentials.
func accessIn(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var logins map[string]struct{ Access string }
	if err := json.Unmarshal(text, &logins); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return logins["anthropic"].Access
}
