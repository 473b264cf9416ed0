package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// path is a way that a session can take.
type path struct {
	name   string
	config func(*activities.Config)
	take   func(*testing.T, *stage)
}

// runTool is a call for which the agent asks.
const runTool = `[[tool:run {"command":"make"}]]`

// reading is a message during which the agent is heard, and then hangs once.
const reading = `[[tool:read {"path":"a.txt"}]][[hang:1]][[say:read it]]`

var paths = []path{
	{"talks", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{Title: "a talk"})
		s.say("m1", "[[say:one]]")
		s.say("m2", "[[say:two]]")
		p := s.answer("m1", session.Completed, "one")
		s.answer("m2", session.Completed, "two")
		for _, ref := range []run.Ref{p.Answer, p.Transcript} {
			if b, err := s.runs.Session(string(s.id)).Dir().Load(ref); err != nil || !strings.Contains(string(b), "one") {
				t.Errorf("%s: %q, %v", ref.Name, b, err)
			}
		}
		if err := s.send(sessionflow.InterruptUpdate, sessionflow.By{}); err == nil {
			t.Error("an idle session is interrupted")
		}
		if err := s.send(sessionflow.SayUpdate, session.Message{ID: "m3"}); err == nil {
			t.Error("an empty message is taken")
		}
	}},
	{"changes-files", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", `[[tool:write {"path":"new.txt","content":"made\n"}]][[say:done]]`)
		s.answer("m1", session.Completed, "done")
		var ref run.Ref
		s.must(sessionflow.DiffUpdate, sessionflow.By{})
		res, _ := s.retire()
		ref = res.Changes
		if b, err := s.runs.Session(string(s.id)).Dir().Load(ref); err != nil || !strings.Contains(string(b), "+made") {
			t.Errorf("diff %q, %v", b, err)
		}
		if _, err := os.Stat(filepath.Join(s.repo.Path, "new.txt")); err == nil {
			t.Error("the user's repository was changed")
		}
		if _, err := os.Stat(filepath.Join(s.runs.Session(string(s.id)).Path(), "checkout")); err == nil {
			t.Error("the checkout is left")
		}
	}},
	{"asks", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", runTool+runTool+"[[say:made]]")
		s.decide(run.Decision{Decision: run.Approve})
		s.await("asks again", func(snap session.Snapshot) bool { return snap.Gates == 2 && snap.State == session.Asking })
		s.decide(run.Decision{Decision: run.Reject, Reason: "once is enough"})
		s.answer("m1", session.Completed, "made")
		if ran := s.fake.Ran(); len(ran) != 1 {
			t.Errorf("ran %v", ran)
		}
	}},
	{"asks-and-tells-people", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{Notify: []run.Channel{run.CommandChannel}})
		s.say("m1", runTool+"[[say:made]]")
		s.decide(run.Decision{Decision: run.Approve})
		s.answer("m1", session.Completed, "made")
		if _, err := temporalclient.Describe(t.Context(), s.Client, "notice-session-"+string(s.id)+"-"+s.state().Notified, ""); err != nil {
			t.Errorf("people were told of %q: %v", s.state().Notified, err)
		}
	}},
	{"decided-by-a-line", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", runTool+"[[say:made]]")
		s.signal(sessionflow.AnswerMessage, "not an answer")
		s.signal(sessionflow.ApprovalMessage, map[string]any{"approvalId": "apr-1", "decision": "approved"})
		asking := s.awaitState(session.Asking)
		s.signal(sessionflow.ApprovalMessage, "approve "+asking.Pending().Asks[0].ApprovalID)
		p := s.answer("m1", session.Completed, "made")
		if refused := s.state().RefusedSignals; len(refused) != 2 || refused[0].Signal != sessionflow.AnswerMessage || !strings.Contains(refused[1].Reason, "approve, reject or edit") {
			t.Errorf("refused %+v; the message: %+v", refused, p)
		}
	}},
	{"asks-and-is-lost", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", runTool+"[[say:made]]")
		s.awaitState(session.Asking)
		s.lose("RunProcess")
		s.await("waits without a process", func(snap session.Snapshot) bool { return snap.State == session.Asking && snap.Process == nil })
		s.decide(run.Decision{Decision: run.Approve})
		s.answer("m1", session.Completed, "made")
		if ran := s.fake.Ran(); len(ran) != 1 {
			t.Errorf("ran %v", ran)
		}
	}},
	{"rejects-for-good", nil, func(_ *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", runTool+"[[say:made]]")
		s.decide(run.Decision{Decision: run.Reject, Final: true})
		s.answer("m1", session.Interrupted, "")
	}},
	{"dies-in-a-turn", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", reading)
		s.heard("m1")
		s.fake.Crash()
		if p := s.answer("m1", session.Completed, "read it"); p.Resumes != 1 {
			t.Errorf("%+v", p)
		}
	}},
	{"is-lost-in-a-turn", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", reading)
		s.heard("m1")
		s.lose("RunProcess")
		if p := s.answer("m1", session.Completed, "read it"); p.Resumes != 1 {
			t.Errorf("%+v", p)
		}
		if n := len(s.fake.Starts()); n != 2 {
			t.Errorf("%d starts", n)
		}
	}},
	{"is-lost-in-a-later-part", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", `[[tool:read {"path":"a.txt"}]][[hang:2]][[say:read it]]`)
		s.spends("m1")
		s.lose("RunProcess")
		s.await("continues m1", func(snap session.Snapshot) bool {
			b, _ := s.runs.Session(string(s.id)).Note()
			return snap.Turn != nil && snap.Turn.Parts == 1 && strings.Contains(string(b), `"part":1`)
		})
		s.lose("RunProcess")
		if p := s.answer("m1", session.Unknown, ""); p.Usage.TotalTokens == 0 || s.state().Usage != p.Usage {
			t.Errorf("used %+v, %+v in all", p.Usage, s.state().Usage)
		}
	}},
	{"is-lost-while-idle", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", "[[say:one]]")
		s.answer("m1", session.Completed, "one")
		s.lose("RunProcess")
		s.await("is resumed", func(snap session.Snapshot) bool { return snap.State == session.Idle && snap.Epochs == 2 })
		s.say("m2", "say no more")
		s.answer("m2", session.Completed, "ECHO: say no more")
		if starts := s.fake.Starts(); starts[1].Resume == "" || starts[1].Resume != s.state().Agent {
			t.Errorf("resumed %q", starts[1].Resume)
		}
	}},
	{"dies-while-idle", nil, func(_ *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", "[[say:one]]")
		s.answer("m1", session.Completed, "one")
		s.fake.Crash()
		s.awaitState(session.Dead)
		s.say("m2", "[[say:two]]")
		s.answer("m2", session.Completed, "two")
	}},
	{"is-overridden", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{Model: "small", Setup: setup.Options{Mode: "plan"}})
		s.say("m1", "[[say:one]]")
		s.answer("m1", session.Completed, "one")
		s.must(sessionflow.SayUpdate, session.Message{ID: "m2", Text: "[[say:two]]", Override: setup.Choice{Model: "large"}})
		s.say("m3", "[[say:three]]")
		s.answer("m3", session.Completed, "three")
		if got := s.chosen(); got != "small plan, large plan, small plan" {
			t.Errorf("started with %s", got)
		}
	}},
	{"changes-its-choice", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{Model: "small", Setup: setup.Options{Mode: "plan"}})
		s.say("m1", "[[say:one]]")
		s.answer("m1", session.Completed, "one")
		large, none, flag := "large", "", "--yolo"
		s.must(sessionflow.ChooseUpdate, sessionflow.Choosing{Change: setup.Change{Model: &large}, By: "ann"})
		if got := s.listedModel(); got != large {
			t.Errorf("lists show the model %q", got)
		}
		s.awaitState(session.Asleep)
		s.say("m2", "[[say:two]]")
		s.answer("m2", session.Completed, "two")
		s.must(sessionflow.ChooseUpdate, sessionflow.Choosing{Change: setup.Change{Mode: &none}})
		s.awaitState(session.Asleep)
		s.say("m3", "[[say:three]]")
		s.answer("m3", session.Completed, "three")
		for _, bad := range []sessionflow.Choosing{{}, {Change: setup.Change{Mode: &flag}}, {Change: setup.Change{Model: &flag}}} {
			if err := s.send(sessionflow.ChooseUpdate, bad); err == nil {
				t.Errorf("took %+v", bad)
			}
		}
		if got := s.chosen(); got != "small plan, large plan, large " {
			t.Errorf("started with %s", got)
		}
	}},
	{"has-no-place-for-an-option", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{Setup: setup.Options{NoTools: []string{"run"}}})
		s.say("m1", "[[say:one]]")
		if snap := s.awaitState(session.Unable); !strings.Contains(snap.Reason, "acp does not support forbidden tools") {
			t.Errorf("reason %q", snap.Reason)
		}
		if n := len(s.fake.Starts()); n != 0 {
			t.Errorf("%d starts", n)
		}
	}},
	{"uses-up-its-budget", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{MaxTokens: 1000})
		s.say("m1", `[[tool:read {"path":"a.txt"}]][[say:done]]`)
		snap := s.awaitState(session.Asking)
		s.must(sessionflow.AnswerMessage, run.Reply{QuestionID: snap.Question.ID, Text: "1000000"})
		s.answer("m1", session.Completed, "done")
		if snap = s.state(); snap.Usage.TotalTokens <= 1000 {
			t.Errorf("used %d", snap.Usage.TotalTokens)
		}
	}},
	{"uses-up-its-budget-and-sleeps", func(c *activities.Config) { c.Idle = 2 * time.Second }, func(t *testing.T, s *stage) {
		s.begin(session.Input{MaxTokens: 3000})
		s.say("m1", strings.Repeat(`[[tool:read {"path":"a.txt"}]]`, 2)+reading)
		snap := s.await("sleeps with a question", func(snap session.Snapshot) bool { return snap.Question != nil && snap.Process == nil })
		first := snap.Usage.TotalTokens
		s.must(sessionflow.AnswerMessage, run.Reply{QuestionID: snap.Question.ID, Text: "5000"})
		p := s.answer("m1", session.Completed, "read it")
		if snap = s.state(); snap.Usage.TotalTokens != first+p.Usage.TotalTokens || first < 3000 || snap.Gates != 1 {
			t.Errorf("used %d, then %d: %d in all, after %d questions", first, p.Usage.TotalTokens, snap.Usage.TotalTokens, snap.Gates)
		}
	}},
	{"sleeps-and-is-woken", func(c *activities.Config) { c.Idle = 3 * time.Second }, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		for i := range 2 {
			s.say(fmt.Sprint("m", i), "[[say:one]]")
			s.answer(fmt.Sprint("m", i), session.Completed, "one")
			s.awaitState(session.Asleep)
		}
		if n := s.fake.Living(); n != 0 {
			t.Errorf("%d agents live", n)
		}
	}},
	{"is-interrupted", nil, func(_ *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", `[[tool:read {"path":"a.txt"}]][[hang]]`)
		s.heard("m1")
		s.must(sessionflow.InterruptUpdate, sessionflow.By{By: "ann"})
		s.answer("m1", session.Interrupted, "")
		s.say("m2", "[[say:two]]")
		s.answer("m2", session.Completed, "two")
	}},
	{"is-stopped", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", `[[tool:read {"path":"a.txt"}]][[hang]]`)
		s.spends("m1")
		s.say("m2", "[[say:never]]")
		s.must(sessionflow.StopUpdate, sessionflow.By{By: "ann"})
		s.answer("m1", session.Interrupted, "")
		s.answer("m2", session.Withdrawn, "")
		s.awaitState(session.Asleep)
		s.say("m3", "[[say:three]]")
		third := s.answer("m3", session.Completed, "three").Usage
		if first := s.answer("m1", session.Interrupted, "").Usage; first.TotalTokens == 0 || s.state().Usage != first.Add(third) {
			t.Errorf("used %+v, then %+v: %+v in all", first, third, s.state().Usage)
		}
	}},
	{"is-stopped-while-foreign", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{MaxTokens: 3000})
		s.say("m1", "[[usage:2000,10]]"+reading)
		s.spends("m1")
		s.foreign.Store(true)
		s.lose("RunProcess")
		s.awaitState(session.Foreign)
		s.must(sessionflow.StopUpdate, sessionflow.By{})
		s.answer("m1", session.Interrupted, "")
		s.foreign.Store(false)
		s.say("m2", "[[say:two]]")
		s.answer("m2", session.Completed, "two")
		if snap := s.state(); snap.Question == nil || snap.Usage.TotalTokens <= 3000 {
			t.Errorf("used %d, asks %+v", snap.Usage.TotalTokens, snap.Question)
		}
	}},
	{"is-retired-while-foreign", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", reading)
		s.spends("m1")
		s.foreign.Store(true)
		s.lose("RunProcess")
		s.awaitState(session.Foreign)
		if res, _ := s.retire(); res.Usage.TotalTokens == 0 {
			t.Error("the turn that was given up is not counted")
		}
	}},
	{"is-foreign", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", "[[say:one]]")
		s.answer("m1", session.Completed, "one")
		s.must(sessionflow.StopUpdate, sessionflow.By{})
		s.awaitState(session.Asleep)
		s.foreign.Store(true)
		s.say("m2", "[[say:two]]")
		if snap := s.awaitState(session.Foreign); !strings.Contains(snap.Reason, "in another process") {
			t.Errorf("reason %q", snap.Reason)
		}
		if n := len(s.fake.Starts()); n != 1 {
			t.Errorf("%d starts", n)
		}
		s.foreign.Store(false)
		s.answer("m2", session.Completed, "two")
	}},
	{"is-forgotten", nil, func(_ *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", "[[say:one]]")
		s.answer("m1", session.Completed, "one")
		s.must(sessionflow.StopUpdate, sessionflow.By{})
		s.awaitState(session.Asleep)
		s.fake.Refuse = func(o agent.Options) error {
			if o.Resume != "" {
				return agent.ErrNoSession
			}
			return nil
		}
		s.say("m2", "[[say:two]]")
		s.answer("m2", session.Failed, "")
		s.must(sessionflow.SayUpdate, session.Message{ID: "m3", Text: "[[say:three]]", Fresh: true})
		s.answer("m3", session.Completed, "three")
	}},
	{"is-forgotten-in-its-first-turn", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", reading)
		s.heard("m1")
		s.fake.Refuse = func(o agent.Options) error {
			if o.Resume != "" {
				return agent.ErrNoSession
			}
			return nil
		}
		s.lose("RunProcess")
		if p := s.answer("m1", session.CutOff, ""); !strings.Contains(p.Reason, "--fresh") {
			t.Errorf("%+v", p)
		}
	}},
	{"does-not-start", nil, func(_ *testing.T, s *stage) {
		s.fake.Refuse = func(agent.Options) error { return errTest }
		s.begin(session.Input{})
		s.say("m1", "[[say:one]]")
		s.awaitState(session.Unable)
		s.fake.Refuse = nil
		s.answer("m1", session.Completed, "one")
	}},
	{"is-canceled", nil, func(t *testing.T, s *stage) {
		s.begin(session.Input{})
		s.say("m1", `[[tool:read {"path":"a.txt"}]][[hang]]`)
		s.spends("m1")
		if err := s.Client.CancelWorkflow(t.Context(), s.id.WorkflowID(), ""); err != nil {
			t.Fatal(err)
		}
		s.awaitState(session.Retired)
		if err := s.send(sessionflow.SayUpdate, session.Message{ID: "m2", Text: "late"}); err == nil {
			t.Error("a retired session takes a message")
		}
		if res, _ := s.retire(); res.Usage.TotalTokens == 0 {
			t.Error("the turn that was given up is not counted")
		}
	}},
}

