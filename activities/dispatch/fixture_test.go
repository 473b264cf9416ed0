package dispatch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/gidlock"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/temporaltest"
)

const gid dispatch.GardenID = "20260612T093000-0a1b2c"

// office is a desk on a registry of its own.
type office struct {
	t     *testing.T
	dirs  citizen.Dirs
	work  string // where the sessions work
	desk  *activities.Activities
	house *house

	ctx    context.Context // of the worker
	cancel context.CancelFunc
	late   time.Duration // since activities were scheduled
	begun  chan string   // the nonces that workflows were told
	turns  chan activities.TurnEnd
	lost   error // what becomes of telling them
}

func newOffice(t *testing.T) *office {
	t.Helper()
	home, err := os.MkdirTemp("", "desk") // a short path: sockets lie in it
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	o := &office{t: t, work: filepath.Join(home, "work"), house: &house{guests: make(chan *guest, 8)}, begun: make(chan string, 8), turns: make(chan activities.TurnEnd, 8)}
	o.dirs, err = citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	check(t, err)
	check(t, os.Mkdir(o.work, 0o700))
	o.desk, err = activities.New(activities.Config{
		Dirs: o.dirs, Resume: o.house.door, Grace: 50 * time.Millisecond, Redact: redact.New([]string{"THE_TOKEN=sesame-open-up"}),
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

// perform carries an activity of the desk out, as a worker does.
func perform[Out any](o *office, activity, in any) (out Out, err error) {
	o.t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(temporaltest.Quiet{})
	e := suite.NewTestActivityEnvironment()
	e.SetWorkerOptions(worker.Options{BackgroundActivityContext: o.ctx, Interceptors: []interceptor.WorkerInterceptor{temporaltest.WithClient(wire{office: o})}})
	e.RegisterActivity(o.desk)
	v, err := e.ExecuteActivity(activity, in)
	if err == nil && v.HasValue() {
		err = v.Get(&out)
	}
	return out, err
}

// mustPerform is perform for what may not fail.
func mustPerform[Out any](o *office, activity, in any) Out {
	o.t.Helper()
	out, err := perform[Out](o, activity, in)
	check(o.t, err)
	return out
}

// wire is a client whose signals reach the office.
type wire struct {
	client.Client
	office *office
}

func (w wire) SignalWorkflow(_ context.Context, _, _, name string, arg any) error {
	switch {
	case w.office.lost != nil:
	case name == activities.BegunSignal:
		w.office.begun <- arg.(string)
	case name == activities.TurnSignal:
		w.office.turns <- arg.(activities.TurnEnd)
	}
	return w.office.lost
}

// enroll makes a citizen.
func (o *office) enroll(b citizen.Birth) citizen.Record {
	o.t.Helper()
	if b.GardenID == "" {
		b.GardenID = gid
	}
	b.CWD = o.work
	store := citizen.Store{Dir: o.dirs.Sessions}
	r, err := store.Create(o.t.Context(), b)
	check(o.t, err)
	return r
}

// open serves a session at the socket of gid until the test ends.
func (o *office) open(s controlsocket.Session) {
	o.t.Helper()
	server, err := controlsocket.Listen(o.t.Context(), o.socket(), s)
	check(o.t, err)
	o.t.Cleanup(func() { server.Close() })
}

func (o *office) socket() string { return o.dirs.Socket(gid) }

func (o *office) peer() controlsocket.Client { return controlsocket.Client{Path: o.socket()} }

func (o *office) locks() gidlock.Locks { return gidlock.Locks{Dir: o.dirs.Locks} }

// locked says whether the lock of gid is there.
func (o *office) locked() bool {
	o.t.Helper()
	path, err := o.locks().Path(gid)
	check(o.t, err)
	_, err = os.Lstat(path)
	return err == nil
}

// put writes a file where there was none, with its directory.
func (o *office) put(path, text string) {
	o.t.Helper()
	check(o.t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(o.t, os.WriteFile(path, []byte(text), 0o600))
}

func letter(id, text string) dispatch.Message {
	return dispatch.Message{ID: id, Request: dispatch.Request{Target: gid, Intent: dispatch.FireAndForget, Message: text}, Sender: dispatch.Sender{
		SessionID: "20260612T090000-aaaaaa", AgentID: "pi/test", CWD: "/w", Timestamp: "2026-06-12T09:30:00.000Z",
	}}
}
