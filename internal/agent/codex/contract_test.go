package codex_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func TestTheContract(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			h := &home{model: model.Model, threads: map[string]*past{}}
			return codex.New(serve(t, h.play)), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: touch,
	})
}

// touch asks because it is to run outside of the sandbox.
func touch(path string) string {
	return fakemodel.Tool("exec_command", map[string]string{
		"cmd": "touch " + path, "sandbox_permissions": "require_escalated", "justification": "it is needed",
	})
}

// home is what app-servers share: the threads of their disk, and the model that
// they ask.
type home struct {
	model *fakemodel.Model

	mu      sync.Mutex
	threads map[string]*past
}

// past is what is kept of a thread.
type past struct {
	mu       sync.Mutex
	messages []fakemodel.Message
	used     fakemodel.TokenCount
}

func (p *past) keep(m fakemodel.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = append(p.messages, m)
}

// server is one process, in which one turn runs at a time.
type server struct {
	*peer
	home   *home
	thread string
	past   *past

	turn    string
	end     context.CancelFunc // of the turn
	over    chan struct{}      // closed when there is no turn
	granted map[string]bool    // commands, for the session

	mu    sync.Mutex
	last  int
	waits map[string]chan string // decisions, by the id of their request
}

func (h *home) play(p *peer) {
	s := &server{peer: p, home: h, granted: map[string]bool{}, waits: map[string]chan string{}, over: make(chan struct{})}
	close(s.over)
	s.end = func() {}
	for f, ok := p.next(); ok; f, ok = p.next() {
		s.handle(f)
	}
	s.end()
	<-s.over
}

func (s *server) handle(f frame) {
	var params struct {
		ThreadID            string
		ClientUserMessageID string
		Input               []struct{ Text string }
	}
	json.Unmarshal(f.Params, &params)
	switch f.Method {
	case "initialize":
		s.answer(f, `{}`)
	case "initialized":
	case "model/list":
		s.answer(f, `{"data":[{"id":"fake-model","model":"fake-model","displayName":"Fake","description":"none","isDefault":true}],"nextCursor":null}`)
	case "thread/start":
		s.open(f, uuid.NewString(), &past{})
	case "thread/resume":
		s.home.mu.Lock()
		kept := s.home.threads[params.ThreadID]
		s.home.mu.Unlock()
		if kept == nil {
			s.say(`{"id":%s,"error":{"code":-32600,"message":"no rollout found for thread id `+params.ThreadID+`"}}`, f.ID)
			return
		}
		s.open(f, params.ThreadID, kept)
	case "turn/start":
		s.begin(f, params.ClientUserMessageID, params.Input[0].Text)
	case "turn/interrupt":
		s.answer(f, `{}`)
		s.end()
	case "":
		s.decided(f)
	default:
		s.Errorf("the adapter asks for %s", f.Method)
	}
}

func (s *server) open(f frame, id string, kept *past) {
	s.thread, s.past = id, kept
	s.answer(f, `{"thread":{"id":"`+id+`"},"sandbox":{"type":"workspaceWrite","networkAccess":false},"approvalPolicy":"on-request"}`)
	s.notify("thread/started", `"thread":{"id":"`+id+`"}`)
}

// notify tells something of the thread; more are further members.
func (s *server) notify(method, more string, args ...any) {
	s.say(`{"method":"`+method+`","params":{"threadId":"`+s.thread+`","turnId":"`+s.turn+`",`+more+`}}`, args...)
}

func (s *server) begin(f frame, client, text string) {
	s.home.mu.Lock()
	s.home.threads[s.thread] = s.past // a thread without a turn is not kept
	s.home.mu.Unlock()
	s.past.keep(fakemodel.Message{Role: fakemodel.User, Texts: []string{text}})
	<-s.over
	ctx, end := context.WithCancel(context.Background())
	s.turn, s.end, s.over = uuid.NewString(), end, make(chan struct{})
	s.answer(f, `{"turn":{"id":"`+s.turn+`","status":"inProgress"}}`)
	s.notify("turn/started", `"turn":{"id":"`+s.turn+`"}`)
	s.notify("item/started", `"item":{"type":"userMessage","id":"m","clientId":%s}`, client)
	go s.run(ctx, s.over)
}

// run runs a turn, and tells its end.
func (s *server) run(ctx context.Context, over chan struct{}) {
	defer close(over)
	status, problem := "completed", "null"
	for again := true; again && status == "completed"; {
		again, status, problem = s.round(ctx)
	}
	s.notify("thread/status/changed", `"status":{"type":"idle"}`)
	s.notify("turn/completed", `"turn":{"id":"`+s.turn+`","items":[],"status":"`+status+`","error":`+problem+`}`)
}

