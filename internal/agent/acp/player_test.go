package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// player is an agent that plays what the prompt says, a JSON list of steps. It
// is one of the agents that we know, or none, by its name.
type player struct {
	name string

	mu      sync.Mutex
	cancel  chan struct{}              // closed by session/cancel
	waiting map[int]chan answeredFrame // for answers to what it asks, by id
	asked   int
}

// step is one thing that it does. The last of a prompt that is not interrupted
// is an answer, an error or the end of the process.
type step struct {
	Update json.RawMessage `json:"update,omitempty"` // of a session/update
	From   string          `json:"from,omitempty"`   // the session it is of; empty: ours
	Ask    json.RawMessage `json:"ask,omitempty"`    // a permission request; it then says what the answer was
	Retake bool            `json:"retake,omitempty"` // take the request back at once
	Quiet  bool            `json:"quiet,omitempty"`  // say nothing of its answer
	Call   string          `json:"call,omitempty"`   // another request; it then says the code of the error
	Deaf   bool            `json:"deaf,omitempty"`   // wait for session/cancel, and go on
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
	Line   int             `json:"line,omitempty"` // a piece of text in a line of that many bytes, its end included
	Raw    string          `json:"raw,omitempty"`  // a line as it is
	Exit   *int            `json:"exit,omitempty"`
}

type answeredFrame struct {
	Result json.RawMessage            `json:"result"`
	Error  *struct{ Code int }        `json:"error"`
	Params map[string]json.RawMessage `json:"params"`
	ID     *int                       `json:"id"`
	Method string                     `json:"method"`
}

// greetings are what the agents say of themselves (CLIENT.md, 3, and initialize of the same versions).
var greetings = map[string]string{
	"opencode": `{"protocolVersion":1,"agentInfo":{"name":"OpenCode","version":"1.18.33"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{},"list":{},"resume":{}}},"authMethods":[{"id":"x","type":"new"}]}`,
	"claude":   `{"protocolVersion":1,"agentInfo":{"name":"@agentclientprotocol/claude-agent-acp","title":"Claude Agent","version":"0.100.0"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"additionalDirectories":{},"resume":{},"systemPrompt":{"mode":{"override":{}}}}}}`,
	"gemini":   `{"protocolVersion":1,"agentInfo":{"name":"gemini-cli","title":"Gemini CLI","version":"0.61.0"},"agentCapabilities":{"loadSession":true}}`,
	"codex":    `{"protocolVersion":1,"agentInfo":{"name":"@agentclientprotocol/codex-acp","title":"Codex","version":"2.6.0"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{},"resume":{}}}}`,
	"resumer":  `{"protocolVersion":1,"agentInfo":{"name":"resumer","version":"1"},"agentCapabilities":{"sessionCapabilities":{"resume":true}}}`,
	"plain":    `{"protocolVersion":1,"agentInfo":{"name":"plain","version":"1"}}`,
	"future":   `{"protocolVersion":2,"agentInfo":{"name":"future","version":"1"}}`,
}

// offers are what they let one choose.
var offers = map[string]string{
	"opencode": `"configOptions":[{"id":"model","category":"model","type":"select","currentValue":"fake/a","options":[{"value":"fake/a","name":"A"},{"group":"g","name":"G","options":[{"value":"fake/b","name":"B"}]}]},{"id":"odd","type":"boolean","currentValue":true},{"id":"mode","category":"mode","type":"select","currentValue":"build","options":[{"value":"build","name":"build"},{"value":"plan","name":"plan"}]}]`,
	"claude":   `"modes":{"currentModeId":"auto","availableModes":[{"id":"default","name":"Manual"},{"id":"plan","name":"Plan"},{"id":"auto","name":"Auto"}]},"configOptions":[{"id":"mode","category":"mode","type":"select","currentValue":"default","options":[]}]`,
	"gemini":   `"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"yolo"},{"id":"plan"}]},"models":{"currentModelId":"auto","availableModels":[{"modelId":"auto","name":"Auto"},{"modelId":"pro","name":"Pro"}]}`,
	"codex":    `"modes":{"currentModeId":"agent","availableModes":[{"id":"read-only"},{"id":"workspace-write"},{"id":"agent"}]},"models":null,"configOptions":null`,
}

// Files that a test gives the player, by variables.
const (
	logVariable   = "PLAYER_LOG"   // gets a line for each message that it hears
	failVariable  = "PLAYER_FAIL"  // the errors of requests, {"method":{...}}
	stateVariable = "PLAYER_STATE" // a file; while it is not there, it makes it and dies of the migration
	leaveVariable = "PLAYER_LEAVE" // a file for the id of a process that it leaves behind
	storyVariable = "PLAYER_STORY" // steps that session/load and session/resume play before their answer
)

