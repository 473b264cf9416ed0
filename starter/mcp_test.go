package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// asProgram turns the test binary into the program.
const asProgram = "STARTER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	if os.Getenv(asTemporal) != "" {
		os.Exit(signalAsTemporal(os.Args[1:]))
	}
	os.Exit(runAlone(m))
}

// ownDir holds what all tests of a process share, such as the built program.
var ownDir string

// runAlone runs the tests away from any Temporal that the machine may know, from any run whose check they may be, and from
// the state of whoever runs them.
func runAlone(m *testing.M) int {
	var err error
	if ownDir, err = os.MkdirTemp("", "ratchet-starter-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(ownDir)
	environment := map[string]string{
		"XDG_STATE_HOME": filepath.Join(ownDir, "state"), "TEMPORAL_CONFIG_FILE": filepath.Join(ownDir, "none"), proc.RunVariable: "",
	}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "TEMPORAL_") && environment[name] == "" && name != temporalVariable {
			environment[name] = ""
		}
	}
	gittest.Isolate()
	for name, value := range environment {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// The citizens of a host.
const (
	mailed  dispatch.GardenID = "20260612T093000-00000c"
	sleeper dispatch.GardenID = "20260612T093000-00000d"
	awake   dispatch.GardenID = "20260612T093000-00000a"
)

// agentHost is a home with a registry. This process runs the session mailed, which
// reads its mail.
type agentHost struct {
	*testing.T
	home    string
	dirs    citizen.Dirs
	runsDir string
}

func newAgentHost(t *testing.T) agentHost {
	t.Helper()
	home, err := os.MkdirTemp("", "m") // short: sockets lie below it
	clitest.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	clitest.Must(t, err)
	store := citizen.Store{Dir: dirs.Sessions}
	for id, backend := range map[dispatch.GardenID]dispatch.Backend{mailed: dispatch.ClaudeCode, sleeper: dispatch.Pi, awake: dispatch.Pi} {
		_, err := store.Register(t.Context(), citizen.Birth{GardenID: id, Backend: backend, CWD: "/w"})
		clitest.Must(t, err)
	}
	me := marker.Citizen{GardenID: mailed, Backend: dispatch.ClaudeCode, NativeSessionID: string(mailed)}
	owner := marker.OwnerOf(os.Getpid())
	clitest.Must(t, marker.WriteSender(dirs.Senders, marker.Sender{Citizen: me, CWD: "/w", Owner: owner}, time.Now()))
	clitest.Must(t, marker.WriteReceiver(dirs.Receivers, marker.Receiver{Citizen: me, Owner: owner, Provenance: marker.SessionStart}, time.Now()))
	return agentHost{t, home, dirs, filepath.Join(t.TempDir(), ".runs")}
}

// environ is that of its programs.
func (h agentHost) environ(more ...string) []string {
	var env []string
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); name != "HOME" && !strings.HasPrefix(name, "PI_") && !strings.HasPrefix(name, "ENTWURF_") {
			env = append(env, entry)
		}
	}
	return append(env, append(more, "HOME="+h.home)...)
}

