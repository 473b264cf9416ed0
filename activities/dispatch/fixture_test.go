package dispatch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/gidlock"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

const gid dispatch.GardenID = "20260612T093000-0a1b2c"

// fixture holds the activities and a registry of their own.
type fixture struct {
	t      *testing.T
	dirs   citizen.Dirs
	work   string // where the sessions work
	acts   *activities.Activities
	agents *fakeAgents

	ctx    context.Context // of the worker
	cancel context.CancelFunc
	late   time.Duration // since activities were scheduled
	begun  chan string   // the nonces that workflows were told
	turns  chan activities.TurnEnd
	lost   error // what becomes of telling them
	log    log.Logger
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	home, err := os.MkdirTemp("", "desk") // a short path: sockets lie in it
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	o := &fixture{t: t, work: filepath.Join(home, "work"), agents: &fakeAgents{sessions: make(chan *fakeSession, 8)}, begun: make(chan string, 8), turns: make(chan activities.TurnEnd, 8), log: temporaltest.Quiet{}}
	o.dirs, err = citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	check(t, err)
	check(t, os.Mkdir(o.work, 0o700))
	o.acts, err = activities.New(activities.Config{
		Dirs: o.dirs, Resume: o.agents.resumerOf, Grace: 50 * time.Millisecond, Redact: redact.New([]string{"THE_TOKEN=sesame-open-up"}),
		Now: func() time.Time { return time.Now().Add(o.late) },
	})
	check(t, err)
	o.ctx, o.cancel = context.WithCancel(t.Context())
	return o
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// perform executes an activity as a worker does.
func perform[Out any](o *fixture, activity, in any) (out Out, err error) {
	o.t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(o.log)
	e := suite.NewTestActivityEnvironment()
	e.SetWorkerOptions(worker.Options{BackgroundActivityContext: o.ctx, Interceptors: []interceptor.WorkerInterceptor{temporaltest.WithClient(fakeClient{fixture: o})}})
	e.RegisterActivity(o.acts)
	v, err := e.ExecuteActivity(activity, in)
	if err == nil && v.HasValue() {
		err = v.Get(&out)
	}
	return out, err
}

// mustPerform is perform for what may not fail.
func mustPerform[Out any](o *fixture, activity, in any) Out {
	o.t.Helper()
	out, err := perform[Out](o, activity, in)
	check(o.t, err)
	return out
}

// fakeClient is a client whose signals reach the fixture.
type fakeClient struct {
	client.Client
	fixture *fixture
}

func (w fakeClient) SignalWorkflow(_ context.Context, _, _, name string, arg any) error {
	switch {
	case w.fixture.lost != nil:
	case name == activities.BegunSignal:
		w.fixture.begun <- arg.(string)
	case name == activities.TurnSignal:
		w.fixture.turns <- arg.(activities.TurnEnd)
	}
	return w.fixture.lost
}

// enroll makes a citizen.
func (o *fixture) enroll(b citizen.Birth) citizen.Record {
	o.t.Helper()
	if b.GardenID == "" {
		b.GardenID = gid
	}
	b.CWD = o.work
	store := citizen.Store{Dir: o.dirs.Sessions}
	r, err := store.Register(o.t.Context(), b)
	check(o.t, err)
	return r
}

// open serves a session at the socket of gid until the test ends.
func (o *fixture) open(s controlsocket.Session) {
	o.t.Helper()
	server, err := controlsocket.Listen(o.t.Context(), o.socket(), s)
	check(o.t, err)
	o.t.Cleanup(func() { server.Close() })
}

func (o *fixture) socket() string { return o.dirs.Socket(gid) }

func (o *fixture) peer() controlsocket.Client { return controlsocket.Client{Path: o.socket()} }

func (o *fixture) locks() gidlock.Locks { return gidlock.Locks{Dir: o.dirs.Locks} }

// locked says whether the lock of gid is there.
func (o *fixture) locked() bool {
	o.t.Helper()
	path, err := o.locks().Path(gid)
	check(o.t, err)
	_, err = os.Lstat(path)
	return err == nil
}

// put writes a file where there was none, with its directory.
func (o *fixture) put(path, text string) {
	o.t.Helper()
	check(o.t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(o.t, os.WriteFile(path, []byte(text), 0o600))
}

func message(id, text string) dispatch.Message {
	return dispatch.Message{ID: id, Request: dispatch.Request{Target: gid, Intent: dispatch.FireAndForget, Message: text}, Sender: dispatch.Sender{
		SessionID: "20260612T090000-aaaaaa", AgentID: "pi/test", CWD: "/w", Timestamp: "2026-06-12T09:30:00.000Z",
	}}
}
