package dispatch_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/peertest"
)

// fakeAgents makes adapters whose sessions, in memory, do what the test says.
type fakeAgents struct {
	refuse   func(context.Context) error // before a start; its error is the start's
	deaf     error                       // of who starts, to what it is told
	sessions chan *fakeSession           // who has started

	runs  bool  // the session of claude
	doubt error // of its client about that

	mu     sync.Mutex
	starts []start
}

type start struct {
	agent.Options
	approved bool
}

// resumerOf resumes sessions of pi, and those of claude, whose client can be asked.
func (h *fakeAgents) resumerOf(b dispatch.Backend, approve bool) (activities.Resumer, bool) {
	a := &fakeAdapter{agents: h, approve: approve}
	switch b {
	case dispatch.Pi:
		return activities.Resumer{Adapter: a, Options: agent.Options{Sandbox: agent.FullAccess, Network: true}}, true
	case dispatch.ClaudeCode:
		return activities.Resumer{Adapter: &fakeProber{a}, Options: agent.Options{Sandbox: agent.WorkspaceWrite}}, true
	}
	return activities.Resumer{}, false
}

// fakeProber is a fakeAdapter that is an agent.Prober.
type fakeProber struct{ *fakeAdapter }

func (a *fakeProber) Running(id string) (bool, error) {
	if id != "n-1" {
		return false, errors.New("there is no session " + id)
	}
	return a.agents.runs, a.agents.doubt
}

type fakeAdapter struct {
	agent.Adapter // of which nothing else is used
	agents        *fakeAgents
	approve       bool
}

func (a *fakeAdapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	if a.agents.refuse != nil {
		if err := a.agents.refuse(ctx); err != nil {
			return nil, err
		}
	}
	g := &fakeSession{queue: agent.NewQueue(), told: make(chan string, 8), stopped: make(chan struct{}), deaf: a.agents.deaf}
	a.agents.mu.Lock()
	a.agents.starts = append(a.agents.starts, start{o, a.approve})
	a.agents.mu.Unlock()
	a.agents.sessions <- g
	return g, nil
}

// fakeSession is a session: what it is told the test reads, what it does the test
// puts into its queue.
type fakeSession struct {
	agent.Session // of which nothing else is used
	queue         *agent.Queue
	told          chan string
	stopped       chan struct{}
	stopping      func() // what happens while it is told to stop; nil: nothing

	mu      sync.Mutex
	deaf    error // to what it is told
	decided []agent.PermissionDecision
}

func (g *fakeSession) Events() <-chan agent.Event { return g.queue.C() }

func (g *fakeSession) Send(ctx context.Context, text string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deaf != nil {
		return g.deaf
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	g.told <- text
	return nil
}

func (g *fakeSession) Decide(_ context.Context, d agent.PermissionDecision) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decided = append(g.decided, d)
	return nil
}

func (g *fakeSession) Interrupt(context.Context) error {
	g.queue.Put(agent.Turn{Status: agent.Interrupted})
	return nil
}

func (g *fakeSession) Stop(context.Context) error {
	if g.stopping != nil {
		g.stopping()
	}
	g.queue.Drop()
	close(g.stopped)
	return nil
}

// exit is the end of its process.
func (g *fakeSession) exit(e agent.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deaf = agent.ErrGone
	g.queue.Close(e)
}

func (g *fakeSession) ends(text string) { g.queue.Put(agent.Turn{Status: agent.Completed, Text: text}) }

// owned turn is one whose claim has the lock.
func (o *fixture) ownedTurn() activities.OwnedTurn {
	o.t.Helper()
	e := activities.OwnedTurn{
		Message: message("l-1", "do it"), Lock: activities.Lock{Target: gid, Nonce: "c-1"}, CWD: o.work, Approve: true, Observe: time.Minute,
	}
	e.Request.Intent = dispatch.OwnedOutcome
	if got := mustPerform[activities.LockResult](o, o.acts.Lock, e.Lock); !got.OK {
		o.t.Fatalf("%+v", got)
	}
	return e
}

// turnResult is how an owned turn ended.
type turnResult struct {
	dispatch.Outcome
	err error
}

