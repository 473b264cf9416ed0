package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/peertest"
)

// registry is one of the test's own, with a short path: a socket's is bounded.
func registry(t *testing.T) citizen.Dirs {
	t.Helper()
	home, err := os.MkdirTemp("", "reg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	if err == nil {
		err = os.MkdirAll(dirs.Sessions, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func citizens(t *testing.T, dirs citizen.Dirs) []citizen.Record {
	t.Helper()
	list, bad, err := (&citizen.Store{Dir: dirs.Sessions}).List()
	if err != nil || len(bad) > 0 {
		t.Fatalf("%v, %v", bad, err)
	}
	return list
}

// early is a host whose peers send as soon as a session can be reached: before
// its own turn.
type early struct {
	session.Host
	dirs  citizen.Dirs
	texts []string
}

var asker = dispatch.Sender{SessionID: "20260612T093000-0a1b2c", AgentID: "pi", CWD: "/w", Timestamp: "2026-06-12T09:30:00Z"}

func (h early) Open(ctx context.Context, id dispatch.GardenID, dir string, about dispatch.About, s controlsocket.Session) (dispatch.GardenID, func(), error) {
	id, leave, err := h.Host.Open(ctx, id, dir, about, s)
	for _, text := range h.texts {
		if err == nil {
			_, err = controlsocket.Client{Path: h.dirs.Socket(id)}.Send(ctx, controlsocket.Message{Text: text, Mode: dispatch.Steer, Sender: &asker})
		}
	}
	return id, leave, err
}

// told has the bench's sessions be citizens that peers have something to say to.
func (b *bench) told(texts ...string) provider.Provider {
	dirs := registry(b.T)
	return session.New(session.Config{Adapter: b.fake, Pool: b.pool, Quiet: b.quiet, Host: early{citizen.Host{Dirs: dirs}, dirs, texts}})
}

func TestOthersReachTheSessionOfAnAgentWhileItLives(t *testing.T) {
	b := newBench(t)
	dirs := registry(t)
	p := session.New(session.Config{
		Adapter: b.fake, Pool: b.pool, Choice: agent.Choice{Model: "m-1"}, Host: early{citizen.Host{Dirs: dirs}, dirs, []string{"[[say:heard you]]"}},
	})
	req := b.request(sh("make") + "[[say:done]]")
	asked, err := p.Generate(t.Context(), req, nil)
	permit := b.permit(asked, err, run.Permit{Allow: true})

	list := citizens(t, dirs)
	if len(list) != 1 || list[0].Backend != dispatch.Pi || list[0].CWD != b.site.dir {
		t.Fatalf("citizens %+v", list)
	}
	if want := "fake/m-1, developer of run " + string(req.RunID); list[0].Model != want {
		t.Errorf("it says that it is %q, want %q", list[0].Model, want)
	}
	peer := dirs.Socket(list[0].GardenID)
	info, err := peertest.Info(t.Context(), peer)
	if err != nil || info.Idle || info.SessionID != string(list[0].GardenID) || info.Model == nil || *info.Model != (controlsocket.Model{ID: "m-1", Provider: "fake"}) {
		t.Errorf("%+v, %v", info, err)
	}
	if err := peertest.Abort(t.Context(), peer); err == nil {
		t.Error("a peer ends the turn of a run")
	}

	req.Work.Permits = []run.Permit{permit}
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil || resp.RawText != "done" {
		t.Errorf("got %q, %v", resp.RawText, err)
	}
	if q := lastRequest(b); !strings.Contains(q.Text(), "heard you") || !strings.Contains(q.Text(), "<sender_info>") {
		t.Errorf("the message did not reach the agent:\n%s", q.Text())
	}
	if list := citizens(t, dirs); len(list) != 0 {
		t.Errorf("it is over, and %+v is left", list)
	}
	if left, _ := filepath.Glob(filepath.Join(dirs.Sockets, "*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// Finding D2. With answerPeers before buildResponse in session.go each row gives what the
// peer says.
func TestWhatPeersSayIsNotTheAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		role         run.Role
		phase        run.Phase
		own, peers   string
		asksTheModel int
	}{
		"a developer's ASK stays an ASK": {run.Developer, run.Execute, "ASK: which colour", "hello to you", 2},
		"a fixer's NOOP stays a NOOP":    {run.Fixer, run.Fix, "NOOP", "PATCH", 2},
		"a planner's plan stays":         {run.Planner, run.Plan, "1. Look", "hello to you", 1},
		"an evaluator's FIX stays FIX":   {run.Evaluator, run.Evaluate, "DECISION: FIX", "DECISION: PASS", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request("[[say:" + tc.own + "]]")
			req.Role, req.Phase = tc.role, tc.phase
			p := b.told("[[say:" + tc.peers + "]]")
			for range 2 { // the second time the worker had died before it stored the answer
				resp, err := p.Generate(t.Context(), req, nil)
				if err != nil || resp.RawText != tc.own {
					t.Errorf("got %q, %v, want %q", resp.RawText, err, tc.own)
				}
			}
			if n := len(b.fake.Model.Requests()); n != tc.asksTheModel {
				t.Errorf("the agent had %d turns", n)
			}
		})
	}
}

// Finding D2.
func TestWhoPlansOrJudgesIsNoCitizen(t *testing.T) {
	for role, phase := range map[run.Role]run.Phase{run.Planner: run.Plan, run.Evaluator: run.Evaluate} {
		b := newBench(t)
		p := session.New(session.Config{Adapter: b.fake, Pool: b.pool, Host: unwelcome{t}})
		req := b.request("[[say:done]]")
		req.Role, req.Phase = role, phase
		if _, err := p.Generate(t.Context(), req, nil); err != nil {
			t.Error(err)
		}
	}
}

type unwelcome struct{ *testing.T }

func (h unwelcome) Open(_ context.Context, _ dispatch.GardenID, _ string, about dispatch.About, _ controlsocket.Session) (dispatch.GardenID, func(), error) {
	h.Errorf("%s can be reached", about.Who())
	return "", func() {}, nil
}

// spoiling is an agent that does at once what it is told to spoil, unasked.
type spoiling struct{ agent.Adapter }

func (a spoiling) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := a.Adapter.Start(ctx, o)
	return spoiled{s, o.Dir}, err
}

type spoiled struct {
	agent.Session
	dir string
}

func (s spoiled) Steer(context.Context, string) error {
	return os.WriteFile(filepath.Join(s.dir, "steered.txt"), nil, 0o600)
}

func (s spoiled) Send(ctx context.Context, text string) error {
	if strings.HasPrefix(text, "SPOIL") {
		if err := os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("spoilt"), 0o600); err != nil {
			return err
		}
	}
	return s.Session.Send(ctx, text)
}

// Finding D2. With Changes asked for at the end of the call, or a Steer for the
// inlet, the peer's are the developer's.
func TestWhatPeersChangeIsNotTaken(t *testing.T) {
	b := newBench(t)
	dirs := registry(t)
	p := session.New(session.Config{
		Adapter: spoiling{b.fake}, Pool: b.pool, Host: early{citizen.Host{Dirs: dirs}, dirs, []string{"SPOIL [[say:did it]]"}},
	})
	req := b.request(write("a.txt", "A") + "[[say:Add a]]")
	for _, when := range []string{"at first", "after a worker died that had not stored the answer"} {
		resp, err := p.Generate(t.Context(), req, nil)
		if err != nil || string(resp.Changes) != "a.txt=A\n" || resp.RawText != "Add a" {
			t.Errorf("%s: got %q with %q, %v", when, resp.RawText, resp.Changes, err)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(b.site.dir, "a.txt")); string(b) != "spoilt" {
		t.Fatalf("the peer's turn left %q", b)
	}
	req = b.request(write("b.txt", "B") + "[[say:fixed]]")
	req.Role, req.Phase, req.Iteration = run.Fixer, run.Fix, 2
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil || string(resp.Changes) != "b.txt=B\n" {
		t.Errorf("the slot's next call: got %q, %v", resp.Changes, err)
	}
}

// Finding D2. What a person allowed to the run is not for others.
func TestPeersGetNoPermission(t *testing.T) {
	b := newBench(t)
	p := b.told(sh("make")+"[[say:made it]]", sh("rm")+"[[say:removed it]]")
	req := b.request(sh("make") + "[[say:done]]")
	asked, err := p.Generate(t.Context(), req, nil)
	req.Work.Permits = []run.Permit{b.permit(asked, err, run.Permit{Allow: true})}
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil || resp.RawText != "done" || !slices.Equal(b.fake.Ran(), []string{"make"}) {
		t.Errorf("got %q, %v, ran %q", resp.RawText, err, b.fake.Ran())
	}
	if text := lastRequest(b).Text(); !strings.Contains(text, "removed it") {
		t.Errorf("the second message had no turn:\n%s", text)
	}
}

// Finding D2. A peer's turn is paid for, whatever came of it, and its failure is
// not the run's.
func TestTurnOfAPeerThatFailsFailsNothing(t *testing.T) {
	b := newBench(t)
	p := b.told("[[error:401:authentication_error:no]]", "[[say:never heard]]")
	resp, err := p.Generate(t.Context(), b.request("[[usage:100,20]]"+write("a.txt", "A")+"[[say:done]]"), nil)
	if err != nil || resp.RawText != "done" || string(resp.Changes) != "a.txt=A\n" || resp.Usage.TotalTokens < 240 {
		t.Errorf("got %q with %q, %+v, %v", resp.RawText, resp.Changes, resp.Usage, err)
	}
	b.site.wantLogged(t, "the turn of another session's message failed: pi, 20260612T093000-0a1b2c: [[error:401")
	b.site.wantLogged(t, lost+"pi, 20260612T093000-0a1b2c: [[say:never heard]]")
}

const lost = "message of another session lost: the agent ended before its turn: "

func (s *fakeSite) wantLogged(t *testing.T, line string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.logged, func(l string) bool { return strings.HasPrefix(l, line) }) {
		t.Errorf("no line %q in %q", line, s.logged)
	}
}

// Finding D10. Without Park the message is acknowledged, and nobody hears it.
func TestAgentThatWaitsForAPersonAcknowledgesNothing(t *testing.T) {
	b := newBench(t)
	dirs := registry(t)
	p := session.New(session.Config{Adapter: b.fake, Pool: b.pool, Host: citizen.Host{Dirs: dirs}})
	req := b.request(sh("make") + "[[say:done]]")
	asked, err := p.Generate(t.Context(), req, nil)
	b.permit(asked, err, run.Permit{})
	peer := controlsocket.Client{Path: dirs.Socket(citizens(t, dirs)[0].GardenID)}
	for _, mode := range []dispatch.Mode{dispatch.FollowUp, dispatch.Steer} {
		as, err := peer.Send(t.Context(), controlsocket.Message{Text: "hello", Mode: mode})
		if refused, ok := errors.AsType[*controlsocket.RefusedError](err); !ok || refused.Said != "Session not ready" {
			t.Errorf("%s: %s, %v", mode, as, err)
		}
	}
}

// Finding D10.
func TestMessagesThatAreLostAreInTheLog(t *testing.T) {
	for name, end := range map[string]func(*bench){
		"the pool gave it up":       func(b *bench) { b.pool.Stop(b.site.Slot()) },
		"its process died":          func(b *bench) { b.fake.Crash() },
		"another call has the slot": func(*bench) {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			p := b.told("[[say:hello]]")
			asked, err := p.Generate(t.Context(), b.request(sh("make")+"[[say:done]]"), nil)
			b.permit(asked, err, run.Permit{})
			end(b)
			req := b.request("[[say:done]]")
			req.Call = 2
			if _, err := b.call(req); err != nil {
				t.Fatal(err)
			}
			b.site.wantLogged(t, lost+"pi, 20260612T093000-0a1b2c: [[say:hello]]")
		})
	}
}

func TestSessionKeepsItsIDOverACrash(t *testing.T) {
	b := newBench(t)
	dirs := registry(t)
	open := func() provider.Provider {
		return session.New(session.Config{Adapter: b.fake, Pool: b.pool, Host: citizen.Host{Dirs: dirs}})
	}
	req := b.request(sh("make") + "[[say:done]]")
	asked, err := open().Generate(t.Context(), req, nil)
	b.permit(asked, err, run.Permit{})
	id := citizens(t, dirs)[0].GardenID
	if got := session.GardenIDIn(b.site.note); got != id {
		t.Errorf("the note says %q", got)
	}
	b.fake.Crash()
	asked, err = open().Generate(t.Context(), req, nil)
	b.permit(asked, err, run.Permit{})
	if list := citizens(t, dirs); len(list) != 1 || list[0].GardenID != id {
		t.Errorf("after the crash: %+v, before it was %s", list, id)
	}
}
