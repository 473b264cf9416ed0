package temporalclient_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// isolate hides the configuration of whoever runs the tests.
func isolate(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "TEMPORAL_") {
			t.Setenv(name, "")
			_ = os.Unsetenv(name)
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
}

func profile(t *testing.T, content string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "temporal.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", path)
}

// runsDir returns a runs directory whose engine.json leads to an address, with a key.
func runsDir(t *testing.T, address string) string {
	t.Helper()
	dir := t.TempDir()
	_, err := engine.MakeKey(dir)
	if err == nil {
		err = engine.WriteFile(dir, engine.File{Address: address, API: "https://127.0.0.1:1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// serveIn serves as the engine of a new runs directory.
func (f *fakeServer) serveIn(t *testing.T) (dir string) {
	t.Helper()
	l := listen(t)
	dir = runsDir(t, l.Addr().String())
	f.tls = lockedBy(keyOf(t, dir))
	f.serveOn(t, l)
	return dir
}

func keyOf(t *testing.T, dir string) engine.Key {
	t.Helper()
	key, err := engine.ReadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestResolve(t *testing.T) {
	const profileText = "[profile.default]\naddress = \"profile:1\"\nnamespace = \"team\"\n"
	for _, tt := range []struct {
		name    string
		env     map[string]string
		profile string
		engine  string
		own     string
		want    temporalclient.Target
	}{
		{
			name:   "an engine of one's own wins over everything",
			env:    map[string]string{"TEMPORAL_ADDRESS": "env:1", "TEMPORAL_NAMESPACE": "mine"},
			engine: "engine:1",
			own:    "own:1",
			want:   temporalclient.Target{Address: "own:1", Namespace: "default", Source: temporalclient.OwnEngine},
		},
		{
			name:    "the environment wins over profile and engine.json",
			env:     map[string]string{"TEMPORAL_ADDRESS": "env:1", "TEMPORAL_NAMESPACE": "mine"},
			profile: profileText,
			engine:  "engine:1",
			want:    temporalclient.Target{Address: "env:1", Namespace: "mine", Source: temporalclient.Configuration},
		},
		{
			name:    "a profile wins over engine.json",
			profile: profileText,
			engine:  "engine:1",
			want:    temporalclient.Target{Address: "profile:1", Namespace: "team", Source: temporalclient.Configuration},
		},
		{
			name:   "engine.json has its own namespace",
			env:    map[string]string{"TEMPORAL_NAMESPACE": "mine"},
			engine: "engine:1",
			want:   temporalclient.Target{Address: "engine:1", Namespace: "default", Source: temporalclient.EngineFile},
		},
		{
			name:   "the variables of starter env lead to the engine.json beside their key",
			env:    map[string]string{"TEMPORAL_ADDRESS": "engine:1", "TEMPORAL_NAMESPACE": "default", "TEMPORAL_TLS_CLIENT_KEY_PATH": "DIR/engine.pem"},
			engine: "engine:1",
			want:   temporalclient.Target{Address: "engine:1", Namespace: "default", Source: temporalclient.EngineFile},
		},
		{
			name:   "another server has the address of an engine that has ended",
			env:    map[string]string{"TEMPORAL_ADDRESS": "engine:1"},
			engine: "engine:1",
			want:   temporalclient.Target{Address: "engine:1", Namespace: "default", Source: temporalclient.Configuration},
		},
		{
			name:   "an empty address is none",
			env:    map[string]string{"TEMPORAL_ADDRESS": ""},
			engine: "engine:1",
			want:   temporalclient.Target{Address: "engine:1", Namespace: "default", Source: temporalclient.EngineFile},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			isolate(t)
			dir := t.TempDir()
			if tt.engine != "" {
				dir = runsDir(t, tt.engine)
			}
			for name, value := range tt.env {
				t.Setenv(name, strings.ReplaceAll(value, "DIR", dir))
			}
			if tt.profile != "" {
				profile(t, tt.profile)
			}
			got, err := temporalclient.Resolve(temporalclient.Options{Engine: tt.own, RunsDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if got.Address != tt.want.Address || got.Namespace != tt.want.Namespace || got.Source != tt.want.Source {
				t.Errorf("got %s %s (%s), want %s %s (%s)", got.Address, got.Namespace, got.Source,
					tt.want.Address, tt.want.Namespace, tt.want.Source)
			}
		})
	}
}

// A door in front of a server adds nothing to a connection: it fits only where the connection says who is there.
func TestServersThatAdmitHostsByThisOne(t *testing.T) {
	for _, tt := range []struct {
		what    string
		options temporalclient.Options
		env     map[string]string
		refusal string
	}{
		{"by its network", temporalclient.Options{}, nil, ""},
		{"by a certificate", temporalclient.Options{}, map[string]string{"TEMPORAL_TLS": "true"}, ""},
		{"by an API key", temporalclient.Options{}, map[string]string{"TEMPORAL_API_KEY": "key"}, "an API key"},
		{"by a header", temporalclient.Options{}, map[string]string{"TEMPORAL_GRPC_META_TEAM": "red"}, "headers"},
		{"an engine", temporalclient.Options{Engine: "127.0.0.1:1", Open: true}, nil, "starter up"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			isolate(t)
			t.Setenv("TEMPORAL_ADDRESS", "temporal.example.com:7233")
			t.Setenv("TEMPORAL_NAMESPACE", "red")
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			target, err := temporalclient.Resolve(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			got, err := target.Behind(engine.Key{})
			switch {
			case tt.refusal == "" && (err != nil || got.Address != "temporal.example.com:7233" || got.Namespace != "red" || (got.TLS != nil) != (tt.env != nil)):
				t.Errorf("got %+v, %v; want the server of the configuration", got, err)
			case tt.refusal != "" && (err == nil || !strings.Contains(err.Error(), tt.refusal)):
				t.Errorf("got %v, want %q", err, tt.refusal)
			}
		})
	}
}

func TestConfigurationThatCannotBeRead(t *testing.T) {
	t.Run("profile that is no TOML", func(t *testing.T) {
		isolate(t)
		profile(t, "[profile")
		saysOnALine(t, dialError(t, t.TempDir()), "temporal client configuration")
	})
	t.Run("engine.json that is torn", func(t *testing.T) {
		isolate(t)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, engine.FileName), []byte(`{"address`), 0o600); err != nil {
			t.Fatal(err)
		}
		saysOnALine(t, dialError(t, dir), engine.FileName)
	})
}

func dialError(t *testing.T, dir string) error {
	t.Helper()
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: dir})
	if err == nil {
		c.Close()
		t.Fatal("no error")
	}
	return err
}

func saysOnALine(t *testing.T, err error, say ...string) {
	t.Helper()
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %v", err)
	}
	for _, s := range say {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	const address = "127.0.0.1:1"
	for _, tt := range []struct {
		name  string
		env   string
		dir   func(t *testing.T) string
		where temporalclient.Source
		todo  string
	}{
		{"named by the environment", address, (*testing.T).TempDir, temporalclient.Configuration, "TEMPORAL_ADDRESS"},
		{"named by engine.json", "", func(t *testing.T) string { return runsDir(t, address) }, temporalclient.EngineFile, "starter up"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			isolate(t)
			t.Setenv("TEMPORAL_ADDRESS", tt.env)
			err := dialError(t, tt.dir(t))
			u, ok := errors.AsType[*temporalclient.Unreachable](err)
			if !ok || u.Address != address || u.Source != tt.where || u.Err == nil {
				t.Fatalf("error is %#v", err)
			}
			saysOnALine(t, err, address, tt.where.String(), "connection refused", tt.todo)
		})
	}
}

func TestServerThatNeverAnswers(t *testing.T) {
	isolate(t)
	t.Setenv("TEMPORAL_ADDRESS", listen(t).Addr().String())
	_, err := temporalclient.Dial(t.Context(), temporalclient.Options{Timeout: 50 * time.Millisecond})
	if u, ok := errors.AsType[*temporalclient.Unreachable](err); !ok || !u.Silent() {
		t.Errorf("error is %v", err)
	}
}

// TestAnEngineThatIsSilentHasNotEnded: its listener takes the connection, and nothing answers on it.
func TestAnEngineThatIsSilentHasNotEnded(t *testing.T) {
	isolate(t)
	_, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: runsDir(t, listen(t).Addr().String()), Timeout: 50 * time.Millisecond})
	if u, ok := errors.AsType[*temporalclient.Unreachable](err); !ok || !u.Silent() || strings.Contains(err.Error(), "has ended") {
		t.Errorf("error is %v", err)
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	isolate(t)
	t.Setenv("TEMPORAL_ADDRESS", listen(t).Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := temporalclient.Dial(ctx, temporalclient.Options{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	if _, ok := errors.AsType[*temporalclient.Unreachable](err); ok {
		t.Error("the server gets the blame for the caller's deadline")
	}
}

func TestServerThatRefusesTheClient(t *testing.T) {
	isolate(t)
	t.Setenv("TEMPORAL_ADDRESS", (&fakeServer{refuse: codes.PermissionDenied}).serve(t))
	saysOnALine(t, dialError(t, ""), "API key")
}

func TestEngineIsReachedWithoutForeignCredentials(t *testing.T) {
	isolate(t)
	t.Setenv("TEMPORAL_API_KEY", "canary")
	t.Setenv("TEMPORAL_GRPC_META_TEAM", "canary")
	f := &fakeServer{}
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: f.serveIn(t)})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, md := range f.seen {
		for name, values := range md {
			if strings.Contains(strings.Join(values, " "), "canary") {
				t.Errorf("the engine was sent %s", name)
			}
		}
	}
	if len(f.seen) == 0 {
		t.Error("the server was not asked")
	}
}

func TestConfiguredCredentialsReachTheServer(t *testing.T) {
	isolate(t)
	f := &fakeServer{}
	t.Setenv("TEMPORAL_ADDRESS", f.serve(t))
	t.Setenv("TEMPORAL_API_KEY", "key")
	t.Setenv("TEMPORAL_TLS", "false")
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if len(f.seen) == 0 || strings.Join(f.seen[0].Get("authorization"), "") != "Bearer key" {
		t.Errorf("the server saw %v", f.seen)
	}
}