// own carries an owned turn out beside the test.
func (o *fixture) own(e activities.OwnedTurn) <-chan turnResult {
	over := make(chan turnResult, 1)
	go func() {
		out, err := perform[dispatch.Outcome](o, o.acts.Own, e)
		over <- turnResult{out, err}
	}()
	o.t.Cleanup(o.cancel)
	return over
}

// receive waits for what a channel brings, as long as a test may take.
func receive[T any](t testing.TB, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s: not within five minutes", what)
	}
	return v
}

// served is what Look says of the socket of gid.
func (o *fixture) served() dispatch.Liveness {
	return controlsocket.Look(o.t.Context(), o.socket()).Liveness
}

// verifyLeft fails unless the session has ended, its socket is gone, and the lock
// is as it should be.
func (o *fixture) verifyLeft(g *fakeSession, locked bool) {
	o.t.Helper()
	if g != nil {
		receive(o.t, "the end of the session", g.stopped)
	}
	if controlsocket.Inspect(o.socket()).State != controlsocket.Absent {
		o.t.Error("the socket is left")
	}
	if o.locked() != locked {
		o.t.Errorf("locked: %v", !locked)
	}
}

func TestOwn(t *testing.T) {
	code := 3
	rows := []struct {
		name string
		does func(o *fixture, g *fakeSession)
		want dispatch.Outcome // but for Error
	}{
		{"it does what it is told", func(_ *fixture, g *fakeSession) {
			g.queue.Put(agent.Text{Text: "do"})
			g.queue.Put(agent.ToolUse{Tool: "bash"})
			g.ends("done")
		}, dispatch.Outcome{Kind: dispatch.Completed, Answer: "done"}},
		{"it has much to say", func(_ *fixture, g *fakeSession) { g.ends(strings.Repeat("x", 1<<20)) },
			dispatch.Outcome{Kind: dispatch.Completed, Answer: strings.Repeat("x", 4<<10-len("…")) + "…"}},
		{"it says a secret", func(_ *fixture, g *fakeSession) { g.ends("the token is sesame-open-up") },
			dispatch.Outcome{Kind: dispatch.Completed, Answer: "the token is [redacted:THE_TOKEN]"}},
		{"its turn fails", func(_ *fixture, g *fakeSession) {
			g.queue.Put(agent.Turn{Status: agent.Failed, Text: "hm", Err: errors.New("no model")})
		}, dispatch.Outcome{Kind: dispatch.TurnFailed, Answer: "hm"}},
		{"its turn is aborted by a peer", func(o *fixture, g *fakeSession) { check(o.t, peertest.Abort(o.t.Context(), o.socket())) },
			dispatch.Outcome{Kind: dispatch.TurnFailed}},
		{"it exits", func(_ *fixture, g *fakeSession) { g.exit(agent.Exit{Code: 3, Stderr: "oops"}) },
			dispatch.Outcome{Kind: dispatch.ChildExited, ExitCode: &code}},
		{"it exits and says nothing was wrong", func(_ *fixture, g *fakeSession) { g.exit(agent.Exit{}) },
			dispatch.Outcome{Kind: dispatch.ChildExited, ExitCode: new(int)}},
		{"it is killed", func(_ *fixture, g *fakeSession) { g.exit(agent.Exit{Code: -1, Signal: "SIGKILL"}) },
			dispatch.Outcome{Kind: dispatch.ChildExited}},
		{"it is gone without a word", func(_ *fixture, g *fakeSession) { g.exit(nil) }, dispatch.Outcome{Kind: dispatch.ChildExited}},
		{"the dispatch is canceled", func(o *fixture, g *fakeSession) { o.cancel() }, dispatch.Outcome{Kind: dispatch.ChildExited}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := newFixture(t)
			e := o.ownedTurn()
			over := o.own(e)
			g := receive(t, "the start", o.agents.sessions)
			if text := receive(t, "the letter", g.told); text != "do it\n\n"+block {
				t.Errorf("it is told %q", text)
			}
			if nonce := receive(t, "the begin", o.begun); nonce != "c-1" || o.locked() || o.served() != dispatch.Alive {
				t.Errorf("begun %q, locked %v, the socket is %s", nonce, o.locked(), o.served())
			}
			row.does(o, g)
			out := receive(t, "the outcome", over)
			if out.err != nil || (out.Error == "") != row.want.Succeeded() {
				t.Errorf("error %q, %v", out.Error, out.err)
			}
			if len(o.turns) != 0 {
				t.Error("the dispatch was told that it goes on")
			}
			out.Error, row.want.Transport = "", dispatch.SpawnBg
			if !reflect.DeepEqual(out.Outcome, row.want) {
				t.Errorf("%+v, want %+v", out.Outcome, row.want)
			}
			o.verifyLeft(g, false)
			if s := o.agents.starts[0]; s.Resume != string(gid) || s.Dir != o.work || s.Sandbox != agent.FullAccess || !s.approved {
				t.Errorf("started with %+v", s)
			}
		})
	}
}

