package claude_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
// each message. A line that begins with a brace is a frame, in which @ID@ is
// the session's id; the others are
//
//	await              read a line of the adapter
//	exit N TEXT        end with that code, TEXT on standard error
//	die                end by a signal
//	transcript ID      leave a transcript
//	until FILE         wait for a file in the script's directory
//	flood              say a line that is too long for anybody
type script struct {
	Version string
	Start   []string
	Turns   [][]string
}

const greetingFrame = `{"type":"control_response","response":{"subtype":"success","request_id":"@REQUEST@","response":{` +
	`"commands":[{"name":"compact"}],"models":[{"value":"default","resolvedModel":"claude-opus-4-8[1m]","displayName":"Default","description":"d"},` +
	`{"value":"haiku","resolvedModel":"claude-haiku-4-5","displayName":"Haiku"}],"account":{"tokenSource":"none"},"pid":7}}}`

// player is the client.
type player struct {
	dir   string
	id    string
	in    *bufio.Reader
	given *os.File
}

func play(dir string) {
	var s script
	text, err := os.ReadFile(filepath.Join(dir, "script"))
	if err != nil || json.Unmarshal(text, &s) != nil {
		syscall.Exit(99)
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Print(s.Version)
		return
	}
	keep(dir, "argv", os.Args[1:])
	keep(dir, "env", os.Environ())
	given, err := os.OpenFile(filepath.Join(dir, "given"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		syscall.Exit(99)
	}
	p := player{dir: dir, in: bufio.NewReader(os.Stdin), given: given}
	for i, arg := range os.Args {
		if arg == "--session-id" || arg == "--resume" {
			p.id = os.Args[i+1]
		}
	}
	p.act(s.Start)
	p.serve(s.Turns)
}

func keep(dir, name string, list []string) {
	text, _ := json.Marshal(list)
	if os.WriteFile(filepath.Join(dir, name), text, 0o600) != nil {
		syscall.Exit(99)
	}
}

func (p player) serve(turns [][]string) {
	for {
		line, ok := p.await()
		if !ok {
			return
		}
		var f struct {
			Type      string
			RequestID string `json:"request_id"`
			Request   struct{ Subtype string }
		}
		if json.Unmarshal([]byte(line), &f) != nil {
			p.exit(1, "Error parsing streaming input line")
		}
		switch {
		case f.Request.Subtype == "initialize":
			p.say(strings.ReplaceAll(greetingFrame, "@REQUEST@", f.RequestID))
		case f.Type == "control_request":
			p.say(`{"type":"control_response","response":{"subtype":"success","request_id":"` + f.RequestID + `"}}`)
		case f.Type == "user" && len(turns) > 0:
			p.act(turns[0])
			turns = turns[1:]
		}
	}
}

func (p player) await() (string, bool) {
	line, err := p.in.ReadString('\n')
	if err != nil {
		return "", false
	}
	p.given.WriteString(line)
	return line, true
}

func (p player) act(lines []string) {
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "await":
			if _, ok := p.await(); !ok {
				syscall.Exit(0)
			}
		case "exit":
			var code int
			fmt.Sscan(rest, &code)
			_, text, _ := strings.Cut(rest, " ")
			p.exit(code, text)
		case "die":
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour)
		case "transcript":
			p.transcribe(rest)
		case "until":
			for !exists(filepath.Join(p.dir, rest)) {
				time.Sleep(time.Millisecond)
			}
		case "flood":
			for part := make([]byte, 1<<20); ; {
				if _, err := os.Stdout.Write(part); err != nil {
					syscall.Exit(0)
				}
			}
		default:
			p.say(line)
		}
	}
}

func (p player) say(line string) { fmt.Println(strings.ReplaceAll(line, "@ID@", p.id)) }

func (p player) exit(code int, text string) {
	fmt.Fprintln(os.Stderr, text)
	syscall.Exit(code)
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
type fake struct {
	dir, work, home string
}

func newFake(t *testing.T, s script) fake {
	t.Helper()
	f := fake{dir: t.TempDir(), work: t.TempDir(), home: t.TempDir()}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, "script", string(text))
	return f
}

func (f fake) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// config has the variables that let this binary be the client.
func (f fake) config(environ ...string) claude.Config {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return claude.Config{
		Binary:  self,
		Environ: append([]string{"PATH=/usr/bin:/bin", "HOME=" + f.home, fakeDir + "=" + f.dir, "GORACE=atexit_sleep_ms=0"}, environ...),
		Allow:   []string{fakeDir, "GORACE"},
	}
}

// options fills in what every session needs.
func (f fake) options(o agent.Options) agent.Options {
	if o.Dir == "" {
		o.Dir = f.work
	}
	if o.Sandbox == "" {
		o.Sandbox = agent.WorkspaceWrite
	}
	return o
}

// start begins a session that ends with the test.
func (f fake) start(t *testing.T, o agent.Options) agent.Session {
	t.Helper()
	s, err := claude.New(f.config()).Start(t.Context(), f.options(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t.Context()) })
	return s
}

// given are the lines that the client has read.
func (f fake) given(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "given"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (f fake) list(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// until reads events to the first that is an E and returns it with those
// before it.
func until[E agent.Event](t *testing.T, s agent.Session) (E, []agent.Event) {
	t.Helper()
	var before []agent.Event
	limit := time.After(agenttest.Patience)
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				t.Fatalf("no %T among the events %+v", *new(E), before)
			}
			if found, ok := e.(E); ok {
				return found, before
			}
			before = append(before, e)
		case <-limit:
			t.Fatalf("no %T in time, but %+v", *new(E), before)
		}
	}
}

// turn sends a message and returns the turn with the events before its end.
func turn(t *testing.T, s agent.Session, text string) (agent.Turn, []agent.Event) {
	t.Helper()
	if err := s.Send(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	return until[agent.Turn](t, s)
}

// of are the events of a kind.
func of[E agent.Event](events []agent.Event) []E {
	var list []E
	for _, e := range events {
		if found, ok := e.(E); ok {
			list = append(list, found)
		}
	}
	return list
}

// Frames that most turns have.
const (
	initLine   = `{"type":"system","subtype":"init","cwd":"/w","session_id":"@ID@","tools":["Task","Bash","Edit","Write"],"mcp_servers":[],"model":"claude-sonnet-4-5","permissionMode":"default","apiKeySource":"ANTHROPIC_API_KEY"}`
	helloLine  = `{"type":"assistant","message":{"id":"msg_1","model":"claude-sonnet-4-5","role":"assistant","content":[{"type":"text","text":"hello"}],"stop_reason":null,"usage":{"input_tokens":1000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"@ID@","request_id":"req_1"}`
	resultLine = `{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"duration_ms":320,"num_turns":1,"result":"hello","stop_reason":"end_turn","session_id":"@ID@","total_cost_usd":0.011,"usage":{"input_tokens":1000,"output_tokens":20},"modelUsage":{"claude-sonnet-4-5":{"inputTokens":1000,"outputTokens":20,"costUSD":0.011,"contextWindow":200000,"maxOutputTokens":64000}},"permission_denials":[],"terminal_reason":"completed"}`
)

var plain = []string{initLine, helloLine, resultLine}
