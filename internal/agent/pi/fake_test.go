package pi_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// fakeDir names the directory of the script that this binary plays as pi, and
// where it leaves what it was given.
const fakeDir = "FAKE_PI_DIR"

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

// script is what pi says: Start before anything else, then a turn for each
// prompt, of which @PROMPT@ is the id. Beside the lines of agenttest.Player, it has
//
//	serve         read a line of the adapter, and answer it
//	gather N      read N lines of the adapter, and answer them then
//	absorb        take what was steered
type script struct {
	Version string
	Open    bool   // the gate was not loaded
	State   string // the answer to get_state, where it is not fakeState
	Models  string // to get_available_models
	Stats   string // to get_session_stats; "none" for no answer
	Queue   string // to clear_queue, where it is not what was steered
	Refuses bool   // what is steered
	Start   []string
	Turns   [][]string
}

const (
	fakeState  = `{"sessionId":"@ID@","messageCount":0,"isStreaming":false,"model":{"id":"m","provider":"p","contextWindow":200000}}`
	fakeModels = `{"models":[{"id":"m","name":"Em","provider":"p","contextWindow":200000},{"id":"n","provider":"p"}]}`
	fakeStats  = `{"contextUsage":{"tokens":1500,"contextWindow":200000,"percent":0.75}}`
)

// player is pi.
type player struct {
	script
	*agenttest.Player
	queued []string // what was steered
}

func play(dir string) {
	p := &player{}
	p.Player = agenttest.NewPlayer(dir, &p.script)
	if slices.Contains(os.Args, "--version") {
		fmt.Print(p.Version)
		return
	}
	p.Begin()
	p.ID = "fresh"
	if i := slices.Index(os.Args, "--session-id"); i > 0 {
		p.ID = os.Args[i+1]
	}
	if slices.Contains(os.Args, "--extension") && !p.Open {
		p.Say(`{"type":"extension_ui_request","id":"u0","method":"setStatus","statusKey":"ratchet-gate","statusText":"closed"}`)
	}
	p.act("", p.Start)
	p.serve()
}

func (p *player) serve() {
	for p.handle() {
	}
}

// handle answers the next line.
func (p *player) handle() bool {
	line, ok := p.Await()
	if ok {
		p.answer(line)
	}
	return ok
}

func (p *player) answer(line string) {
	var f struct{ ID, Type, Message string }
	if json.Unmarshal([]byte(line), &f) != nil {
		p.Exit(1, "a line that is no JSON")
	}
	switch f.Type {
	case "steer":
		p.steer(f.ID, f.Message)
	case "clear_queue":
		text, _ := json.Marshal(map[string]any{"steering": p.queued, "followUp": []string{}})
		p.queued = nil
		p.respond(f.ID, cmp.Or(p.Queue, string(text)))
	case "get_state":
		p.respond(f.ID, cmp.Or(p.State, fakeState))
	case "get_available_models":
		p.respond(f.ID, cmp.Or(p.Models, fakeModels))
	case "get_session_stats":
		p.respond(f.ID, cmp.Or(p.Stats, fakeStats))
	case "abort":
		p.respond(f.ID, "{}")
	case "prompt":
		if len(p.Turns) > 0 {
			turn := p.Turns[0]
			p.Turns = p.Turns[1:]
			p.act(f.ID, turn)
		}
	}
}

// gather reads lines, and answers them only after the last.
func (p *player) gather(n int) {
	lines := make([]string, n)
	for i := range lines {
		var ok bool
		if lines[i], ok = p.Await(); !ok {
			syscall.Exit(0)
		}
	}
	for _, line := range lines {
		p.answer(line)
	}
}

func (p *player) steer(id, text string) {
	if p.Refuses {
		p.Say(`{"id":"` + id + `","type":"response","command":"steer","success":false,"error":"not now"}`)
		return
	}
	p.queued = append(p.queued, text)
	p.Say(`{"type":"queue_update","steering":["x"],"followUp":[]}`)
	p.respond(id, "{}")
}

func (p *player) respond(id, data string) {
	if data != "none" {
		p.Say(`{"id":"` + id + `","type":"response","success":true,"data":` + data + `}`)
	}
}

func (p *player) act(prompt string, lines []string) {
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "serve":
			if !p.handle() {
				syscall.Exit(0)
			}
		case "gather":
			var n int
			fmt.Sscan(rest, &n)
			p.gather(n)
		case "absorb":
			p.queued = nil
		default:
			p.Act(strings.ReplaceAll(line, "@PROMPT@", prompt))
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// fake is a pi that plays a script, as the test sees it.
type fake struct{ agenttest.Scripted }

func newFake(t *testing.T, s script) fake {
	t.Helper()
	return fake{agenttest.NewScripted(t, s)}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// config has the variables that let this binary be pi.
func (f fake) config(environ ...string) pi.Config {
	return pi.Config{Argv: []string{f.Program()}, Environ: f.Environ(fakeDir, environ...), Allow: []string{fakeDir, "GORACE"}}
}

func (f fake) adapter(environ ...string) agent.Adapter { return pi.New(f.config(environ...)) }

// start begins a session that ends with the test.
func (f fake) start(t *testing.T, o agent.Options) agent.Session {
	t.Helper()
	return begin(t, f.config(), f.Options(o))
}

// Frames that most turns have.
const (
	acceptLine  = `{"id":"@PROMPT@","type":"response","command":"prompt","success":true}`
	beginLine   = `{"type":"agent_start"}`
	endLine     = `{"type":"agent_end","messages":[]}`
	settledLine = `{"type":"agent_settled"}`
	userLine    = `{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}`
)

// delta is a piece of text.
func delta(text string) string {
	return `{"type":"message_update","usage":{},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":` + quoted(text) + `}}`
}

// ended is the end of a message of the assistant; more are further members.
func ended(text, stop, more string) string {
	return `{"type":"message_end","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":` + quoted(text) + `}],"stopReason":"` + stop +
		`","usage":{"input":1000,"output":20,"cacheRead":300,"cacheWrite":100,"totalTokens":1420,"cost":{"total":0.0033}}` + more + `}}`
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// turnOf is a turn with these frames.
func turnOf(lines ...string) []string {
	return slices.Concat([]string{acceptLine, beginLine, `{"type":"turn_start"}`, userLine}, lines, []string{`{"type":"turn_end"}`, endLine, settledLine})
}

var plain = turnOf(delta("hel"), delta("lo"), ended("hello", "stop", ""))

// question is what the gate asks about a call.
func question(tool, callID, input string) string {
	title := `{"gate":1,"toolName":"` + tool + `","toolCallId":"` + callID + `","input":` + input + `}`
	return `{"type":"extension_ui_request","id":"ask-` + callID + `","method":"select","title":` + quoted(title) + `,"options":["allow","deny","abort"]}`
}
