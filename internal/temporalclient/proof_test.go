package temporalclient_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

const notTheEngine = "another program listens there"

// TestStrangerAtTheEnginesAddress has another program where engine.json says that the engine is. Finding B2.
func TestStrangerAtTheEnginesAddress(t *testing.T) {
	isolate(t)
	var heard []string
	for _, tt := range []struct {
		name string
		f    *fakeServer
	}{
		{"knows no token", &fakeServer{prove: func(_, _, _ string) []string { return nil }}},
		{"has a token of its own", &fakeServer{token: "another"}},
		{"has the empty token", &fakeServer{}},
		{"is the engine of another, and locked", &fakeServer{token: "another", start: "s"}},
		{"passes calls on to the engine, which listens elsewhere", &fakeServer{prove: func(nonce, _, method string) []string {
			return []string{token.Proof(nonce, "127.0.0.1:1", method)}
		}}},
		{"repeats a proof that it heard", &fakeServer{prove: func(nonce, address, method string) []string {
			heard = append(heard, token.Proof(nonce, address, method))
			return heard[:len(heard)-1]
		}}},
		{"has the proof of another method", &fakeServer{prove: func(nonce, address, _ string) []string {
			return []string{token.Proof(nonce, address, "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution")}
		}}},
		{"says that it does not know the call", &fakeServer{refuse: codes.Unimplemented}},
		{"says that it has no room", &fakeServer{refuse: codes.ResourceExhausted}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			heard = nil
			err := dialError(t, runsDir(t, tt.f.serve(t)))
			if _, ok := errors.AsType[*temporalclient.Unreachable](err); !ok {
				t.Errorf("error is %#v", err)
			}
			saysOnALine(t, err, notTheEngine, "starter up --port 0")
			if told := tt.f.called(); !slices.Equal(told, []string{"GetSystemInfo"}) {
				t.Errorf("it was told %q", told)
			}
		})
	}
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
	first := &fakeServer{token: token, start: "first"}
	die := first.serveOn(t, l)
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: runsDir(t, address)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := count(t, c, time.Minute); err != nil {
		t.Fatal(err)
	}
	die()

	l, err = net.Listen("tcp", address)
	if err != nil {
		t.Skipf("somebody else took the port: %v", err)
	}
	thief := &fakeServer{}
	leave := thief.serveOn(t, l)
	if err := count(t, c, 300*time.Millisecond); err == nil {
		t.Error("its answer was believed")
	}
	if told := thief.called(); !slices.Equal(told, []string{"GetSystemInfo"}) {
		t.Errorf("it was told %q", told)
	}
	if len(thief.bearers) > 0 {
		t.Errorf("it heard the key %q", thief.bearers)
	}
	leave()

	if l, err = net.Listen("tcp", address); err != nil {
		t.Skipf("somebody else took the port: %v", err)
	}
	(&fakeServer{token: token, start: "second"}).serveOn(t, l)
	if err := count(t, c, time.Minute); err != nil {
		t.Errorf("the engine is back: %v", err)
	}
}

// TestEachAnswerIsProved has a program prove itself at first and then no more: an answer, and an error that says something,
// is refused, whatever was believed before. Finding B2.
func TestEachAnswerIsProved(t *testing.T) {
	isolate(t)
	f := &fakeServer{prove: func(nonce, address, method string) []string {
		if !strings.HasSuffix(method, "/GetSystemInfo") {
			return nil
		}
		return []string{token.Proof(nonce, address, method)}
	}}
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: runsDir(t, f.serve(t))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := count(t, c, 300*time.Millisecond); err == nil {
		t.Error("its answer was believed")
	}
	f.lag = 1 << 30
	if _, believed := errors.AsType[*serviceerror.InvalidArgument](count(t, c, 300*time.Millisecond)); believed {
		t.Error("its error was believed")
	}
	_, err = c.DescribeTaskQueue(t.Context(), "ratchet", 0)
	if _, unknown := errors.AsType[*serviceerror.Unimplemented](err); !unknown {
		t.Errorf("a method that the engine does not have: %v", err)
	}
}

// TestOneOfOursThatIsAskedForAProof is the client of a process that has started the engine itself.
func TestOneOfOursThatIsAskedForAProof(t *testing.T) {
	isolate(t)
	for who, f := range map[string]*fakeServer{"engine": {token: token}, "stranger": {}} {
		c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Engine: f.serve(t), Token: token})
		if err == nil {
			c.Close()
		}
		if (who == "engine") != (err == nil) {
			t.Errorf("%s: %v", who, err)
		}
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
	f := &fakeServer{token: token}
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
		{"it is of an older version", func(dir string) error {
			return engine.WriteFile(dir, engine.File{Address: address})
		}, "older version"},
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

// TestTheVariablesOfStarterEnvDemandAProof in every directory: a program that takes the port of the engine after its
// end is told nothing, and neither is one at an address that the engine no longer has.
func TestTheVariablesOfStarterEnvDemandAProof(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    *fakeServer
		vars func(address string) map[string]string // beside what starter env sets
		say  string                                 // empty: it is believed
	}{
		{name: "the engine", f: &fakeServer{token: token}},
		{name: "a stranger at its address", f: &fakeServer{}, say: notTheEngine},
		{name: "an open engine's variables, and a stranger", f: &fakeServer{}, say: notTheEngine, vars: func(string) map[string]string {
			return map[string]string{"TEMPORAL_GRPC_META_AUTHORIZATION": ""}
		}},
		{name: "the engine has another address now", f: &fakeServer{}, say: "names the engine at 127.0.0.1:1", vars: func(string) map[string]string {
			return map[string]string{temporalclient.EngineVariable: filepath.Join(runsDir(t, "127.0.0.1:1"), engine.FileName)}
		}},
		{name: "its file is gone", f: &fakeServer{}, say: "no engine.json", vars: func(string) map[string]string {
			return map[string]string{temporalclient.EngineVariable: filepath.Join(t.TempDir(), engine.FileName)}
		}},
		{name: "a relative path", f: &fakeServer{}, say: "not the absolute path", vars: func(string) map[string]string {
			return map[string]string{temporalclient.EngineVariable: engine.FileName}
		}},
		{name: "another server's key", f: &fakeServer{}, say: "unset " + temporalclient.EngineVariable, vars: func(string) map[string]string {
			return map[string]string{"TEMPORAL_API_KEY": "k", "TEMPORAL_TLS": "false"}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			isolate(t)
			address := tt.f.serve(t)
			t.Setenv("TEMPORAL_ADDRESS", address)
			t.Setenv("TEMPORAL_NAMESPACE", "default")
			t.Setenv("TEMPORAL_GRPC_META_AUTHORIZATION", "Bearer x")
			t.Setenv(temporalclient.EngineVariable, filepath.Join(runsDir(t, address), engine.FileName))
			if tt.vars != nil {
				for name, value := range tt.vars(address) {
					t.Setenv(name, value)
				}
			}
			c, err := temporalclient.Dial(t.Context(), temporalclient.Options{RunsDir: t.TempDir()})
			if err == nil {
				c.Close()
			}
			if tt.say == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if _, ok := errors.AsType[*temporalclient.Unreachable](err); !ok {
				t.Fatalf("error is %#v", err)
			}
			saysOnALine(t, err, tt.say)
			if told := tt.f.called(); len(told) > 1 {
				t.Errorf("it was told %q", told)
			}
			if len(tt.f.bearers) > 0 {
				t.Errorf("it heard the key %q", tt.f.bearers)
			}
		})
	}
}