// chosen returns the choices of model and mode by which the agent was started.
func (s *stage) chosen() string {
	var chosen []string
	for _, o := range s.fake.Starts() {
		chosen = append(chosen, o.Choice().Model+" "+o.Choice().Mode)
	}
	return strings.Join(chosen, ", ")
}

// listedModel returns the model of the session as lists show it.
func (s *stage) listedModel() string {
	s.t.Helper()
	d, err := temporalclient.Describe(s.t.Context(), s.Client, s.id.WorkflowID(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	return temporalclient.PayloadValue[string](d.GetWorkflowExecutionInfo().GetMemo().GetFields()[session.ModelMemo])
}

// longTalk is a session whose history grows until it continues as new, while its agent lives.
var longTalk = path{"continues-as-new", nil, func(t *testing.T, s *stage) {
	s.begin(session.Input{})
	s.say("m1", "[[say:one]]")
	s.answer("m1", session.Completed, "one")
	long := strings.Repeat("<", session.MaxMessage) // six bytes each, in JSON
	execution := func() string {
		d, err := temporalclient.Describe(t.Context(), s.Client, s.id.WorkflowID(), "")
		if err != nil {
			t.Fatal(err)
		}
		return d.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	}
	for first := execution(); execution() == first; {
		s.say("m1", long) // known: it changes nothing
	}
	snap := s.await("is resumed", func(snap session.Snapshot) bool { return snap.State == session.Idle })
	if len(snap.Past) != 1 || snap.Epochs != 2 {
		t.Errorf("%+v", snap)
	}
	s.say("m1", "[[say:one]]")
	s.say("m2", "say no more")
	s.answer("m2", session.Completed, "ECHO: say no more")
}}
