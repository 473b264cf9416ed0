package temporalclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

const notTheEngine = "another program listens there"

// TestStrangerAtTheEnginesAddress has another program where engine.json, or what `starter env` prints, says that the
// engine is: it hears no call. Finding B2.
func TestStrangerAtTheEnginesAddress(t *testing.T) {
	for _, tt := range []struct {
		name string
		tls  func() *tls.Config
	}{
		{"speaks no TLS", func() *tls.Config { return nil }},
		{"has a certificate of its own", func() *tls.Config { return &tls.Config{Certificates: newKey(t).TLS().Certificates} }},
		{"asks for a certificate", func() *tls.Config {
			return &tls.Config{Certificates: newKey(t).TLS().Certificates, ClientAuth: tls.RequireAnyClientCert}
		}},
		{"is the engine of another", func() *tls.Config { return lockedBy(newKey(t)) }},
	} {
		for _, by := range []string{"engine.json", "the variables"} {
			t.Run(tt.name+" by "+by, func(t *testing.T) {
				isolate(t)
				f := &fakeServer{tls: tt.tls()}
				dir := runsDir(t, f.serve(t))
				if by == "the variables" {
					path := keyOf(t, dir).Path
					t.Setenv("TEMPORAL_ADDRESS", addressIn(t, dir))
					for _, name := range []string{"TEMPORAL_TLS_CLIENT_CERT_PATH", "TEMPORAL_TLS_CLIENT_KEY_PATH", "TEMPORAL_TLS_SERVER_CA_CERT_PATH"} {
						t.Setenv(name, path)
					}
					dir = t.TempDir()
				}
				err := dialError(t, dir)
				if _, ok := errors.AsType[*temporalclient.Unreachable](err); !ok {
					t.Errorf("error is %#v", err)
				}
				saysOnALine(t, err, notTheEngine, "starter up --port 0")
				if told := f.called(); len(told) > 0 {
					t.Errorf("it was told %q", told)
				}
			})
		}
	}
}

func addressIn(t *testing.T, dir string) string {
	t.Helper()
	f, err := engine.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f.Address
}

// count tells the server a secret. The SDK tries again for as long as the context lets it.
func count(t *testing.T, c client.Client, patience time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: "Goal = 'secret'"})
	return err
}

// TestStrangerThatTakesThePortOfADeadEngine must neither feed a client of that engine nor hear from it. Finding B2.
func TestStrangerThatTakesThePortOfADeadEngine(t *testing.T) {
	isolate(t)
	l := listen(t)
	address := l.Addr().String()
	dir := runsDir(t, address)
	die := (&fakeServer{tls: lockedBy(keyOf(t, dir))}).serveOn(t, l)
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := count(t, c, time.Minute); err != nil {
		t.Fatal(err)
	}
	die()

	for _, config := range []*tls.Config{nil, {Certificates: newKey(t).TLS().Certificates, ClientAuth: tls.RequireAnyClientCert}} {
		if l, err = net.Listen("tcp", address); err != nil {
			t.Skipf("somebody else took the port: %v", err)
		}
		thief := &fakeServer{tls: config}
		leave := thief.serveOn(t, l)
		if err := count(t, c, 300*time.Millisecond); err == nil {
			t.Error("its answer was believed")
		}
		if told := thief.called(); len(told) > 0 {
			t.Errorf("it was told %q", told)
		}
		leave()
	}

	if l, err = net.Listen("tcp", address); err != nil {
		t.Skipf("somebody else took the port: %v", err)
	}
	(&fakeServer{tls: lockedBy(keyOf(t, dir))}).serveOn(t, l)
	if err := count(t, c, time.Minute); err != nil {
		t.Errorf("the engine is back: %v", err)
	}
}

// TestAnEngineOfTheCallersOwn is known by its key, too.
func TestAnEngineOfTheCallersOwn(t *testing.T) {
	isolate(t)
	key := newKey(t)
	for who, f := range map[string]*fakeServer{"engine": {tls: lockedBy(key)}, "stranger": {}} {
		c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Engine: f.serve(t), Key: key})
		if err == nil {
			c.Close()
		}
		if (who == "engine") != (err == nil) {
			t.Errorf("%s: %v", who, err)
		}
	}
}

