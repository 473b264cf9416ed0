package codex_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// tokenServer renews logins, each refresh token once: a second use ends the login.
type tokenServer struct {
	*httptest.Server
	mu   sync.Mutex
	used []string
}

func serveTokens(t *testing.T) *tokenServer {
	s := &tokenServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.renew))
	t.Cleanup(s.Close)
	return s
}

func (s *tokenServer) renew(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Refresh string `json:"refresh_token"`
	}
	if json.NewDecoder(r.Body).Decode(&q) != nil || !s.use(q.Refresh) {
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":{"code":"refresh_token_reused","message":"reused"}}`)
		return
	}
	json.NewEncoder(w).Encode(loginTokens(q.Refresh+"+", time.Now().Add(240*time.Hour)))
}

// use reports whether the token was not used before.
func (s *tokenServer) use(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.used, token) {
		return false
	}
	s.used = append(s.used, token)
	return true
}

// loginTokens returns the tokens of a subscription.
func loginTokens(refresh string, end time.Time) map[string]string {
	encode := func(v any) string { text, _ := json.Marshal(v); return base64.RawURLEncoding.EncodeToString(text) }
	plan := map[string]string{"chatgpt_plan_type": "pro", "chatgpt_account_id": "me", "chatgpt_user_id": "u", "user_id": "u"}
	token := encode(map[string]string{"alg": "none", "typ": "JWT"}) + "." +
		encode(map[string]any{"email": "a@b.c", "exp": end.Unix(), "https://api.openai.com/auth": plan}) + ".sig"
	return map[string]string{"id_token": token, "access_token": token, "refresh_token": refresh, "account_id": "me"}
}

// The client renews a login in the box, with a token that is good once. The user's own login is the renewed one, at once
// and for the next box.
func TestTheRealClientInTheBoxRenewsALogin(t *testing.T) {
	realClient(t)
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	model, tokens := fakemodel.Start(t), serveTokens(t)
	c := realConfig(t, model)
	c.Environ = append(c.Environ, "CODEX_REFRESH_TOKEN_URL_OVERRIDE="+tokens.URL+"/oauth/token")
	c.Allow = append(c.Allow, "CODEX_REFRESH_TOKEN_URL_OVERRIDE")
	c.Sandbox = child.Sandbox{Box: b, Network: []string{strings.TrimPrefix(model.URL, "http://"), strings.TrimPrefix(tokens.URL, "http://")}}
	home := valueOf(c.Environ, "CODEX_HOME")
	useLogin(t, home)
	for n, want := range []string{"first+", "first++"} {
		expireLogin(t, home, strings.TrimSuffix(want, "+"))
		s, err := codex.New(c).Start(t.Context(), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite, Log: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		agenttest.Watch(t, s).Turn(fakemodel.Say(fmt.Sprint("hello", n)))
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := refreshIn(t, home); got != want {
			t.Errorf("box %d: the user's login has %q, want %q", n, got, want)
		}
	}
}

// useLogin has the model ask for the login in the place of a key.
func useLogin(t *testing.T, home string) {
	t.Helper()
	path := filepath.Join(home, "config.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer("requires_openai_auth = false", "requires_openai_auth = true", "env_key = \"FAKE_MODEL_KEY\"\n", "").Replace(string(text))
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// expireLogin writes a login whose access token is over.
func expireLogin(t *testing.T, home, refresh string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"auth_mode": "chatgpt", "OPENAI_API_KEY": nil, "last_refresh": "2026-01-01T00:00:00Z",
		"tokens": loginTokens(refresh, time.Now().Add(-time.Hour)),
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "auth.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// refreshIn returns the token that renews the user's login.
func refreshIn(t *testing.T, home string) string {
	t.Helper()
	var login struct {
		Tokens struct {
			Refresh string `json:"refresh_token"`
		}
	}
	text, err := os.ReadFile(filepath.Join(home, "auth.json"))
	if err == nil {
		err = json.Unmarshal(text, &login)
	}
	if err != nil {
		t.Fatal(err)
	}
	return login.Tokens.Refresh
}
