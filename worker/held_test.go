package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// place is where a run stays until it is let on, its worker in the middle of an
// activity.
type place string

const (
	atCall  place = "call"
	atCheck place = "check"
	atApply place = "apply"
	atAgent place = "agent"
)

var places = []place{atCall, atCheck, atApply, atAgent}

// heldRun is a run that stays at a place.
type heldRun struct {
	*scripted
	*fixture
	place place
	log   string // a line for each failpoint that its workers reach
}

// hold begins a run that will stay at the place. It has a task queue of its own;
// kind says what its worker is, as the value of asWorker.
func (s *fixture) hold(p place, kind string) (*heldRun, *workerProcess) {
	s.t.Helper()
	sc := newScript(run.Never, "true").patch("execute-1", edit{file: "log.txt", line: "one"})
	if p == atAgent {
		sc = newScript(run.Never, "true")
	}
	there := s.at(fmt.Sprintf("held-%s-%s", p, kind))
	h := &heldRun{scripted: there.follow(sc, 0), fixture: there, place: p}
	h.in.NoBaseline = true
	h.log = filepath.Join(h.answers, "failpoints")
	switch p {
	case atCall, atApply:
		s.put(h.file("hold.execute-1"), "")
	case atCheck:
		s.put(h.file("hold.check"), "")
		h.in.Checks = []string{fmt.Sprintf("trap '' TERM; echo x >>%[1]s; while test -e %[2]s; do sleep 0.05; done", h.file("checked"), h.file("hold.check"))}
	case atAgent:
		s.put(h.file("hold.agent"), "")
		h.in.Providers.Developer = fmt.Sprintf("acp:%s %s %s", os.Args[0], asAgent, h.answers)
	}
	w := h.spawn(asWorker+"="+kind, "RATCHET_FAILPOINT_LOG="+h.log)
	h.start(h.in)
	if p == atApply {
		eventually.Holds(s.t, "the call before the application", func() bool { return h.lines("ledger", "execute-1") == 1 })
		h.lockBranch()
		h.remove("hold.execute-1")
	}
	eventually.Holds(s.t, "the run at its "+string(p), func() bool { return h.begun() == 1 })
	return h, w
}

func (h *heldRun) file(name string) string { return filepath.Join(h.answers, name) }

func (h *heldRun) remove(name string) {
	if err := os.Remove(h.file(name)); err != nil {
		h.t.Error(err)
	}
}

// begun is how often what is held was begun.
func (h *heldRun) begun() int {
	switch h.place {
	case atCheck:
		return h.lines("checked", "x")
	case atApply:
		return h.lines("failpoints", "workspace.before-update-ref")
	case atAgent:
		return h.lines("prompts", "x")
	}
	return h.lines("ledger", "execute-1")
}

func (h *heldRun) lines(name, want string) (n int) {
	b, _ := os.ReadFile(h.file(name)) // not there: none
	for line := range strings.Lines(string(b)) {
		if strings.TrimSpace(line) == want {
			n++
		}
	}
	return n
}

// branchLock is git's own lock of the run's branch, which a worker waits for as
// long as it is young.
func (h *heldRun) branchLock() string {
	return filepath.Join(h.repo, ".git", "refs", "heads", h.in.RunID.Branch()+".lock")
}

func (h *heldRun) lockBranch() {
	h.t.Helper()
	h.put(h.branchLock(), "")
	go func() {
		for os.Chtimes(h.branchLock(), time.Time{}, time.Now()) == nil { // until it is removed
			time.Sleep(100 * time.Millisecond)
		}
	}()
}

// let lets the run on.
func (h *heldRun) let() {
	h.t.Helper()
	switch h.place {
	case atApply:
		if err := os.Remove(h.branchLock()); err != nil {
			h.t.Error(err)
		}
	case atCall:
		h.remove("hold.execute-1")
	default:
		h.remove("hold." + string(h.place))
	}
}

// finished fails unless the run comes to its end as its script says.
func (h *heldRun) finished(t *testing.T, kills int) {
	t.Helper()
	h.finish(t.Context(), h.scripted)
	if h.place == atAgent {
		delete(h.script.answers, "execute-1")
	}
	h.verify(t, h.scripted, kills)
}

// asAgent, as the first argument, makes the test binary an ACP agent that keeps a
// ledger of its prompts and does nothing. Its second argument is where.
const asAgent = "play-agent"

func playAgent(dir string) {
	answers := map[string]string{
		"initialize":  `{"protocolVersion":1,"agentInfo":{"name":"held","version":"1"},"agentCapabilities":{"loadSession":true}}`,
		"session/new": `{"sessionId":"s1"}`, "session/load": `{}`,
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var m struct {
			ID     *int
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := answers[m.Method]
		if m.Method == "session/prompt" {
			f, err := os.OpenFile(filepath.Join(dir, "prompts"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			fmt.Fprintln(f, "x")
			f.Close()
			for _, err := os.Stat(filepath.Join(dir, "hold.agent")); err == nil; _, err = os.Stat(filepath.Join(dir, "hold.agent")) {
				time.Sleep(20 * time.Millisecond)
			}
			text, _ := json.Marshal("<<<AIO_RESULT_START>>>\ntype: NOOP\nreason: nothing to do\n<<<AIO_RESULT_END>>>\n")
			fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`+"\n", text)
			result = `{"stopReason":"end_turn"}`
		}
		if result == "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no such method"}}`+"\n", *m.ID)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", *m.ID, result)
	}
}

// hasty, as the value of asWorker, makes the test binary a worker whose
// activities are missed after 2 s without a heartbeat.
const hasty = "hasty"

type hastener struct {
	interceptor.WorkerInterceptorBase
}

func (*hastener) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &hastenerIn{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type hastenerIn struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *hastenerIn) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&hastenerOut{interceptor.WorkflowOutboundInterceptorBase{Next: out}})
}

type hastenerOut struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (o *hastenerOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	return o.Next.ExecuteActivity(workflow.WithHeartbeatTimeout(ctx, 2*time.Second), name, args...)
}
