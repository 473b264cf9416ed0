package temporalclient_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

func TestKnock(t *testing.T) {
	isolate(t)
	for _, tt := range []struct {
		name   string
		f      *fakeServer
		locked bool
		say    string // of the error
	}{
		{"a locked engine", &fakeServer{token: token, start: "s"}, true, ""},
		{"an open engine, or one of an older version", &fakeServer{token: token}, false, ""},
		{"a stranger", &fakeServer{start: "s"}, false, notTheEngine},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1") // of no interest
			address := tt.f.serve(t)
			door, err := temporalclient.Knock(t.Context(), runsDir(t, address), 0)
			if tt.say != "" {
				if _, ok := errors.AsType[*temporalclient.Unreachable](err); !ok {
					t.Errorf("error is %#v", err)
				}
				saysOnALine(t, err, tt.say)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if door.Locked() != tt.locked || (door.Authorization() == "") == tt.locked || strings.Contains(door.Login("/"), "#") != tt.locked {
				t.Errorf("locked %v, authorization %q, login %s", door.Locked(), door.Authorization(), door.Login("/"))
			}
			if strings.Contains(door.Authorization()+door.Login("/"), string(token)) {
				t.Error("the token is told")
			}
		})
	}
}

// TestAKeyOfAnEarlierStartIsTold: the variables of a shell are those of an engine that has ended.
func TestAKeyOfAnEarlierStartIsTold(t *testing.T) {
	isolate(t)
	f := &fakeServer{token: token, start: "second"}
	address := f.serve(t)
	t.Setenv("TEMPORAL_ADDRESS", address)
	t.Setenv("TEMPORAL_GRPC_META_AUTHORIZATION", token.Bearer("first", address))
	saysOnALine(t, dialError(t, t.TempDir()), "the engine is locked", "--runs-dir")
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: runsDir(t, address)})
	if err != nil {
		t.Fatalf("with its engine.json: %v", err)
	}
	c.Close()
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