// program is the command line, to be run.
func (h agentHost) program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], append(slices.Clone(args), "--runs-dir", h.runsDir)...)
	cmd.Env = h.environ(asProgram+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// session is an agent's connection to the tools of a child process. It ends as
// a graceful one does.
type toolSession struct {
	*mcp.ClientSession
	t    *testing.T
	said *captured.Output
}

func (h agentHost) connect(args ...string) toolSession {
	h.Helper()
	cmd, said := h.program(append([]string{"mcp"}, args...)...), &captured.Output{}
	cmd.Stderr = said
	prober := mcp.NewClient(&mcp.Implementation{Name: "prober", Version: "1"}, nil)
	s, err := prober.Connect(h.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, nil)
	clitest.Must(h.T, err)
	h.Cleanup(func() {
		if err := s.Close(); err != nil {
			h.Errorf("it ended with %v, and said %s", err, said)
		}
	})
	return toolSession{s, h.T, said}
}

// call returns what a tool gave, and what it said.
func (s toolSession) call(tool string, arguments map[string]any) (*mcp.CallToolResult, string) {
	s.t.Helper()
	res, err := s.CallTool(s.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	clitest.Must(s.t, err)
	return res, res.Content[0].(*mcp.TextContent).Text
}

// get calls a tool that succeeds, and decodes what it gave.
func (s toolSession) get(tool string, arguments map[string]any, v any) {
	s.t.Helper()
	res, text := s.call(tool, arguments)
	if res.IsError {
		s.t.Fatalf("%s: %s", tool, text)
	}
	b, err := json.Marshal(res.StructuredContent)
	clitest.Must(s.t, err)
	clitest.Must(s.t, json.Unmarshal(b, v))
}

// refused calls a tool that fails, and returns its line.
func (s toolSession) refused(tool string, arguments map[string]any) string {
	s.t.Helper()
	res, line := s.call(tool, arguments)
	if !res.IsError || strings.Contains(line, "\n") {
		s.t.Errorf("%s: error %v: %q", tool, res.IsError, line)
	}
	return line
}

// quiet is a session that keeps what it is sent, as soon as somebody looks.
type quiet struct{ got chan controlsocket.Message }

func (quiet) Info(context.Context) (controlsocket.Info, error) { return controlsocket.Info{}, nil }

func (q quiet) Send(_ context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	q.got <- m
	return dispatch.Direct, nil
}

func (quiet) LastMessage(context.Context) (*controlsocket.LastMessage, error) { return nil, nil }

func (quiet) Abort(context.Context) error { return nil }

// listens serves the session awake.
func (h agentHost) listens() quiet {
	h.Helper()
	q := quiet{make(chan controlsocket.Message)}
	server, err := controlsocket.Listen(h.Context(), h.dirs.Socket(awake), q)
	clitest.Must(h.T, err)
	h.Cleanup(func() { server.Close() })
	return q
}

func TestToolsWithoutAnEngine(t *testing.T) {
	h := newAgentHost(t)
	h.listens()
	_, err := mailbox.Mailboxes{Dirs: h.dirs}.Enqueue(t.Context(), mailbox.Mail{To: mailed, Body: "hello"})
	clitest.Must(t, err)
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1") // the default port may be taken by somebody's server
	s := h.connect()
	var self citizen.Self
	s.get("entwurf_self", nil, &self)
	if self.SessionID != string(mailed) || !*self.Replyable {
		t.Errorf("self %+v", self)
	}
	if _, text := s.call("entwurf_peers", nil); !strings.Contains(text, string(awake)+"  backend=pi  liveness=alive") {
		t.Errorf("peers: %s", text)
	}
	var mail mailbox.Drained
	s.get("entwurf_inbox_read", map[string]any{"gardenId": mailed}, &mail)
	if len(mail.Messages) != 1 || mail.Messages[0].Body != "hello" {
		t.Errorf("mail %+v", mail)
	}
	for tool, arguments := range map[string]map[string]any{
		"entwurf_v2":   {"target": awake, "intent": "fire-and-forget", "message": "hi"},
		"ratchet_runs": nil, "ratchet_dispatches": nil,
		"ratchet_run": {"run": "r"},
	} {
		if line := s.refused(tool, arguments); !strings.Contains(line, "cannot reach temporal at 127.0.0.1:1") || !strings.Contains(line, "TEMPORAL_ADDRESS") {
			t.Errorf("%s: %q", tool, line)
		}
	}
	if s.said.String() != "" {
		t.Errorf("it said %s", s.said)
	}
}

func TestNothingButTheProtocolIsPrinted(t *testing.T) {
	h := newAgentHost(t)
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	cmd := h.program("mcp", "--json")
	in, err := cmd.StdinPipe()
	clitest.Must(t, err)
	out, err := cmd.StdoutPipe()
	clitest.Must(t, err)
	clitest.Must(t, cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hand","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ratchet_runs","arguments":{}}}
`)
	clitest.Must(t, err)
	dec := json.NewDecoder(out)
	for id := 1; id <= 2; id++ {
		var answer struct {
			JSONRPC string
			ID      int
			Result  any
		}
		if err := dec.Decode(&answer); err != nil || answer.JSONRPC != "2.0" || answer.ID != id || answer.Result == nil {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	clitest.Must(t, in.Close())
	rest, err := io.ReadAll(io.MultiReader(dec.Buffered(), out))
	if err != nil || len(bytes.TrimSpace(rest)) > 0 {
		t.Errorf("more: %s, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("hung up: %v", err)
	}
}

func TestASignalIsAGoodEnd(t *testing.T) {
	cmd := newAgentHost(t).program("mcp")
	in, err := cmd.StdinPipe()
	clitest.Must(t, err)
	out, err := cmd.StdoutPipe()
	clitest.Must(t, err)
	clitest.Must(t, cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	clitest.Must(t, err)
	_, err = out.Read(make([]byte, 1)) // it serves
	clitest.Must(t, err)
	clitest.Must(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMCPThatCannotBeServed(t *testing.T) {
	if got := starter(t.Context(), "", "mcp", "more"); got.code != exit.Usage || got.out != "" || !strings.Contains(got.err, "no arguments") {
		t.Errorf("%+v", got)
	}
	t.Setenv("HOME", "")
	if got := starter(t.Context(), "", "mcp"); got.code != exit.Failed || got.out != "" || !strings.Contains(got.err, "HOME") {
		t.Errorf("%+v", got)
	}
}
