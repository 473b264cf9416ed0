package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// asTalker, as the first argument, makes the test binary an ACP agent that notes each prompt in a ledger and
// answers it. A prompt with the word ask asks for a permission first. One with a word until=NAME answers
// when that file lies beside the ledger; asked to continue it, the agent answers at once. A prompt that begins with
// call has it call a tool: see toolPlayer.
const asTalker = "play-talker"

func playTalker(dir string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	var held *int      // a prompt that waits for a permission
	var session string // its id
	tools := toolPlayer{dir: dir}
	for in.Scan() {
		var m struct {
			ID     *int
			Method string
			Params struct {
				SessionID  string
				Prompt     []struct{ Text string }
				McpServers []toolProgram
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if m.Params.McpServers != nil {
			tools.servers = m.Params.McpServers
		}
		switch m.Method {
		case "initialize":
			talk(*m.ID, `{"protocolVersion":1,"agentInfo":{"name":"talker","version":"1"},"agentCapabilities":{"loadSession":true}}`)
		case "session/new":
			talk(*m.ID, `{"sessionId":"`+uuid.NewString()+`"}`)
		case "session/load":
			talk(*m.ID, `{}`)
		case "session/prompt":
			text := m.Params.Prompt[0].Text
			session = m.Params.SessionID
			noteLine(dir, strings.ReplaceAll(text, "\n", " "))
			chunk(session, "heard ")
			tools.play(text)
			if strings.HasPrefix(text, "ask") {
				held = m.ID
				fmt.Println(`{"jsonrpc":"2.0","id":1000,"method":"session/request_permission","params":{"sessionId":"` + session + `","toolCall":{"toolCallId":"c1","title":"make","kind":"execute","rawInput":{"command":"make"}},"options":[{"optionId":"y","name":"yes","kind":"allow_once"},{"optionId":"n","name":"no","kind":"reject_once"}]}}`)
				continue
			}
			for _, word := range strings.Fields(text) {
				if name, ok := strings.CutPrefix(word, "until="); ok {
					awaitFile(filepath.Join(dir, name))
				}
			}
			endPrompt(*m.ID, session)
		case "":
			if held != nil && *m.ID == 1000 {
				noteLine(dir, "decided "+string(in.Bytes()))
				endPrompt(*held, session)
				held = nil
			}
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no such method"}}`+"\n", *m.ID)
		}
	}
}

func talk(id int, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", id, result)
}

func chunk(session, text string) {
	fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`+"\n", session, text)
}

func endPrompt(id int, session string) {
	chunk(session, "and done")
	talk(id, `{"stopReason":"end_turn"}`)
}

func noteLine(dir, line string) {
	f, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		panic(err)
	}
}

func awaitFile(name string) {
	for _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist); _, err = os.Lstat(name) {
		time.Sleep(5 * time.Millisecond) // the pace of polling
	}
}

// sessionFixture is a fixture with one session of the talker, on a task queue of its own.
type sessionFixture struct {
	*fixture
	talk string // directory of the ledger
	id   session.ID
}

func (s *fixture) newSession(t *testing.T, queue string) *sessionFixture {
	t.Helper()
	talk := t.TempDir()
	return s.at(queue).openSession(t, talk, session.Input{Provider: fmt.Sprintf("acp:%s %s %s", os.Args[0], asTalker, talk)})
}

// openSession starts a session on the queue of the fixture.
func (s *fixture) openSession(t testing.TB, talk string, in session.Input) *sessionFixture {
	t.Helper()
	in.ID, in.Sandbox, in.Repository = session.ID(uuid.NewString()), run.SandboxOff, run.Repository{Path: s.repo, Base: s.base}
	h := &sessionFixture{fixture: s, talk: talk, id: in.ID}
	if err := h.sessions().Start(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *sessionFixture) sessions() sessions.Client {
	return sessions.Client{Temporal: h.client, Queue: h.queue}
}

// say sends the message until the session has taken it: workers and the engine die meanwhile.
func (h *sessionFixture) say(t testing.TB, id, text string) {
	t.Helper()
	m := session.Message{ID: id, Text: text}
	eventually.Holds(t, "message "+id+" taken", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return h.sessions().Send(ctx, h.id, sessionflow.SayUpdate, m.ID, m, nil) == nil
	})
}

// past waits for the end of the message.
func (h *sessionFixture) past(t testing.TB, id string) (p session.Past) {
	t.Helper()
	eventually.Holds(t, "end of message "+id, func() bool {
		s, err := h.sessions().State(t.Context(), h.id)
		i := slices.IndexFunc(s.Past, func(p session.Past) bool { return p.ID == id })
		if err == nil && i >= 0 {
			p = s.Past[i]
		}
		return p.ID != ""
	})
	return p
}

// heard returns how often the ledger has a line that begins with the text.
func (h *sessionFixture) heard(text string) (n int) {
	b, _ := os.ReadFile(filepath.Join(h.talk, "ledger"))
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, text) {
			n++
		}
	}
	return n
}

// sessionAim is a point at which the worker of a session is killed, and what comes of the message.
type sessionAim struct {
	point, text string
	want        session.Outcome
	heard       int // times that the agent got the message; maybe: once or not at all
	resumes     int
	worker      string // that is killed, and its successor; empty: the real one
	runs        int    // that the agent has started in the end
}

var sessionAims = []sessionAim{
	{point: "session.before-start", want: session.Completed, heard: 1},
	{point: "session.started", want: session.Completed, heard: 1},
	{point: "session.ready", want: session.Completed, heard: 1},
	{point: "session.before-say", want: session.Unknown, heard: 0},
	{point: "session.said", want: session.Unknown, heard: maybe},
	{point: "session.heard", want: session.Completed, heard: 1, resumes: 1},
	{point: "session.turn-kept", want: session.Completed, heard: 1},
	{point: "session.before-decide", text: "ask", want: session.Completed, heard: 1, resumes: 1},
	{point: "session.decided", text: "ask", want: session.Completed, heard: 1, resumes: 1},

	{point: "session.run-noted", text: startCall, want: session.Completed, heard: 1, resumes: 1, runs: 1},
	{point: "session.run-named", text: startCall, want: session.Completed, heard: 1, resumes: 1, runs: 1},
	{point: "session.run-started", text: startCall, want: session.Completed, heard: 1, resumes: 1, runs: 1},

	// The control: who does not read what the note says of the last message.
	{point: "session.heard", want: session.Completed, heard: 2, worker: forgetful},
}

// TestKilledAtEveryPointOfASession kills the worker right before and after each effect of a session, and says for each
// what must come of the message. The session answers the next one.
func TestKilledAtEveryPointOfASession(t *testing.T) {
	need.Suite(t, need.CI)
	for _, point := range failpoints(t) {
		aimed := slices.ContainsFunc(sessionAims, func(a sessionAim) bool { return a.point == point })
		if strings.HasPrefix(point, "session.") && !aimed {
			t.Errorf("nobody is killed at %s", point)
		}
	}
	t.Parallel()
	s := newOwnFixture(t)
	for _, a := range sessionAims {
		t.Run(a.worker+a.point, func(t *testing.T) { a.hit(t, s) })
	}
}

func (a sessionAim) hit(t *testing.T, s *fixture) {
	t.Parallel()
	h := s.newSession(t, uuid.NewString())
	if a.runs > 0 {
		h = s.newStarter(t, uuid.NewString())
	}
	kind := asWorker + "=1"
	if a.worker != "" {
		kind = asWorker + "=" + a.worker
	}
	doomed := h.launch(kind, "RATCHET_FAILPOINTS="+a.point+"=kill")
	text := strings.TrimSpace(a.text + " m1")
	h.say(t, "m1", text)
	if a.text == "ask" {
		h.approve(t)
	}
	select {
	case <-doomed.done:
	case <-time.After(5 * time.Minute):
		t.Fatal("the worker lives")
	}
	next := h.launch(kind)
	defer next.kill()
	p := h.past(t, "m1")
	n := h.heard(text)
	if p.Outcome != a.want || n != a.heard && (a.heard != maybe || n > 1) || p.Resumes != a.resumes && a.worker == "" {
		t.Errorf("%s after %d resumes (%s), heard %d times; want %s after %d, heard %d times", p.Outcome, p.Resumes, p.Reason, n, a.want, a.resumes, a.heard)
	}
	h.mustHaveRuns(t, a.runs)
	h.say(t, "m2", "m2")
	if p := h.past(t, "m2"); p.Outcome != session.Completed || h.heard("m2") != 1 {
		t.Errorf("afterwards: %s (%s), heard %d times", p.Outcome, p.Reason, h.heard("m2"))
	}
}

// approve approves the tool call that the session asks about.
func (h *sessionFixture) approve(t *testing.T) {
	t.Helper()
	eventually.Holds(t, "approval", func() bool {
		s, err := h.sessions().State(t.Context(), h.id)
		if err != nil || len(s.Pending().Asks) == 0 {
			return false
		}
		d := run.Decision{ApprovalID: s.Pending().Asks[0].ApprovalID, Decision: run.Approve}
		return h.sessions().Send(t.Context(), h.id, sessionflow.ApprovalMessage, "", d, nil) == nil
	})
}

// TestSessionsOutliveTheirWorkersAndEngine kills worker and engine at random moments of a talk. Each message has an end,
// none is heard twice, and each session answers afterwards.
func TestSessionsOutliveTheirWorkersAndEngine(t *testing.T) {
	need.Suite(t, need.Nightly)
	t.Parallel()
	kills := 12
	if need.Has(need.Nightly) {
		kills = 100
	}
	s := newOwnFixture(t)
	s.flaky = true
	h := s.newSession(t, "talks")
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 7))
	w := h.spawn()
	tally := map[session.Outcome]int{}
	for i := range kills {
		id := fmt.Sprintf("m%d.", i) // no id is the beginning of another
		h.say(t, id, id)
		time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond) // the moment of the kill
		if i%3 == 2 {
			h.engine, h.db = s.engine, s.db
			h.killEngine()
			s.engine = h.engine
		} else {
			w.kill()
			w = h.spawn()
		}
		tally[h.past(t, id).Outcome]++
		if n := h.heard(id); n > 1 {
			t.Errorf("%s was heard %d times", id, n)
		}
	}
	h.say(t, "last", "last")
	if p := h.past(t, "last"); p.Outcome != session.Completed {
		t.Errorf("afterwards: %+v", p)
	}
	snap, err := h.sessions().State(t.Context(), h.id)
	t.Logf("%d kills: %v, %d processes, %v", kills, tally, snap.Epochs, err)
	if snap.Epochs < kills/3 {
		t.Errorf("only %d processes: the kills hit nothing", snap.Epochs)
	}
	if err := h.sessions().Send(t.Context(), h.id, sessionflow.RetireUpdate, "", sessionflow.By{}, nil); err != nil {
		t.Error(err)
	}
	var res sessionflow.Result
	if err := h.client.GetWorkflow(t.Context(), h.id.WorkflowID(), "").Get(t.Context(), &res); err != nil {
		t.Error(err)
	}
}
