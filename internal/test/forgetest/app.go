package forgetest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// AppID is the id of the server's app, and AppMe the account of its tokens.
const (
	AppID = "Iv23test"
	AppMe = "ratchet-app[bot]"
)

// app is a GitHub App that is installed in the repository.
type app struct {
	key         *rsa.PublicKey
	installed   bool
	permissions map[string]string
	life        time.Duration
	ends        map[string]time.Time // of its tokens
}

// InstallApp installs the app, whose tokens live for so long, and returns its private key.
func (s *Server) InstallApp(t *testing.T, life time.Duration) (key []byte) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s.set(func() {
		s.app = &app{&private.PublicKey, true, map[string]string{"contents": "write", "pull_requests": "write", "metadata": "read"}, life, map[string]time.Time{}}
	})
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
}

// GrantApp gives the app another permission for tokens to come.
func (s *Server) GrantApp(permission, level string) {
	s.set(func() { s.app.permissions[permission] = level })
}

// RemoveApp removes the app from the repository.
func (s *Server) RemoveApp() { s.set(func() { s.app.installed = false }) }

// ExpireTokens ends all tokens of the app before their time.
func (s *Server) ExpireTokens() {
	s.set(func() {
		for token := range s.app.ends {
			s.app.ends[token] = time.Now()
		}
	})
}

// AppTokens returns all tokens that the app has got so far.
func (s *Server) AppTokens() (list []string) {
	s.set(func() {
		if s.app != nil {
			list = slices.Collect(maps.Keys(s.app.ends))
		}
	})
	return list
}

// admits reports whether a token is valid now.
func (s *Server) admits(token string) (ok bool) {
	s.set(func() { ok = s.app == nil && token == Token || s.app != nil && time.Now().Before(s.app.ends[token]) })
	return ok
}

// serveApp answers what an app asks by its own word; false: the call is another.
func (s *Server) serveApp(w http.ResponseWriter, r *http.Request, path string) bool {
	if path != "/installation" && path != "/app/installations/17/access_tokens" {
		return false
	}
	var in struct{ Repositories []string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r.Method+" app")
	switch {
	case s.app == nil || !s.app.signed(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")):
		answer(w, http.StatusUnauthorized, message("A JSON web token could not be decoded"))
	case !s.app.installed:
		answer(w, http.StatusNotFound, message("Not Found"))
	case path == "/installation":
		answer(w, http.StatusOK, map[string]any{"id": 17, "app_slug": strings.TrimSuffix(AppMe, "[bot]")})
	case len(in.Repositories) != 1 || in.Repositories[0] != Name:
		answer(w, http.StatusUnprocessableEntity, message("a token for more than the repository"))
	default:
		token, end := "ghs_"+rand.Text()+rand.Text(), time.Now().Add(s.app.life)
		s.app.ends[token] = end
		answer(w, http.StatusCreated, map[string]any{"token": token, "expires_at": end.UTC().Format(time.RFC3339), "permissions": s.app.permissions})
	}
	return true
}

// signed verifies a JSON web token as GitHub does.
func (a *app) signed(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return false
	}
	var head struct{ Alg string }
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	for i, out := range []any{&head, &claims} {
		b, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(b, out) != nil {
			return false
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum, now := sha256.Sum256([]byte(parts[0]+"."+parts[1])), time.Now().Unix()
	return err == nil && head.Alg == "RS256" && claims.Iss == AppID && claims.Iat <= now && claims.Exp > now && claims.Exp <= now+600 &&
		rsa.VerifyPKCS1v15(a.key, crypto.SHA256, sum[:], signature) == nil
}
