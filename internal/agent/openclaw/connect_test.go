package openclaw_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/openclaw"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// connect starts and stops a session.
func connect(t *testing.T, c openclaw.Config, o agent.Options) error {
	t.Helper()
	s, err := openclaw.New(c).Start(t.Context(), o)
	if err != nil {
		return err
	}
	return s.Stop(t.Context())
}

func TestDeviceIsMadeOnceAndKept(t *testing.T) {
	g := startGateway(t, nil)
	c := g.config()
	c.KeyFile = filepath.Join(t.TempDir(), "state", "device.pem")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if m := openclaw.New(c).Manifest(t.Context()); !m.Installed {
				t.Error(m.Unavailable)
			}
		})
	}
	all.Wait()
	if err := connect(t, c, g.options(t)); err != nil {
		t.Fatal(err)
	}
	if len(g.devices) != 5 {
		t.Fatalf("%d connections", len(g.devices))
	}
	for _, d := range g.devices {
		if d != g.devices[0] {
			t.Errorf("devices %v", g.devices)
		}
	}
	info, err := os.Stat(c.KeyFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(c.KeyFile)); len(left) != 1 {
		t.Errorf("left beside the key: %v", left)
	}
}

func TestDeviceWithoutAFileLivesAsLongAsTheAdapter(t *testing.T) {
	g := startGateway(t, nil)
	one, other := openclaw.New(g.config()), openclaw.New(g.config())
	for _, a := range []agent.Adapter{one, one, other} {
		a.Manifest(t.Context())
	}
	if d := g.devices; len(d) != 3 || d[0] != d[1] || d[0] == d[2] {
		t.Errorf("devices %v", d)
	}
}