// block is what the sender of message becomes in a prompt.
const block = `<sender_info>{"sessionId":"20260612T090000-aaaaaa","agentId":"pi/test","cwd":"/w","timestamp":"2026-06-12T09:30:00.000Z"}</sender_info>`

// A session of claude has no address: nobody reaches it, and its lock stays taken
// until its turn has ended.
func TestOwnWhoHasNoAddress(t *testing.T) {
	o := newFixture(t)
	e := o.ownedTurn()
	e.NativeSession = activities.NativeSession{Backend: dispatch.ClaudeCode, Session: "n-1"}
	over := o.own(e)
	g := receive(t, "the start", o.agents.sessions)
	receive(t, "the letter", g.told)
	if _, err := os.Lstat(o.socket()); err == nil || !o.locked() {
		t.Errorf("locked %v, socket: %v", o.locked(), err)
	}
	g.ends("done")
	if out := receive(t, "the outcome", over); out.err != nil || out.Kind != dispatch.Completed || out.Answer != "done" {
		t.Errorf("%+v", out)
	}
	if len(o.begun)+len(o.turns) != 0 {
		t.Error("the dispatch was told that it goes on")
	}
	o.verifyLeft(g, false)
	if s := o.agents.starts[0]; s.Resume != "n-1" || s.Dir != o.work || s.Sandbox != agent.WorkspaceWrite || s.Network {
		t.Errorf("started with %+v", s)
	}
}

func TestOwnWhomNobodyResumes(t *testing.T) {
	o := newFixture(t)
	e := o.ownedTurn()
	e.NativeSession = activities.NativeSession{Backend: dispatch.Codex, Session: "n-1"}
	if out := receive(t, "the outcome", o.own(e)); out.err != nil || out.Kind != dispatch.StartFailed || !strings.Contains(out.Error, "does not resume sessions of codex") {
		t.Errorf("%+v", out)
	}
}

func TestTimeIsUp(t *testing.T) {
	o := newFixture(t)
	e := o.ownedTurn()
	e.Timeout = 10 * time.Millisecond
	out := receive(t, "the outcome", o.own(e))
	if out.err != nil || out.Kind != dispatch.ChildExited || !out.TimedOut || out.ExitCode != nil {
		t.Errorf("%+v", out)
	}
	o.verifyLeft(receive(t, "the session", o.agents.sessions), false)
}

func TestNobodyIsThereToDecide(t *testing.T) {
	o := newFixture(t)
	over := o.own(o.ownedTurn())
	g := receive(t, "the start", o.agents.sessions)
	g.queue.Put(agent.Permission{CallID: "call-1", Tool: "bash"})
	g.ends("done without")
	if out := receive(t, "the outcome", over); out.Kind != dispatch.Completed {
		t.Errorf("%+v", out)
	}
	if len(g.decided) != 1 || g.decided[0].CallID != "call-1" || g.decided[0].Verdict != agent.Deny {
		t.Errorf("decided %+v", g.decided)
	}
}

