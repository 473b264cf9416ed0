package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// toolProgram is an MCP server as an ACP client is given it.
type toolProgram struct {
	Name, Command string
	Args          []string
}

// toolPlayer is the part of the talker that calls tools: a prompt "call TOOL JSON" has it start the first server, call the
// tool and note the answer in the ledger. A call that was cut off by the end of its process is made again when the
// agent is asked to continue.
type toolPlayer struct {
	dir     string
	servers []toolProgram
}

func (p toolPlayer) play(text string) {
	pending := filepath.Join(p.dir, "pending-call")
	if !strings.HasPrefix(text, "call ") {
		b, err := os.ReadFile(pending)
		if err != nil {
			return
		}
		text = string(b)
	} else if err := os.WriteFile(pending, []byte(text), 0o600); err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(text, " ")
	tool, input, _ := strings.Cut(rest, " ")
	input, _, _ = strings.Cut(input, "}")
	answer, err := p.call(tool, json.RawMessage(input+"}"))
	if _, answered := errors.AsType[*jsonrpc.Error](err); err != nil && !answered && !errors.Is(err, errOfTool) {
		time.Sleep(time.Hour) // the worker is gone, and this process ends with it
	}
	if err != nil {
		answer = "failed: " + err.Error()
	}
	noteLine(p.dir, "tool "+answer)
	if err := os.Remove(pending); err != nil {
		panic(err)
	}
}

func (p toolPlayer) call(tool string, input json.RawMessage) (string, error) {
	if len(p.servers) == 0 {
		return "", fmt.Errorf("%w: the agent has no server", errOfTool)
	}
	ctx := context.Background()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "talker", Version: "1"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: exec.Command(p.servers[0].Command, p.servers[0].Args...)}, nil)
	if err != nil {
		return "", err
	}
	defer s.Close()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: input})
	if err != nil {
		return "", err
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return "", fmt.Errorf("%w: %s", errOfTool, text)
	}
	return text, nil
}

var errOfTool = errors.New("the tool refuses")

// startCall is a prompt that has the talker start a run.
const startCall = `call ratchet_run_start {"goal":"append a line"}`

// newStarter starts a session of the talker that may start runs unasked. Without the box of the worker its runs ask at
// their first step.
func (s *fixture) newStarter(t *testing.T, queue string) *sessionFixture {
	t.Helper()
	talk := t.TempDir()
	in := session.Input{Provider: fmt.Sprintf("acp:%s %s %s", os.Args[0], asTalker, talk), Tools: run.AllowTools, Runs: s.newGrant()}
	return s.at(queue).openSession(t, talk, in)
}

// newGrant lets a session start two runs at once and three in all.
func (s *fixture) newGrant() *session.Grant {
	template := session.Tighten(s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")})))
	template.RunID, template.Goal, template.Repository.Base = "", "", ""
	return &session.Grant{Run: template, Total: 3, AtOnce: 2}
}

// started returns the runs that the engine has of the session.
func (h *sessionFixture) started(t *testing.T) (found []run.Input) {
	t.Helper()
	client := runs.New(h.client, h.queue)
	list, err := client.List(t.Context(), runs.Filter{Repository: h.repo})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		events, err := client.Events(t.Context(), l.ID, "")
		if err != nil || len(events) == 0 {
			continue
		}
		if created, ok := events[0].Payload.(run.RunCreated); ok && created.Input.Session == string(h.id) {
			found = append(found, created.Input)
		}
	}
	return found
}

// mustHaveRuns waits until the session has started so many runs, and compares the branches that there are for them.
func (h *sessionFixture) mustHaveRuns(t *testing.T, want int) {
	t.Helper()
	if want == 0 {
		return
	}
	var found []run.Input
	eventually.Holds(t, "the runs of the session", func() bool {
		found = h.started(t)
		return len(found) >= want || len(h.answers()) > 0 && strings.Contains(h.answers()[0], "failed")
	})
	var branches []string
	for _, in := range found {
		branches = append(branches, in.BranchName())
		if in.Tell != string(h.id) || in.Policy != run.Always || in.Tools != run.AskTools || in.Sandbox != run.SandboxRequired {
			t.Errorf("it is started with %+v", in)
		}
	}
	if len(found) != want {
		t.Fatalf("%d runs, want %d; the agent was told %q", len(found), want, h.answers())
	}
	if got := h.answers(); len(got) != 1 || !strings.Contains(got[0], string(found[0].RunID)) {
		t.Errorf("the agent was told %q, and the run is %s", got, found[0].RunID)
	}
	// Another session of the fixture makes its branch before its run, and a list is late.
	eventually.Holds(t, "each branch belongs to a run", func() bool {
		return !slices.ContainsFunc(h.runBranches(), func(b string) bool {
			return !slices.Contains(branches, b) && strings.HasSuffix(b, "-append-a-line") && !h.isOthers(b)
		})
	})
}