func TestDeviceKeyIsRefused(t *testing.T) {
	g := startGateway(t, nil)
	for name, spoil := range map[string]func(file string) error{
		"that others may read":   func(file string) error { return os.Chmod(file, 0o640) },
		"that is something else": func(file string) error { return os.WriteFile(file, []byte("hello"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			c := g.config()
			c.KeyFile = filepath.Join(t.TempDir(), "device.pem")
			if err := errors.Join(connect(t, c, g.options(t)), spoil(c.KeyFile)); err != nil {
				t.Fatal(err)
			}
			if err := connect(t, c, g.options(t)); !errors.Is(err, agent.ErrUnavailable) || !strings.Contains(err.Error(), c.KeyFile) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestNoGateway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for name, test := range map[string]struct{ url, says string }{
		"nobody listens":                {"ws://" + l.Addr().String(), l.Addr().String()},
		"something else listens":        {"ws" + strings.TrimPrefix(other.URL, "http"), "404"},
		"another scheme":                {"http://127.0.0.1:1", "ws or wss"},
		"a token in the address":        {"ws://127.0.0.1:1?token=s3cret", "want ws://host:port"},
		"an address that is none":       {"127.0.0.1", "want ws://host:port"},
		"another machine, in the clear": {"ws://192.0.2.1:18789", "want wss"},
	} {
		t.Run(name, func(t *testing.T) {
			c := openclaw.Config{URL: test.url, Token: "s3cret"}
			err := connect(t, c, agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite})
			if !errors.Is(err, agent.ErrUnavailable) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v", err)
			}
			m := openclaw.New(c).Manifest(t.Context())
			if m.Installed || !strings.Contains(m.Unavailable, test.says) || !strings.Contains(m.Unavailable, openclaw.URLVariable) {
				t.Errorf("manifest %+v", m)
			}
			if strings.Contains(err.Error()+m.Unavailable, "s3cret") {
				t.Errorf("the token is told: %v, %s", err, m.Unavailable)
			}
		})
	}
}

func TestAddressAndToken(t *testing.T) {
	g := startGateway(t, nil)
	right := []string{openclaw.URLVariable + "=" + g.url, openclaw.TokenVariable + "=" + g.token}
	wrong := []string{openclaw.URLVariable + "=ws://127.0.0.1:1", openclaw.TokenVariable + "=wrong"}
	for name, test := range map[string]struct {
		config openclaw.Config
		env    []string
	}{
		"by the environment":                   {openclaw.Config{Environ: right}, nil},
		"by the configuration, which wins":     {openclaw.Config{URL: g.url, Token: g.token, Environ: wrong}, nil},
		"by the session's variables, who win":  {openclaw.Config{URL: "ws://127.0.0.1:1", Token: "wrong", Environ: wrong}, right},
		"by the last of two entries of a name": {openclaw.Config{Environ: append(wrong, right...)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := g.options(t)
			o.Env = test.env
			if err := connect(t, test.config, o); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNotLetIn(t *testing.T) {
	for name, test := range map[string]struct {
		refusal object // nil: for the token
		want    failure.Error
		says    string
	}{
		"a wrong token":          {nil, failure.Error{Code: failure.Auth}, openclaw.TokenVariable},
		"a token that is echoed": {object{"code": "INVALID_REQUEST", "message": "not wr0ng-token", "details": object{"code": "AUTH_TOKEN_MISMATCH"}}, failure.Error{Code: failure.Auth}, "not [token]"},
		"a device to be paired": {
			object{"code": "NOT_PAIRED", "message": "pairing required", "details": object{"code": "PAIRING_REQUIRED", "requestId": "req-7"}},
			failure.Error{Code: failure.Auth}, "openclaw devices approve req-7",
		},
		"a device that is refused": {
			object{"code": "INVALID_REQUEST", "message": "device signature expired", "details": object{"code": "DEVICE_AUTH_SIGNATURE_EXPIRED"}},
			failure.Error{Code: failure.Auth}, "expired",
		},
		"a gateway that is starting": {
			object{"code": "UNAVAILABLE", "message": "starting", "retryable": true, "retryAfterMs": 1500, "details": object{"reason": "startup-sidecars"}},
			failure.Error{Code: failure.Unknown, Retriable: true, RetryAfter: 1500 * time.Millisecond}, "starting",
		},
		"too many attempts": {
			object{"code": "INVALID_REQUEST", "message": "slow down", "retryAfterMs": 2000, "details": object{"code": "AUTH_RATE_LIMITED"}},
			failure.Error{Code: failure.RateLimit, Retriable: true, RetryAfter: 2 * time.Second}, "slow down",
		},
		"another protocol, with details of a form of their own": {
			object{"code": "INVALID_REQUEST", "message": "protocol mismatch", "details": []int{1}}, failure.Error{Code: failure.BadRequest}, "protocol mismatch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := startGateway(t, nil)
			c := g.config()
			c.Token = "wr0ng-token"
			if test.refusal != nil {
				g.refusal, g.token = test.refusal, c.Token
			}
			err := connect(t, c, g.options(t))
			e, ok := errors.AsType[*failure.Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if e.Code != test.want.Code || e.Retriable != test.want.Retriable || e.RetryAfter != test.want.RetryAfter || !strings.Contains(e.Message, test.says) {
				t.Errorf("error %+v", e)
			}
			if m := openclaw.New(c).Manifest(t.Context()); m.Installed || strings.Contains(m.Unavailable+e.Message, c.Token) {
				t.Errorf("error %v, manifest %+v", e, m)
			}
		})
	}
}

// TestAddressThatNeverWelcomes has a gateway that says nothing: the context
// bounds the wait.
func TestAddressThatNeverWelcomes(t *testing.T) {
	g := startGateway(t, nil)
	g.mute = true
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := openclaw.New(g.config()).Start(ctx, g.options(t)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

func TestConnectAsksForNoMoreThanItNeeds(t *testing.T) {
	g := startGateway(t, nil)
	if err := connect(t, g.config(), g.options(t)); err != nil {
		t.Fatal(err)
	}
	var p struct {
		Client struct{ ID string }
		Scopes []string
	}
	if err := json.Unmarshal(g.got("connect")[0], &p); err != nil {
		t.Fatal(err)
	}
	if p.Client.ID == "gateway-client" || strings.Contains(strings.Join(p.Scopes, " "), "admin") {
		t.Errorf("connected as %s with %v", p.Client.ID, p.Scopes)
	}
}

func TestConnectNeedsAllItAsksFor(t *testing.T) {
	g := startGateway(t, nil)
	g.grants = []string{"operator.read", "operator.write", "operator.pairing"}
	e, ok := errors.AsType[*failure.Error](connect(t, g.config(), g.options(t)))
	if !ok || e.Code != failure.Auth || !strings.HasSuffix(e.Message, "does not grant operator.approvals") {
		t.Errorf("error %v", e)
	}
	g.grants = append(g.grants, "operator.approvals")
	if err := connect(t, g.config(), g.options(t)); err != nil {
		t.Error(err)
	}
}