func TestOwnedTurnsThatDoNotBegin(t *testing.T) {
	broken := errors.New("broken")
	rows := []struct {
		name   string
		there  func(*fixture)
		starts int
		locked bool
	}{
		{"the agent does not start", func(o *fixture) { o.agents.refuse = func(context.Context) error { return agent.ErrNoSession } }, 0, true},
		{"the dispatch is canceled at the start", func(o *fixture) {
			o.agents.refuse = func(ctx context.Context) error { o.cancel(); <-ctx.Done(); return ctx.Err() }
		}, 0, true},
		{"the agent does not take the letter", func(o *fixture) { o.agents.deaf = agent.ErrGone }, 1, false},
		{"the workflow cannot be told", func(o *fixture) { o.lost = broken }, 1, false},
		{"a file is in the socket's place", (*fixture).file, 1, true},
		{"a session has been opened meanwhile", (*fixture).live, 1, true},
		{"the lock is free again", func(o *fixture) {
			mustPerform[any](o, o.acts.Unlock, activities.Lock{Target: gid, Nonce: "c-1"})
		}, 0, true},
		{"another dispatch has the lock", func(o *fixture) {
			mustPerform[any](o, o.acts.Unlock, activities.Lock{Target: gid, Nonce: "c-1"})
			mustPerform[any](o, o.acts.Lock, activities.Lock{Target: gid, Nonce: "c-2"})
		}, 0, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := newFixture(t)
			e := o.ownedTurn()
			row.there(o)
			before := controlsocket.Inspect(o.socket())
			out := receive(t, "the outcome", o.own(e))
			if out.err != nil || out.Kind != dispatch.StartFailed || !out.RetrySafe() || out.Error == "" {
				t.Errorf("%+v", out)
			}
			if len(o.agents.starts) != row.starts || o.locked() != row.locked || controlsocket.Inspect(o.socket()) != before {
				t.Errorf("%d starts, locked %v, the socket is %+v, was %+v", len(o.agents.starts), o.locked(), controlsocket.Inspect(o.socket()), before)
			}
			if row.starts > 0 {
				g := receive(t, "the session", o.agents.sessions)
				receive(t, "its end", g.stopped)
				if len(g.told) > 0 {
					t.Errorf("it was told %q", <-g.told)
				}
			}
		})
	}
}

func TestAMessageThatMayHaveArrived(t *testing.T) {
	o := newFixture(t)
	o.agents.deaf = errors.New("half of it is written")
	if out := receive(t, "the outcome", o.own(o.ownedTurn())); out.err != nil || out.Kind != dispatch.Unknown || out.RetrySafe() {
		t.Errorf("%+v", out)
	}
}

func TestWhatPeersSendHasTurnsOfItsOwn(t *testing.T) {
	endings := map[string]agent.Turn{
		"after a turn that ended well": {Status: agent.Completed, Text: "done"},
		"after one that failed":        {Status: agent.Failed, Text: "done", Err: errors.New("no model")},
		"after one that was aborted":   {Status: agent.Interrupted, Text: "done"},
	}
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			o := newFixture(t)
			over := o.own(o.ownedTurn())
			g := receive(t, "the start", o.agents.sessions)
			receive(t, "the letter", g.told)
			if m, err := peertest.LastMessage(t.Context(), o.socket()); m != nil || err != nil {
				t.Errorf("it said %+v, %v", m, err)
			}
			for _, text := range []string{"second", "third"} {
				if as, err := o.peer().Send(t.Context(), controlsocket.Message{Text: text, Mode: dispatch.Steer}); as != dispatch.Followed || err != nil {
					t.Errorf("%s: %s, %v", text, as, err)
				}
			}
			if info, err := peertest.Info(t.Context(), o.socket()); err != nil || info.SessionID != string(gid) || info.CWD != o.work || info.Idle {
				t.Errorf("%+v, %v", info, err)
			}
			g.queue.Put(ending)
			if text := receive(t, "the second turn", g.told); text != "second" {
				t.Errorf("it is told %q", text)
			}
			first := receive(t, "the end of the first turn", o.turns)
			if first.Nonce != "c-1" || first.Outcome.Answer != "done" {
				t.Errorf("told %+v", first)
			}
			if m, err := peertest.LastMessage(t.Context(), o.socket()); err != nil || m == nil || m.Role != "assistant" || m.Content != "done" {
				t.Errorf("it said %+v, %v", m, err)
			}
			g.ends("something else")
			receive(t, "the third turn", g.told)
			g.ends("something else")
			out := receive(t, "the outcome", over)
			if out.err != nil || out.Answer != "done" || (out.Kind == dispatch.Completed) != (ending.Status == agent.Completed) || !reflect.DeepEqual(out.Outcome, first.Outcome) {
				t.Errorf("%+v, told %+v", out, first)
			}
			o.verifyLeft(g, false)
		})
	}
}