// runBranches returns the branches of the repository that have the form of a run's.
func (h *sessionFixture) runBranches() []string {
	return strings.Fields(h.git("-C", h.repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/ratchet/"))
}

// isOthers reports whether a run of another session of the fixture has the branch.
func (h *sessionFixture) isOthers(branch string) bool {
	list, err := runs.New(h.client, h.queue).List(h.t.Context(), runs.Filter{Repository: h.repo})
	return err == nil && slices.ContainsFunc(list, func(l runs.Listed) bool {
		return strings.HasPrefix(branch, fmt.Sprintf("ratchet/%d-", l.Name.Number()))
	})
}

// answers returns what the tools have answered.
func (h *sessionFixture) answers() (lines []string) {
	b, _ := os.ReadFile(filepath.Join(h.talk, "ledger"))
	for line := range strings.Lines(string(b)) {
		if answer, ok := strings.CutPrefix(strings.TrimSpace(line), "tool "); ok {
			lines = append(lines, answer)
		}
	}
	return lines
}

// ask has the agent call a tool, and returns the answer.
func (h *sessionFixture) ask(t *testing.T, id, call string) string {
	t.Helper()
	before := len(h.answers())
	h.say(t, id, call)
	if p := h.past(t, id); p.Outcome != session.Completed {
		t.Fatalf("%s: %+v", call, p)
	}
	all := h.answers()
	if len(all) != before+1 {
		t.Fatalf("%s: %d answers", call, len(all)-before)
	}
	return all[before]
}

// TestAnAgentStartsRunsFromItsBox has an agent in the box start runs by the tools of its session. A person permits the
// start; the run has the bounds of the grant; the session is told when it waits. Everything else is refused.
func TestAnAgentStartsRunsFromItsBox(t *testing.T) {
	s := newOwnFixture(t)
	need.Sandbox(t)
	s.sandbox = run.SandboxRequired
	others := s.start(s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one")})))
	in := session.Input{
		ID: session.ID(uuid.NewString()), Provider: fmt.Sprintf("acp:%s %s .", os.Args[0], asTalker), Tools: run.AskTools, Sandbox: run.SandboxRequired,
		Repository: run.Repository{Path: s.repo, Base: s.base}, Runs: s.newGrant(),
	}
	h := &sessionFixture{fixture: s, talk: filepath.Join(s.runs.Session(string(in.ID)).Path(), "checkout", "tree"), id: in.ID}
	if err := h.sessions().Start(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	s.spawn()

	h.say(t, "m1", startCall)
	h.approve(t)
	if p := h.past(t, "m1"); p.Outcome != session.Completed {
		t.Fatalf("m1: %+v", p)
	}
	h.mustHaveRuns(t, 1)
	id := string(h.started(t)[0].RunID)
	eventually.Holds(t, "word of the wait", func() bool {
		v, ok := h.deliveries(t)
		return ok && slices.ContainsFunc(v.Fold.Queue, func(e delivery.Entry) bool { return strings.HasPrefix(e.Batch.ID, id) })
	})
	for i, tt := range []struct{ call, want string }{
		{`call ratchet_run {"run":"` + id + `"}`, "it needs the approval of a patch"},
		{`call ratchet_run_wait {"run":"` + id + `","seconds":1}`, "it needs the approval of a patch"},
		{`call ratchet_runs {}`, id},
		{`call ratchet_run {"run":"` + strings.TrimPrefix(others.GetID(), "run-") + `"}`, "has started no run"},
		{`call ratchet_approve {"run":"` + id + `"}`, "unknown tool"},
		{`call ratchet_run_start {"goal":"x","approve":"never"}`, "approve"},
		{`call ratchet_run_start {"goal":""}`, "the goal is empty"},
		{`call ratchet_run_start {"goal":"` + strings.Repeat("x", run.MaxGoalBytes+1) + `"}`, "at most"},
		{`call ratchet_run_start {"goal":"\u001b[2J"}`, "not printable"},
		{`call ratchet_run_start {"goal":"\u202etxt"}`, "not printable"},
		{`call ratchet_run_start {"goal":"x","key":"../../x"}`, "the key"},
	} {
		if got := h.ask(t, fmt.Sprintf("a%d", i), tt.call); !strings.Contains(got, tt.want) {
			t.Errorf("%.120s: %.300s", tt.call, got)
		}
	}
	eventually.Holds(t, "one run is started", func() bool { return len(h.started(t)) == 1 })

	h.say(t, "m2", `call ratchet_run_start {"goal":"two","key":"k"}`)
	h.approve(t)
	h.past(t, "m2")
	for i, tt := range []struct{ call, want string }{
		{`call ratchet_run_start {"goal":"two","key":"k"}`, `"again":true`},
		{`call ratchet_run_start {"goal":"three","key":"k"}`, "another goal"},
		{startCall, "its limit"}, // in another turn it is another run
	} {
		if got := h.ask(t, fmt.Sprintf("b%d", i), tt.call); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.300s", tt.call, got)
		}
	}
	eventually.Holds(t, "two runs are started", func() bool { return len(h.started(t)) == 2 })
}