// round asks the model once, and makes the calls that it wants.
func (s *server) round(ctx context.Context) (again bool, status, problem string) {
	s.past.mu.Lock()
	q := fakemodel.Request{Tools: []string{"exec_command"}, Messages: append([]fakemodel.Message{}, s.past.messages...)}
	s.past.mu.Unlock()
	r := s.home.model.Reply(q)
	if fault := r.Fault; fault != nil && fault.Hang {
		<-ctx.Done()
	} else if fault != nil {
		said, _ := json.Marshal(string(fault.Body()))
		return false, "failed", `{"message":` + string(said) + `,"codexErrorInfo":"other"}`
	}
	item := "msg_" + uuid.NewString()
	for _, piece := range r.Pieces {
		s.notify("item/agentMessage/delta", `"itemId":"`+item+`","delta":%s`, piece)
		select {
		case <-ctx.Done():
		case <-time.After(r.Pace):
		}
	}
	if ctx.Err() != nil {
		return false, "interrupted", "null"
	}
	if len(r.Pieces) > 0 {
		s.notify("item/completed", `"item":{"type":"agentMessage","id":"`+item+`","text":%s}`, r.Text())
	}
	s.past.keep(fakemodel.Message{Role: fakemodel.Assistant, Texts: []string{r.Text()}, Calls: r.Calls})
	s.count(r.Usage)
	return len(r.Calls) > 0, s.calls(ctx, r.Calls), "null"
}

func (s *server) count(u fakemodel.TokenCount) {
	s.past.used.Input += u.Input
	s.past.used.Output += u.Output
	s.past.used.Cached += u.Cached
	tally := func(u fakemodel.TokenCount) string {
		return fmt.Sprintf(`{"inputTokens":%d,"outputTokens":%d,"cachedInputTokens":%d,"totalTokens":%d}`, u.Input, u.Output, u.Cached, u.Input+u.Output)
	}
	s.notify("thread/tokenUsage/updated", `"tokenUsage":{"total":`+tally(s.past.used)+`,"last":`+tally(u)+`,"modelContextWindow":258400}`)
}

// calls makes calls one after the other, and says how the turn then is.
func (s *server) calls(ctx context.Context, calls []fakemodel.ToolCall) string {
	status := "completed"
	results := make([]fakemodel.Result, 0, len(calls))
	for _, c := range calls {
		result := fakemodel.Result{CallID: c.ID, Text: "aborted by the user", Error: true}
		if status == "completed" {
			status = s.call(ctx, c, &result)
		}
		results = append(results, result)
	}
	s.past.keep(fakemodel.Message{Role: fakemodel.User, Results: results})
	return status
}

func (s *server) call(ctx context.Context, c fakemodel.ToolCall, result *fakemodel.Result) (status string) {
	var in struct {
		Cmd     string
		Sandbox string `json:"sandbox_permissions"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		s.Error(err)
	}
	item := func(what, status, more string) {
		s.notify("item/"+what, `"item":{"type":"commandExecution","id":"`+c.ID+`","command":%s,"status":"`+status+`"`+more+`}`, in.Cmd)
	}
	item("started", "inProgress", "")
	decision := "accept"
	if in.Sandbox == "require_escalated" && !s.granted[in.Cmd] {
		decision = s.ask(ctx, c.ID, in.Cmd)
	}
	switch decision {
	case "acceptForSession":
		s.granted[in.Cmd] = true
		fallthrough
	case "accept":
		out, err := exec.Command("/bin/sh", "-c", in.Cmd).CombinedOutput()
		result.Text, result.Error = strings.TrimSpace(string(out)+" done"), err != nil
		item("completed", "completed", `,"exitCode":0,"aggregatedOutput":"done"`)
		return "completed"
	case "decline":
		result.Text = "rejected by user"
		item("completed", "declined", "")
		return "completed"
	case "cancel":
		item("completed", "declined", "")
	}
	return "interrupted"
}

// ask asks for a decision; it is empty when the turn ends first.
func (s *server) ask(ctx context.Context, call, command string) string {
	s.mu.Lock()
	id := fmt.Sprint(s.last)
	s.last++
	decision := make(chan string, 1)
	s.waits[id] = decision
	s.mu.Unlock()
	s.say(`{"id":`+id+`,"method":"item/commandExecution/requestApproval","params":{"threadId":"`+s.thread+`","turnId":"`+s.turn+
		`","itemId":"`+call+`","command":%s}}`, command)
	defer s.notify("serverRequest/resolved", `"requestId":`+id)
	select {
	case d := <-decision:
		return d
	case <-ctx.Done():
		return ""
	}
}

func (s *server) decided(f frame) {
	var result struct{ Decision string }
	json.Unmarshal(f.Result, &result)
	s.mu.Lock()
	wait := s.waits[string(f.ID)]
	delete(s.waits, string(f.ID))
	s.mu.Unlock()
	if wait == nil || result.Decision == "" {
		s.Errorf("nobody asked for %s with %s", f.ID, f.Result)
		return
	}
	wait <- result.Decision
}