// TestKnock asks the engine of a directory, whatever the configuration names.
func TestKnock(t *testing.T) {
	isolate(t)
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	dir := (&fakeServer{}).serveIn(t)
	if f, err := temporalclient.Knock(t.Context(), dir); err != nil || f.Open {
		t.Errorf("a locked engine: %+v, %v", f, err)
	}
	open := runsDir(t, (&fakeServer{}).serve(t))
	if err := engine.WriteFile(open, engine.File{Address: addressIn(t, open), API: "https://127.0.0.1:1", Open: true}); err != nil {
		t.Fatal(err)
	}
	if f, err := temporalclient.Knock(t.Context(), open); err != nil || !f.Open {
		t.Errorf("an open engine: %+v, %v", f, err)
	}
	_, err := temporalclient.Knock(t.Context(), runsDir(t, (&fakeServer{}).serve(t)))
	saysOnALine(t, err, notTheEngine)
}

func TestCredentials(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"none", nil, ""},
		{"an API key turns TLS on", map[string]string{"TEMPORAL_API_KEY": "k"}, "TLS, an API key"},
		{"an API key in clear", map[string]string{"TEMPORAL_API_KEY": "k", "TEMPORAL_TLS": "false"}, "an API key"},
		{"TLS alone", map[string]string{"TEMPORAL_TLS": "true"}, "TLS"},
		{"a header", map[string]string{"TEMPORAL_GRPC_META_AUTHORIZATION": "Bearer x"}, "headers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			isolate(t)
			t.Setenv("TEMPORAL_ADDRESS", "server:1")
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			target, err := temporalclient.Resolve(temporalclient.Options{})
			if err != nil || target.Credentials() != tt.want {
				t.Errorf("%q, %v; want %q", target.Credentials(), err, tt.want)
			}
		})
	}
}

// TestNothingNamesAnEngine: what listens at Temporal's usual port is nobody's business. Finding B10.
func TestNothingNamesAnEngine(t *testing.T) {
	isolate(t)
	t.Setenv("TEMPORAL_NAMESPACE", "mine")
	for _, dir := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		err := dialError(t, dir)
		if u, ok := errors.AsType[*temporalclient.Unreachable](err); !ok || u.Source != temporalclient.Nowhere {
			t.Errorf("error is %#v", err)
		}
		saysOnALine(t, err, dir, "starter up", "--runs-dir", "TEMPORAL_ADDRESS")
	}
}

// TestEngineFileThatOthersMayHaveWritten is not believed. Findings B2 and B10.
func TestEngineFileThatOthersMayHaveWritten(t *testing.T) {
	isolate(t)
	f := &fakeServer{}
	address := f.serve(t)
	file := func(dir string) string { return filepath.Join(dir, engine.FileName) }
	for _, tt := range []struct {
		name  string
		spoil func(dir string) error
		say   string
	}{
		{"everybody can read it", func(dir string) error { return os.Chmod(file(dir), 0o644) }, "other users"},
		{"the group can write it", func(dir string) error { return os.Chmod(file(dir), 0o620) }, "other users"},
		{"it is a link to one", func(dir string) error {
			return errors.Join(os.Remove(file(dir)), os.Symlink(file(runsDir(t, address)), file(dir)))
		}, "link"},
		{"it is a directory", func(dir string) error {
			return errors.Join(os.Remove(file(dir)), os.Mkdir(file(dir), 0o700))
		}, "not a file"},
		{"it is of another user", func(dir string) error { return os.Chown(file(dir), 65534, 65534) }, "user 65534"},
		{"everybody can read the key", func(dir string) error { return os.Chmod(filepath.Join(dir, engine.KeyFile), 0o644) }, "other users"},
		{"the key is gone", func(dir string) error { return os.Remove(filepath.Join(dir, engine.KeyFile)) }, engine.KeyFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := runsDir(t, address)
			if err := tt.spoil(dir); errors.Is(err, os.ErrPermission) {
				t.Skip("only the superuser gives a file away")
			} else if err != nil {
				t.Fatal(err)
			}
			err := dialError(t, dir)
			if _, ok := errors.AsType[*temporalclient.Unreachable](err); !ok {
				t.Errorf("error is %#v", err)
			}
			saysOnALine(t, err, tt.say, "starter up")
		})
	}
	if told := f.called(); len(told) > 0 {
		t.Errorf("the server was asked %q", told)
	}
}
