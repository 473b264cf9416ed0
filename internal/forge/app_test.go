package forge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
)

// openApp is open for a server on which the token is that of an app.
func openApp(t *testing.T, life time.Duration) (*forgetest.Server, *forge.Client, *forge.App) {
	t.Helper()
	s, _, _ := open(t, forge.GitHub)
	app, err := forge.OpenApp(forgetest.AppID, s.InstallApp(t, life))
	if err != nil {
		t.Fatal(err)
	}
	repo, err := forge.ParseRemote(s.Remote())
	if err != nil {
		t.Fatal(err)
	}
	c, err := forge.Server{Kind: forge.GitHub, URL: s.URL, App: app}.Open(repo)
	if err != nil {
		t.Fatal(err)
	}
	return s, c, app
}

// An app makes one token for all calls, and another shortly before its end, or when the server refuses it.
func TestTokensOfAnApp(t *testing.T) {
	for name, tc := range map[string]struct {
		life   time.Duration
		expire bool
		want   int
	}{"for an hour": {time.Hour, false, 1}, "that ends soon": {5 * time.Minute, false, 3}, "that ended before its time": {time.Hour, true, 3}} {
		s, c, app := openApp(t, tc.life)
		for range 3 {
			info, err := c.Info(t.Context())
			if err != nil || !info.MayPush {
				t.Fatalf("%s: got %+v, %v; want a right to push", name, info, err)
			}
			if tc.expire {
				s.ExpireTokens()
			}
		}
		if n := len(s.AppTokens()); n != tc.want {
			t.Errorf("%s: got %d tokens for 3 calls, want %d", name, n, tc.want)
		}
		if list := app.Tokens(); len(list) != 1 || !strings.HasPrefix(list[0], "ghs_") {
			t.Errorf("%s: the app keeps %d tokens, want the last", name, len(list))
		}
	}
}

// An app acts by its own account, and may what its installation may.
func TestWhatAnAppMay(t *testing.T) {
	s, c, _ := openApp(t, 5*time.Minute)
	if me, err := c.Me(t.Context()); err != nil || me != forgetest.AppMe {
		t.Errorf("got account %q, %v; want %q", me, err, forgetest.AppMe)
	}
	if c.MayChangeWorkflows() {
		t.Error("it may change workflows without the permission")
	}
	s.GrantApp("workflows", "write")
	if user, password, err := c.Credentials(t.Context()); err != nil || user != "x-access-token" || !strings.HasPrefix(password, "ghs_") || !c.MayChangeWorkflows() {
		t.Errorf("got account %q, %v, workflows %v; want the permission", user, err, c.MayChangeWorkflows())
	}
	s.GrantApp("contents", "read")
	if info, err := c.Info(t.Context()); err != nil || info.MayPush {
		t.Errorf("got %+v, %v; want no right to push", info, err)
	}
	s.RemoveApp()
	if _, err := c.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "is not installed in") {
		t.Errorf("removed: got %v, want that it is not installed", err)
	}
}

// The key of another app makes no token.
func TestKeysThatAreRefused(t *testing.T) {
	s, _, _ := openApp(t, time.Hour)
	old, err := forge.OpenApp(forgetest.AppID, s.InstallApp(t, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	s.InstallApp(t, time.Hour)
	repo, _ := forge.ParseRemote(s.Remote())
	c, err := forge.Server{Kind: forge.GitHub, URL: s.URL, App: old}.Open(repo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Info(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "401 ") {
		t.Errorf("got %v, want a refusal", err)
	}
	for _, key := range []string{"", "a-token-0123456789", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"} {
		if _, err := forge.OpenApp("1", []byte(key)); err == nil || strings.Contains(err.Error(), "AAAA") {
			t.Errorf("%q: got %v, want a refusal without the key", key, err)
		}
	}
}
