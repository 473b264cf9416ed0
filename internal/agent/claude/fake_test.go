package claude_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// fakeDir names the directory of the script that this binary plays as the
// client, and where it leaves what it was given.
const fakeDir = "FAKE_CLAUDE_DIR"

func TestMain(m *testing.M) {
	switch dir := os.Getenv(fakeDir); {
	case dir != "":
		play(dir)
	case os.Getenv(fakeLive) != "":
		live()
	default:
		os.Exit(eventually.RunTests(m, 8))
	}
	syscall.Exit(0) // os.Exit would wait a second under the race detector
}

// script is what the client says: Start before anything else, then a turn for
// each message. Beside the lines of agenttest.Player, it has
//
//	transcript ID      leave a transcript
type script struct {
	Version string
	Start   []string
	Turns   [][]string
}

const greetingFrame = `{"type":"control_response","response":{"subtype":"success","request_id":"@REQUEST@","response":{` +
	`"commands":[{"name":"compact"}],"models":[{"value":"default","resolvedModel":"claude-opus-4-8[1m]","displayName":"Default","description":"d"},` +
	`{"value":"haiku","resolvedModel":"claude-haiku-4-5","displayName":"Haiku"}],"account":{"tokenSource":"none"},"pid":7}}}`

// player is the client.
type player struct{ *agenttest.Player }

func play(dir string) {
	var s script
	p := player{agenttest.NewPlayer(dir, &s)}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Print(s.Version)
		return
	}
	p.Begin()
	for i, arg := range os.Args {
		if arg == "--session-id" || arg == "--resume" {
			p.ID = os.Args[i+1]
		}
	}
	p.act(s.Start)
	p.serve(s.Turns)
}

func (p player) serve(turns [][]string) {
	for {
		line, ok := p.Await()
		if !ok {
			return
		}
		var f struct {
			Type      string
			RequestID string `json:"request_id"`
			Request   struct{ Subtype string }
		}
		if json.Unmarshal([]byte(line), &f) != nil {
			p.Exit(1, "Error parsing streaming input line")
		}
		switch {
		case f.Request.Subtype == "initialize":
			p.Say(strings.ReplaceAll(greetingFrame, "@REQUEST@", f.RequestID))
		case f.Type == "control_request":
			p.Say(`{"type":"control_response","response":{"subtype":"success","request_id":"` + f.RequestID + `"}}`)
		case f.Type == "user" && len(turns) > 0:
			p.act(turns[0])
			turns = turns[1:]
		}
	}
}

func (p player) act(lines []string) {
	for _, line := range lines {
		if id, ok := strings.CutPrefix(line, "transcript "); ok {
			p.transcribe(id)
			continue
		}
		p.Act(line)
	}
}

func (p player) transcribe(id string) {
	cwd, _ := os.Getwd()
	dir := filepath.Join(os.Getenv("HOME"), ".claude", "projects", strings.NewReplacer("/", "-", ".", "-", "_", "-").Replace(cwd))
	os.MkdirAll(dir, 0o700)
	os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte("{}\n"), 0o600)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// fake is a client that plays a script, as the test sees it.
type fake struct{ agenttest.Scripted }

func newFake(t *testing.T, s script) fake {
	t.Helper()
	return fake{agenttest.NewScripted(t, s)}
}

// config has the variables that let this binary be the client.
func (f fake) config(environ ...string) claude.Config {
	return claude.Config{Binary: f.Program(), Environ: f.Environ(fakeDir, environ...), Allow: []string{fakeDir, "GORACE"}}
}

// start begins a session that ends with the test.
func (f fake) start(t *testing.T, o agent.Options) agent.Session {
	t.Helper()
	s, err := claude.New(f.config()).Start(t.Context(), f.Options(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t.Context()) })
	return s
}

// Frames that most turns have.
const (
	initLine   = `{"type":"system","subtype":"init","cwd":"/w","session_id":"@ID@","tools":["Task","Bash","Edit","Write"],"mcp_servers":[],"model":"claude-sonnet-4-5","permissionMode":"default","apiKeySource":"ANTHROPIC_API_KEY"}`
	helloLine  = `{"type":"assistant","message":{"id":"msg_1","model":"claude-sonnet-4-5","role":"assistant","content":[{"type":"text","text":"hello"}],"stop_reason":null,"usage":{"input_tokens":1000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"@ID@","request_id":"req_1"}`
	resultLine = `{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"duration_ms":320,"num_turns":1,"result":"hello","stop_reason":"end_turn","session_id":"@ID@","total_cost_usd":0.011,"usage":{"input_tokens":1000,"output_tokens":20},"modelUsage":{"claude-sonnet-4-5":{"inputTokens":1000,"outputTokens":20,"costUSD":0.011,"contextWindow":200000,"maxOutputTokens":64000}},"permission_denials":[],"terminal_reason":"completed"}`
)

var plain = []string{initLine, helloLine, resultLine}