func TestTooManyPeers(t *testing.T) {
	o := newFixture(t)
	over := o.own(o.ownedTurn())
	g := receive(t, "the start", o.agents.sessions)
	receive(t, "the letter", g.told)
	taken := 0
	for {
		_, err := o.peer().Send(t.Context(), controlsocket.Message{Text: "more"})
		if _, refused := errors.AsType[*controlsocket.RefusedError](err); refused {
			break
		}
		check(t, err)
		taken++
	}
	if taken != 32 {
		t.Errorf("%d were taken", taken)
	}
	g.stopping = func() {
		_, err := o.peer().Send(context.Background(), controlsocket.Message{Text: "more"})
		if refused, ok := errors.AsType[*controlsocket.RefusedError](err); !ok || refused.Said != "Session not ready" {
			t.Errorf("of an agent that is ending: %v", err)
		}
	}
	g.exit(agent.Exit{Code: 1})
	if out := receive(t, "the outcome", over); out.Kind != dispatch.ChildExited {
		t.Errorf("%+v", out)
	}
}

// Who finds nobody at the socket may resume the session: so it stays until the
// agent has ended, and refuses.
func TestTheSocketGoesAfterTheAgent(t *testing.T) {
	o := newFixture(t)
	over := o.own(o.ownedTurn())
	g := receive(t, "the start", o.agents.sessions)
	receive(t, "the letter", g.told)
	ended := make(chan struct{})
	g.stopping = func() { <-ended }
	g.ends("done")
	if out := receive(t, "the outcome", over); out.Kind != dispatch.Completed { // though it has not ended
		t.Errorf("%+v", out)
	}
	_, err := o.peer().Send(t.Context(), controlsocket.Message{Text: "more"})
	if _, refused := errors.AsType[*controlsocket.RefusedError](err); !refused || o.served() != dispatch.Alive {
		t.Errorf("sent: %v, the socket is %s", err, o.served())
	}
	close(ended)
	eventually.Holds(t, "the end of the socket", func() bool { return controlsocket.Inspect(o.socket()).State == controlsocket.Absent })
}

// An agent that does not start and does not end keeps its lock.
func TestAnAgentThatIsNotSeenToEnd(t *testing.T) {
	for name, late := range map[string]error{"it fails at last": errors.New("no"), "it starts at last": nil} {
		t.Run(name, func(t *testing.T) {
			o := newFixture(t)
			ended := make(chan struct{})
			o.agents.refuse = func(context.Context) error { <-ended; return late }
			e := o.ownedTurn()
			e.Observe = 10 * time.Millisecond
			out := receive(t, "the outcome", o.own(e))
			path, _ := o.locks().Path(gid)
			want := dispatch.Diagnostic{GardenID: gid, PID: os.Getpid(), Socket: o.socket(), LockPath: path, ObserveTimeoutMs: 10, KillGraceMs: 50}
			if out.err != nil || out.Kind != dispatch.LockRetained || out.Retention != dispatch.KillUnconfirmed || *out.Diagnostic != want {
				t.Errorf("%+v", out)
			}
			if !o.locked() || o.served() != dispatch.Dead {
				t.Errorf("locked: %v, the socket is %s", o.locked(), o.served())
			}
			close(ended)
			eventually.Holds(t, "the end of the lock", func() bool { return !o.locked() })
			if late == nil {
				receive(t, "the end of the session", receive(t, "the session", o.agents.sessions).stopped)
			}
		})
	}
}
