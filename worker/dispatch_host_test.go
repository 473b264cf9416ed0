package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/kballard/go-shellquote"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// dispatchFixture is a fixture with a registry of its own, whose citizens keep ledgers of what
// reaches them: the sessions that live are in this process, those that do not
// run are the fake pi's, and mail lies where it lies.
type dispatchFixture struct {
	*fixture
	dirs   citizen.Dirs
	env    []string // of its workers
	ledger string   // of pi
	work   string   // where sessions work

	mu      sync.Mutex
	heard   map[string]int           // by sessions that live, by message
	slow    map[string]chan struct{} // messages that they take later
	founded int
	clients []client.Client
}

func newDispatchFixture(t testing.TB) *dispatchFixture {
	t.Helper()
	s := newOwnFixture(t)
	home, err := os.MkdirTemp("", "home") // a short path: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	h := &dispatchFixture{fixture: s, ledger: filepath.Join(s.dir, "ledger"), work: filepath.Join(s.dir, "work"), heard: map[string]int{}}
	h.env = []string{
		"HOME=" + home, asPi + "=" + h.ledger, "RATCHET_PI" + "=" + shellquote.Join(os.Args[0]), "GORACE=atexit_sleep_ms=0",
	}
	h.dirs, err = citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	if err == nil {
		err = os.Mkdir(h.work, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// on is the same host, whose workers and messages have another task queue.
func (h *dispatchFixture) on(queue string) *queueFixture {
	return &queueFixture{h, h.fixture.at(queue)}
}

// kind is how a citizen is reached.
type kind string

const (
	live    kind = "live"    // a pi that listens
	dormant kind = "dormant" // a pi that does not run
	mailed  kind = "mailed"  // a claude that reads its mail
)

var kinds = []kind{live, dormant, mailed}

// settle makes a citizen.
func (h *dispatchFixture) settle(k kind) dispatch.GardenID {
	h.t.Helper()
	h.mu.Lock()
	h.founded++
	n := h.founded
	h.mu.Unlock()
	b := citizen.Birth{Backend: dispatch.Pi, CWD: h.work, GardenID: dispatch.NewGardenID(time.Unix(1_800_000_000, 0), [3]byte{byte(n >> 16), byte(n >> 8), byte(n)})}
	if k == mailed {
		b.Backend, b.NativeSessionID = dispatch.ClaudeCode, "native-"+string(b.GardenID)
	}
	r, err := (&citizen.Store{Dir: h.dirs.Sessions}).Register(h.t.Context(), b)
	switch {
	case err != nil:
	case k == live:
		err = h.listen(r.GardenID)
	case k == mailed:
		err = h.read(r)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return r.GardenID
}

// listen serves a session in this process.
func (h *dispatchFixture) listen(id dispatch.GardenID) error {
	server, err := controlsocket.Listen(h.t.Context(), h.dirs.Socket(id), h)
	if err == nil {
		h.t.Cleanup(func() { server.Close() })
	}
	return err
}

// read says that this process reads the mail of a citizen; all of them are its.
func (h *dispatchFixture) read(r citizen.Record) error {
	owner, now := marker.OwnerOf(os.Getpid()), time.Now()
	who := marker.Citizen{GardenID: r.GardenID, Backend: r.Backend, NativeSessionID: r.NativeSessionID}
	return marker.WriteReceiver(h.dirs.Receivers, marker.Receiver{Citizen: who, Owner: owner, Provenance: marker.SessionStart}, now)
}

// Send implements controlsocket.Session.
func (h *dispatchFixture) Send(_ context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	id := strings.Fields(m.Text)[0]
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard[id]++
	if later := h.slow[id]; later != nil {
		h.mu.Unlock()
		<-later
		h.mu.Lock()
	}
	return dispatch.Direct, nil
}

// Info implements controlsocket.Session.
func (h *dispatchFixture) Info(context.Context) (controlsocket.Info, error) {
	return controlsocket.Info{}, nil
}

// LastMessage implements controlsocket.Session.
func (h *dispatchFixture) LastMessage(context.Context) (*controlsocket.LastMessage, error) {
	return nil, nil
}

// Abort implements controlsocket.Session.
func (h *dispatchFixture) Abort(context.Context) error { return nil }

// lines counts the lines of pi's ledger that begin so.
func (h *dispatchFixture) lines(words ...string) (n int) {
	h.t.Helper()
	b, err := os.ReadFile(h.ledger)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(strings.TrimSpace(line)+" ", strings.Join(words, " ")+" ") {
			n++
		}
	}
	return n
}

// arrived is how often a message did.
func (h *dispatchFixture) arrived(l dispatch.Message) int {
	h.t.Helper()
	h.mu.Lock()
	n := h.heard[l.ID]
	h.mu.Unlock()
	n += h.lines(promptLine, string(l.Request.Target), l.ID)
	bodies, err := filepath.Glob(filepath.Join(h.dirs.Mailbox(l.Request.Target), "*.msg")) // nobody reads them here
	if err != nil {
		h.t.Fatal(err)
	}
	for _, name := range bodies {
		b, err := os.ReadFile(name)
		if err != nil {
			h.t.Fatal(err)
		}
		n += strings.Count(string(b), "\n"+l.ID)
	}
	return n
}

// end lets the turns end that wait for a file of that name.
func (h *dispatchFixture) end(name string) { h.put(filepath.Join(filepath.Dir(h.ledger), name), "") }

// rung says whether the doorbell of a mailbox rang.
func (h *dispatchFixture) rung(id dispatch.GardenID) bool {
	_, err := mailbox.Mailboxes{Dirs: h.dirs}.State(id)
	_, signal := os.Lstat(filepath.Join(h.dirs.Mailbox(id), "inbox.signal"))
	return err == nil && signal == nil
}

// intentOf is what a citizen of the kind can be asked for.
func intentOf(k kind) dispatch.Intent {
	if k == dormant {
		return dispatch.OwnedOutcome
	}
	return dispatch.FireAndForget
}

// message is one whose text begins with its id.
func message(to dispatch.GardenID, intent dispatch.Intent, words ...string) dispatch.Message {
	id := uuid.NewString()
	return dispatch.Message{ID: id, Request: dispatch.Request{
		Target: to, Intent: intent, Message: strings.Join(append([]string{id}, words...), " "),
	}, Sender: dispatch.Sender{SessionID: "test", AgentID: "test", CWD: "/", Timestamp: "2026-01-02T03:04:05.000Z"}}
}

// queueFixture is a host with a task queue of its own.
type queueFixture struct {
	*dispatchFixture
	queue *fixture
}

// told is what became of a message.
type told struct {
	message dispatch.Message
	dispatch.Result
	err error
}

// word is the kind of the outcome, the reason of the reject, or error.
func (got told) word() string {
	switch {
	case got.err != nil:
		return "error"
	case got.Outcome != nil:
		return string(got.Outcome.Kind)
	}
	return string(got.Receipt.Reason())
}

func (got told) String() string {
	return fmt.Sprintf("%s %s: %+v %+v %s %v", got.message.ID, got.word(), got.Receipt, got.Outcome, got.Diagnostic, got.err)
}

// give hands a message in and waits beside the test.
func (r *queueFixture) give(l dispatch.Message) <-chan told {
	over := make(chan told, 1)
	go func() {
		ctx, cancel := context.WithTimeout(r.t.Context(), 15*time.Minute) // far above what any may take, through all kills
		defer cancel()
		res, err := r.queue.post(ctx, l)
		over <- told{l, res, err}
	}()
	return over
}

// dispatch is give, and waits.
func (r *queueFixture) dispatch(l dispatch.Message) told { return <-r.give(l) }

// spawn starts a worker, and waits until it serves or has died.
func (r *queueFixture) spawn(env ...string) *workerProcess {
	r.t.Helper()
	return r.queue.spawn(append(env, r.env...)...)
}

// launch does not wait for it.
func (r *queueFixture) launch(env ...string) *workerProcess {
	r.t.Helper()
	return r.queue.launch(append(env, r.env...)...)
}

// good is what a dispatch to a citizen of the kind ends in.
func good(k kind) dispatch.Kind {
	return map[kind]dispatch.Kind{live: dispatch.Sent, dormant: dispatch.Completed, mailed: dispatch.Enqueued}[k]
}

// verify fails when an outcome claims what did not happen, or a message arrived
// more than once.
func (h *dispatchFixture) verify(t testing.TB, got told) {
	t.Helper()
	n := h.arrived(got.message)
	if n > 1 {
		t.Errorf("it arrived %d times: %s", n, got)
	}
	if got.err != nil {
		return
	}
	switch out := got.Outcome; {
	case out == nil, out.Kind == dispatch.Rejected, out.Kind == dispatch.StartFailed:
		if n != 0 {
			t.Errorf("it arrived: %s", got)
		}
	case out.Succeeded():
		if n != 1 {
			t.Errorf("it arrived %d times: %s", n, got)
		}
	}
	if !got.Succeeded() && got.Outcome != nil && got.Outcome.RetrySafe() && n != 0 {
		t.Errorf("to send it again would deliver it twice: %s", got)
	}
}

// verifyHost fails when something is left: a process, two agents on a session, a
// lock, a socket.
func (h *dispatchFixture) verifyHost(t testing.TB) {
	t.Helper()
	eventually.Holds(t, "the end of all agents", func() bool { return len(h.processes("")) == 0 })
	if n := h.lines(togetherLine); n != 0 {
		t.Errorf("%d times two agents ran on one session", n)
	}
	for _, left := range []string{filepath.Join(h.dirs.Locks, "*[0-9a-f].lock"), filepath.Join(h.dirs.Sockets, "[0-9]*.sock")} {
		names, err := filepath.Glob(left)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			eventually.Holds(t, name+" to be removed", func() bool { return !h.abandoned(name) })
		}
	}
}

// abandoned says whether a file is there that nobody lives behind.
func (h *dispatchFixture) abandoned(name string) bool {
	if _, err := os.Lstat(name); err != nil {
		return false
	}
	if strings.HasSuffix(name, ".sock") {
		return controlsocket.Look(h.t.Context(), name).Liveness != dispatch.Alive
	}
	return true
}