func play(name string) {
	migrate()
	leave()
	p := &player{name: name, waiting: map[int]chan answeredFrame{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		note(in.Text())
		var m answeredFrame
		if err := json.Unmarshal(in.Bytes(), &m); err == nil { // or it answers what nobody waits for
			p.take(m)
		}
	}
	syscall.Exit(0)
}

func migrate() {
	file := os.Getenv(stateVariable)
	if file == "" {
		return
	}
	if _, err := os.Stat(file); err != nil {
		os.WriteFile(file, nil, 0o600)
		fmt.Fprintln(os.Stderr, "Failed query: CREATE TABLE workspace")
		syscall.Exit(1)
	}
}

func leave() {
	if file := os.Getenv(leaveVariable); file != "" {
		native := exec.Command(os.Args[0], "sleep")
		native.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := native.Start(); err != nil {
			panic(err)
		}
		os.WriteFile(file, fmt.Append(nil, native.Process.Pid), 0o600)
	}
}

func note(line string) {
	if file, err := os.OpenFile(os.Getenv(logVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		file.WriteString(line + "\n")
		file.Close()
	}
}

var speaking sync.Mutex

func say(format string, args ...any) {
	speaking.Lock()
	defer speaking.Unlock()
	fmt.Printf(format+"\n", args...)
}

// frame is a piece of text.
const frame = `{"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","messageId":"m0","content":{"type":"text","text":"%s"}}}}`

func (p *player) take(m answeredFrame) {
	fails := map[string]json.RawMessage{}
	json.Unmarshal([]byte(os.Getenv(failVariable)), &fails)
	session := `"sessionId":"s1"`
	switch {
	case m.Method == "":
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiting[*m.ID] <- m
	case fails[m.Method] != nil:
		say(`{"id":%d,"error":%s}`, *m.ID, fails[m.Method])
	case m.Method == "initialize":
		say(`{"id":%d,"result":%s}`, *m.ID, greetings[p.name])
	case m.Method == "session/new", m.Method == "session/load", m.Method == "session/resume":
		if m.Method != "session/new" {
			session = `"_meta":{}`
			p.play(os.Getenv(storyVariable), 0)
		}
		say(`{"id":%d,"result":{%s}}`, *m.ID, strings.TrimSuffix(session+","+offers[p.name], ","))
	case m.Method == "session/list":
		say(`{"id":%d,"result":{"sessions":[{"sessionId":"s1"}],"nextCursor":null}}`, *m.ID)
	case m.Method == "session/cancel":
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.cancel)
	case m.Method == "session/prompt":
		p.prompt(m)
	default:
		say(`{"id":%d,"result":{}}`, *m.ID)
	}
}

func (p *player) prompt(m answeredFrame) {
	var blocks []struct{ Text string }
	if err := json.Unmarshal(m.Params["prompt"], &blocks); err != nil {
		panic(err)
	}
	p.mu.Lock()
	p.cancel = make(chan struct{})
	p.mu.Unlock()
	go p.play(blocks[len(blocks)-1].Text, *m.ID)
}

func (p *player) play(script string, id int) {
	if script == "" {
		return
	}
	var steps []step
	if err := json.Unmarshal([]byte(script), &steps); err != nil {
		panic(err)
	}
	for _, s := range steps {
		p.do(s, id)
	}
}

func (p *player) do(s step, id int) {
	switch {
	case s.Update != nil:
		if s.From == "" {
			s.From = "s1"
		}
		say(`{"method":"session/update","params":{"sessionId":%q,"update":%s}}`, s.From, s.Update)
	case s.Ask != nil:
		p.ask(s)
	case s.Call != "":
		a := p.request(s.Call, `{}`, false)
		say(frame, strconv.Itoa(a.Error.Code))
	case s.Deaf:
		<-p.cancel
	case s.Answer != nil:
		say(`{"id":%d,"result":%s}`, id, s.Answer)
	case s.Error != nil:
		say(`{"id":%d,"error":%s}`, id, s.Error)
	case s.Line > 0:
		say(frame, strings.Repeat("x", s.Line-len(frame)+len("%s")-len("\n")))
	case s.Raw != "":
		say("%s", s.Raw)
	case s.Exit != nil:
		fmt.Fprintln(os.Stderr, "that was all")
		syscall.Exit(*s.Exit)
	}
}

// ask asks for a permission, and says the option that was selected, or that the
// request was cancelled.
func (p *player) ask(s step) {
	a := p.request("session/request_permission", string(s.Ask), s.Retake)
	var r struct {
		Outcome struct{ Outcome, OptionID string } `json:"outcome"`
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		panic(err)
	}
	text := r.Outcome.Outcome
	if text == "selected" {
		text = r.Outcome.OptionID
	}
	if s.Quiet {
		return
	}
	say(frame, text)
}

func (p *player) request(method, params string, retake bool) answeredFrame {
	p.mu.Lock()
	id := p.asked // 0 is a valid id
	p.asked++
	answer := make(chan answeredFrame, 1)
	p.waiting[id] = answer
	p.mu.Unlock()
	say(`{"id":%d,"method":%q,"params":%s}`, id, method, params)
	if retake {
		say(`{"method":"$/cancel_request","params":{"requestId":%d}}`, id)
	}
	return <-answer
}
