package acp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// TestMain is also the agents: this binary, called with the name of one.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(eventually.RunTests(m, 8))
	}
	switch os.Args[1] {
	case "play":
		play(os.Args[2])
	case "code":
		code()
	case "sleep":
		time.Sleep(time.Hour)
	default:
		os.Exit(m.Run())
	}
}

func self(args ...string) []string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{path}, args...)
}

// bench is a player and what it is started with.
type bench struct {
	t       *testing.T
	adapter agent.Adapter
	options agent.Options
	log     string
}

func configOf(name string, patience time.Duration) acp.Config {
	return acp.Config{Greeting: acp.Greeting{Unboxed: true}, Argv: self("play", name), Environ: []string{"PATH=/usr/bin:/bin"}, Patience: patience}
}

func newBench(t *testing.T, name string) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, log: filepath.Join(dir, "log")}
	b.adapter = acp.New(configOf(name, 0))
	b.options = agent.Options{Dir: dir, Sandbox: agent.WorkspaceWrite, Log: t.Output()}
	b.set(logVariable, b.log)
	b.set("GORACE", "atexit_sleep_ms=0")
	return b
}

func (b *bench) set(name, value string) { b.options.Env = append(b.options.Env, name+"="+value) }

// fails has a request answered with an error.
func (b *bench) fails(method, problem string) {
	b.set(failVariable, `{"`+method+`":`+problem+`}`)
}

func (b *bench) start() (agent.Session, *agenttest.Log) {
	b.t.Helper()
	s, err := b.adapter.Start(b.t.Context(), b.options)
	if err != nil {
		b.t.Fatalf("start: %v", err)
	}
	b.t.Cleanup(func() { s.Stop(b.t.Context()) })
	return s, agenttest.Watch(b.t, s)
}

// heard are the messages of a method that the agent got: their params.
func (b *bench) heard(method string) []string {
	b.t.Helper()
	log, err := os.ReadFile(b.log)
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	var params []string
	for line := range strings.Lines(string(log)) {
		var m struct {
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			b.t.Fatalf("%v: %s", err, line)
		}
		if m.Method == method {
			params = append(params, string(m.Params))
		}
	}
	return params
}

// script is the prompt that has a player do these steps.
func script(steps ...step) string {
	b, err := json.Marshal(steps)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func update(format string) step { return step{Update: json.RawMessage(format)} }
func ask(params string) step    { return step{Ask: json.RawMessage(params)} }

// chunk is a piece of a message; an empty id is none.
func chunk(id, text string) step {
	b, err := json.Marshal(map[string]any{"sessionUpdate": "agent_message_chunk", "messageId": id, "content": map[string]string{"type": "text", "text": text}})
	if err != nil {
		panic(err)
	}
	return step{Update: b}
}

func ends(reason string) step {
	return step{Answer: json.RawMessage(`{"stopReason":"` + reason + `"}`)}
}
