package dispatch_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Who a target can be.
func (o *fixture) pi() { o.enroll(citizen.Birth{Backend: dispatch.Pi}) }
func (o *fixture) claude() {
	o.enroll(citizen.Birth{Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"})
}

func (o *fixture) codex() {
	o.enroll(citizen.Birth{Backend: dispatch.Codex, NativeSessionID: "n-1"})
}

// awake is claude while this very process reads its mail.
func (o *fixture) awake() {
	o.t.Helper()
	r := o.enroll(citizen.Birth{Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"})
	owner, now := marker.OwnerOf(os.Getpid()), time.Now()
	check(o.t, marker.WriteReceiver(o.dirs.Receivers, marker.Receiver{Citizen: r.Citizen(), Owner: owner, Provenance: marker.SessionStart}, now))
	check(o.t, marker.WriteSender(o.dirs.Senders, marker.Sender{Citizen: r.Citizen(), CWD: o.work, Owner: owner}, now))
}

// What can be at its address.
func (o *fixture) live() { o.open(&listener{as: dispatch.Direct}) }
func (o *fixture) file() { o.put(o.socket(), "") }
func (o *fixture) link() {
	o.put(o.dirs.Sockets+"/other", "")
	check(o.t, os.Symlink("other", o.socket()))
}

// stale is the socket of a session that is gone.
func (o *fixture) stale() {
	check(o.t, os.MkdirAll(o.dirs.Sockets, 0o700))
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: o.socket(), Net: "unix"})
	check(o.t, err)
	l.SetUnlinkOnClose(false)
	check(o.t, l.Close())
}

func TestResolve(t *testing.T) {
	type acts []func(*fixture)
	rows := []struct {
		name  string
		there acts
		want  activities.ResolveResult // but for CWD and Diagnostic
	}{
		{"nobody", nil, activities.ResolveResult{Reject: dispatch.BadTarget}},
		{"a pi", acts{(*fixture).pi}, activities.ResolveResult{Backend: dispatch.Pi}},
		{"a pi whose address is a file is not looked at", acts{(*fixture).pi, (*fixture).file}, activities.ResolveResult{Backend: dispatch.Pi}},
		{"a session without a record", acts{(*fixture).live}, activities.ResolveResult{Backend: dispatch.Pi, Recordless: true}},
		{"a dead socket without a record", acts{(*fixture).stale}, activities.ResolveResult{Backend: dispatch.Pi, Recordless: true}},
		{"a symlink without a record", acts{(*fixture).link}, activities.ResolveResult{Reject: dispatch.BadTarget}},
		{"a file without a record", acts{(*fixture).file}, activities.ResolveResult{Reject: dispatch.BadTarget}},
		{"a claude that reads its mail", acts{(*fixture).awake}, activities.ResolveResult{Backend: dispatch.ClaudeCode, Deliverable: true, Session: "n-1"}},
		{"a claude that does not", acts{(*fixture).claude}, activities.ResolveResult{Backend: dispatch.ClaudeCode, Session: "n-1"}},
		{"a codex that nobody resumes", acts{(*fixture).codex}, activities.ResolveResult{Backend: dispatch.Codex}},
		{"a claude with a socket", acts{(*fixture).awake, (*fixture).live}, activities.ResolveResult{Reject: dispatch.TargetAddressConflict}},
		{"a claude with a dead socket", acts{(*fixture).awake, (*fixture).stale}, activities.ResolveResult{Reject: dispatch.TargetAddressConflict}},
		{"a claude with a symlink", acts{(*fixture).claude, (*fixture).link}, activities.ResolveResult{Reject: dispatch.TargetAddressConflict}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := newFixture(t)
			for _, act := range row.there {
				act(o)
			}
			got := mustPerform[activities.ResolveResult](o, o.acts.Resolve, gid)
			if why := got.Diagnostic != ""; why == (row.want.Reject == dispatch.BadTarget || row.want.Backend == dispatch.Pi) {
				t.Errorf("diagnostic %q", got.Diagnostic)
			}
			if recorded := row.want.Reject == "" && !row.want.Recordless; recorded != (got.CWD == o.work) {
				t.Errorf("works in %q", got.CWD)
			}
			if got.CWD, got.Diagnostic = "", ""; got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

// A record that names nobody for sure is an error and never a reject; only where
// the disk may do better next time is it tried again.
func TestResolveGivesUp(t *testing.T) {
	rows := []struct {
		name  string
		there func(*fixture)
		again bool
	}{
		{"a record that is broken", func(o *fixture) { o.put(filepath.Join(o.dirs.Sessions, string(gid)+".meta.json"), "{}") }, false},
		{"a record that names another", func(o *fixture) {
			r := o.enroll(citizen.Birth{GardenID: "20260612T093000-ffffff", Backend: dispatch.Pi})
			store := citizen.Store{Dir: o.dirs.Sessions}
			check(o.t, os.Rename(store.Path(r.GardenID), store.Path(gid)))
		}, false},
		{"a native session with two records", func(o *fixture) {
			r := o.enroll(citizen.Birth{Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"})
			r.GardenID = "20260612T093000-ffffff"
			b, err := r.Marshal()
			check(o.t, err)
			o.put((&citizen.Store{Dir: o.dirs.Sessions}).Path(r.GardenID), string(b))
		}, false},
		{"an address that cannot be read", func(o *fixture) { o.claude(); o.put(o.dirs.Sockets, "a file") }, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := newFixture(t)
			row.there(o)
			got, err := perform[activities.ResolveResult](o, o.acts.Resolve, gid)
			app, ok := errors.AsType[*temporal.ApplicationError](err)
			if !ok || app.NonRetryable() == row.again || got.Reject != "" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestLockIsTheClaims(t *testing.T) {
	o := newFixture(t)
	mine, other := activities.Lock{Target: gid, Nonce: "c-1"}, activities.Lock{Target: gid, Nonce: "c-2"}
	for range 2 {
		if got := mustPerform[activities.LockResult](o, o.acts.Lock, mine); !got.OK {
			t.Errorf("%+v", got)
		}
	}
	path, _ := o.locks().Path(gid)
	if got := mustPerform[activities.LockResult](o, o.acts.Lock, other); got.OK || !strings.Contains(got.Diagnostic, path) {
		t.Errorf("the second claim: %+v", got)
	}
	if mustPerform[any](o, o.acts.Unlock, other); !o.locked() {
		t.Error("the second claim released it")
	}
	for range 2 {
		if mustPerform[any](o, o.acts.Unlock, mine); o.locked() {
			t.Error("not released")
		}
	}
	if _, err := perform[activities.LockResult](o, o.acts.Lock, activities.Lock{Target: "../x", Nonce: "c-1"}); err == nil {
		t.Error("locked what is no garden id")
	}
}

func TestLook(t *testing.T) {
	rows := []struct {
		name  string
		there func(*fixture)
		want  activities.LookResult
	}{
		{"nothing", func(*fixture) {}, activities.LookResult{Liveness: dispatch.Dead}},
		{"a session", (*fixture).live, activities.LookResult{Liveness: dispatch.Alive}},
		{"the socket of a session that is gone", (*fixture).stale, activities.LookResult{Liveness: dispatch.Dead}},
		{"a file", (*fixture).file, activities.LookResult{Conflict: true}},
		{"a symlink", (*fixture).link, activities.LookResult{Conflict: true}},
		{"a directory that is a file", func(o *fixture) { o.put(o.dirs.Sockets, "") }, activities.LookResult{Liveness: dispatch.Indeterminate}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := newFixture(t)
			row.there(o)
			got := mustPerform[activities.LookResult](o, o.acts.Look, gid)
			if why := got.Diagnostic != ""; why == (row.want.Liveness == dispatch.Alive) {
				t.Errorf("diagnostic %q", got.Diagnostic)
			}
			if got.Diagnostic = ""; got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

func TestAsk(t *testing.T) {
	for _, row := range []struct {
		name       string
		of         activities.NativeSession
		runs       bool
		doubt      error
		want       dispatch.Liveness
		diagnostic string
	}{
		{"it runs", activities.NativeSession{Backend: dispatch.ClaudeCode, Session: "n-1"}, true, nil, dispatch.Alive, ""},
		{"it does not", activities.NativeSession{Backend: dispatch.ClaudeCode, Session: "n-1"}, false, nil, dispatch.Dead, ""},
		{"nobody can tell", activities.NativeSession{Backend: dispatch.ClaudeCode, Session: "n-1"}, false, errors.New("an older client"), dispatch.Indeterminate, "an older client"},
		{"what it says beside an error is nothing", activities.NativeSession{Backend: dispatch.ClaudeCode, Session: "n-1"}, true, errors.New("hm"), dispatch.Indeterminate, "hm"},
		{"nobody has it", activities.NativeSession{Backend: dispatch.ClaudeCode, Session: "n-2"}, false, nil, dispatch.Indeterminate, "there is no session n-2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := newFixture(t)
			o.agents.runs, o.agents.doubt = row.runs, row.doubt
			want := activities.LookResult{Liveness: row.want, Diagnostic: row.diagnostic}
			if got := mustPerform[activities.LookResult](o, o.acts.Ask, row.of); got != want {
				t.Errorf("%+v", got)
			}
		})
	}
	for _, b := range []dispatch.Backend{dispatch.Codex, dispatch.Pi} { // one is not resumed, the other has an address
		o := newFixture(t)
		if got, err := perform[activities.LookResult](o, o.acts.Ask, activities.NativeSession{Backend: b, Session: "n-1"}); err == nil {
			t.Errorf("%s: %+v", b, got)
		}
	}
}

// A look that was cut off has seen nothing.
func TestALookThatIsCutOff(t *testing.T) {
	o := newFixture(t)
	o.pi()
	o.live()
	o.cancel()
	if got, err := perform[activities.LookResult](o, o.acts.Look, gid); err == nil {
		t.Errorf("%+v", got)
	}
}

func TestTrust(t *testing.T) {
	saved := func(verdict string) func(*fixture) {
		return func(o *fixture) { o.put(o.dirs.Trust, `{"`+o.work+`": `+verdict+`}`) }
	}
	rows := []struct {
		name  string
		there func(*fixture)
		want  activities.TrustResult
		fails bool
	}{
		{"a directory with nothing of its own", func(*fixture) {}, activities.TrustResult{OK: true}, false},
		{"one with settings that nobody has decided about", func(o *fixture) { o.put(o.work+"/.pi/settings.json", "{}") }, activities.TrustResult{}, false},
		{"one that is trusted", saved("true"), activities.TrustResult{OK: true, Approve: true}, false},
		{"one that is not", saved("false"), activities.TrustResult{}, false},
		{"a store that is none", func(o *fixture) { o.put(o.dirs.Trust, "[]") }, activities.TrustResult{}, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := newFixture(t)
			row.there(o)
			got, err := perform[activities.TrustResult](o, o.acts.Trust, o.work)
			if (err != nil) != row.fails || (got.Diagnostic == "") != row.fails {
				t.Errorf("%+v, %v", got, err)
			}
			if got.Diagnostic = ""; got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

// listener is a session that listens.
type listener struct {
	as  dispatch.Delivery
	err error

	mu  sync.Mutex
	got []controlsocket.Message
}

func (s *listener) Send(_ context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, m)
	return s.as, s.err
}
func (s *listener) Info(context.Context) (controlsocket.Info, error) {
	return controlsocket.Info{}, nil
}
func (s *listener) LastMessage(context.Context) (*controlsocket.LastMessage, error) {
	return nil, nil
}
func (s *listener) Abort(context.Context) error { return nil }

// hangUp accepts at the socket of gid, reads a line, and closes.
func (o *fixture) hangUp() {
	check(o.t, os.MkdirAll(o.dirs.Sockets, 0o700))
	l, err := net.Listen("unix", o.socket())
	check(o.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<10))
			conn.Close()
		}
	}()
	o.t.Cleanup(func() { l.Close(); <-done })
}

func TestDeliver(t *testing.T) {
	serve := func(s *listener) func(*fixture) { return func(o *fixture) { o.open(s) } }
	rows := []struct {
		name  string
		there func(*fixture)
		want  dispatch.Outcome // but for Error
		gone  bool
	}{
		{"taken", serve(&listener{as: dispatch.Followed}), dispatch.Outcome{Kind: dispatch.Sent, DeliveredAs: dispatch.Followed}, false},
		{"refused", serve(&listener{err: errors.New("not now")}), dispatch.Outcome{Kind: dispatch.Rejected}, false},
		{"not answered by who says that it does not know", serve(&listener{err: controlsocket.ErrUncertain}), dispatch.Outcome{Kind: dispatch.Unknown}, false},
		{"closed the connection", (*fixture).hangUp, dispatch.Outcome{Kind: dispatch.Unknown}, false},
		{"nobody there", func(*fixture) {}, dispatch.Outcome{Kind: dispatch.ExecutionFailed}, true},
		{"nobody there any more", (*fixture).stale, dispatch.Outcome{Kind: dispatch.ExecutionFailed}, true},
		{"a symlink there", (*fixture).link, dispatch.Outcome{Kind: dispatch.ExecutionFailed}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := newFixture(t)
			row.there(o)
			got := mustPerform[activities.DeliverResult](o, o.acts.Deliver, message("l-1", "hello"))
			if (got.Outcome.Error == "") != (row.want.Kind == dispatch.Sent) {
				t.Errorf("error %q", got.Outcome.Error)
			}
			got.Outcome.Error, row.want.Transport = "", dispatch.ControlSocket
			if got.Outcome != row.want || got.Gone != row.gone {
				t.Errorf("%+v, want %+v, gone: %v", got, row.want, row.gone)
			}
		})
	}
}

func TestAMessageArrivesUnchanged(t *testing.T) {
	o := newFixture(t)
	s := &listener{as: dispatch.Direct}
	o.open(s)
	l := message("l-1", "--help\n@file \"x\"\x00 <b>\u2028é")
	l.Request.WantsReply = true
	mustPerform[activities.DeliverResult](o, o.acts.Deliver, l)
	l.Request.Mode = dispatch.Steer
	mustPerform[activities.DeliverResult](o, o.acts.Deliver, l)
	for i, mode := range []dispatch.Mode{dispatch.FollowUp, dispatch.Steer} {
		if m := s.got[i]; m.Text != l.Request.Message || m.Mode != mode || *m.Sender != l.Sender || !m.WantsReply {
			t.Errorf("%+v", m)
		}
	}
}

func TestAMessageIsOneMail(t *testing.T) {
	o := newFixture(t)
	o.awake()
	var outcomes []dispatch.Outcome
	for _, id := range []string{"l-1", "l-1", "l-2"} {
		outcomes = append(outcomes, mustPerform[dispatch.Outcome](o, o.acts.Enqueue, message(id, "hello")))
	}
	if outcomes[0] != outcomes[1] || outcomes[0].Mail == outcomes[2].Mail || outcomes[0].Kind != dispatch.Enqueued {
		t.Errorf("%+v", outcomes)
	}
	d, err := mailbox.Mailboxes{Dirs: o.dirs}.Drain(t.Context(), gid, func(mailbox.Drained) error { return nil })
	check(t, err)
	var files []string
	for _, m := range d.Messages {
		files = append(files, m.File)
		if !strings.HasSuffix(m.Body, "\nhello\n") {
			t.Errorf("body %q", m.Body)
		}
	}
	if !slices.Equal(files, []string{outcomes[0].Mail, outcomes[2].Mail}) {
		t.Errorf("in the mailbox %q", files)
	}
}

// What was said of a mailbox does not hold for ever.
func TestAMessageThatComesLate(t *testing.T) {
	for name, row := range map[string]struct {
		there func(*fixture)
		late  time.Duration
		taken bool
	}{
		"at once, and nobody reads any more": {(*fixture).claude, 0, true},
		"late, and it is read still":         {(*fixture).awake, time.Hour, true},
		"late, and nobody reads any more":    {(*fixture).claude, time.Hour, false},
		"late, and nobody is there any more": {func(*fixture) {}, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := newFixture(t)
			row.there(o)
			o.late = row.late
			out, err := perform[dispatch.Outcome](o, o.acts.Enqueue, message("l-1", "hello"))
			if app, ok := errors.AsType[*temporal.ApplicationError](err); (err == nil) != row.taken || ok && !app.NonRetryable() {
				t.Errorf("%+v, %v", out, err)
			}
			if _, err := os.Stat(o.dirs.Mailboxes); (err == nil) != row.taken {
				t.Errorf("the mailbox: %v", err)
			}
		})
	}
}

func TestNobodysMailIsAnError(t *testing.T) {
	o := newFixture(t)
	out, err := perform[dispatch.Outcome](o, o.acts.Enqueue, message("l-1", "hello"))
	if err == nil || !strings.Contains(err.Error(), citizen.ErrUnknown.Error()) {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := os.Stat(o.dirs.Mailboxes); err == nil {
		t.Error("a mailbox was made")
	}
}

func TestConfigurationWithoutItsParts(t *testing.T) {
	o := newFixture(t)
	for name, c := range map[string]activities.Config{
		"no registry": {Resume: o.agents.resumerOf}, "no adapter": {Dirs: o.dirs},
	} {
		if _, err := activities.New(c); err == nil {
			t.Errorf("%s: made", name)
		}
	}
}
