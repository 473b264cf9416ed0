package review_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
	flow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// engine is an engine in memory with one run. It folds events and checks messages as the workflow does.
type engine struct {
	t  *testing.T
	mu sync.Mutex
	s  *run.Snapshot

	events []run.Event
	files  map[run.Digest][]byte
	took   []string // messages that the run has accepted
	once   map[string]bool

	followers int
	changed   []chan struct{}

	activity []runs.Activity
	outcome  string // of the workflow, if it was ended from outside

	lost error // of a decision that the run has taken, and whose answer nobody got

	newer int // other runs, which work and are listed before it

	others []runs.Listed // in lists, beside it

	// of the repository and the program
	diff     string
	standing merge.Standing
	fails    error // of each command
	hold     chan struct{}
	called   []string // commands
	sessions []session.Snapshot
	ticket   *runs.TicketView // nil: there is none
	pull     *flow.Result
}

const runID = run.ID("r1")

func (e *engine) emit(payloads ...run.Payload) {
	e.t.Helper()
	for _, p := range payloads {
		ev := e.s.Event(time.Now(), p)
		if err := e.s.Apply(ev); err != nil {
			e.t.Fatal(err)
		}
		e.events = append(e.events, ev)
	}
}

// keep stores an artifact and returns its reference.
func (e *engine) keep(name, text string) run.Ref {
	d := run.DigestOf([]byte(text))
	e.files[d] = []byte(text)
	return run.Ref{Name: name, Digest: d, Bytes: int64(len(text))}
}

func newEngine(t *testing.T, goal string) *engine {
	e := &engine{t: t, s: run.New(run.Input{}), files: map[run.Digest][]byte{}, once: map[string]bool{}}
	plan := e.keep("plan/iter-0001.md", "# The plan\n\n- change Greet\n")
	e.emit(
		run.RunCreated{Format: run.Format, Branch: "ratchet/r1", Input: run.Input{
			RunID: runID, Goal: goal, Policy: run.Always, NoBaseline: true, Checks: []string{"go test ./..."},
			Repository: run.Repository{Path: "/src/greeter", Base: "0123456789abcdef"},
			Providers:  run.Providers{Planner: "replay:x", Developer: "replay:x", Fixer: "replay:x"},
		}},
		run.PhaseStarted{Role: run.Planner}, run.PhaseCompleted{Result: run.Planned, Artifact: &plan}, run.PhaseStarted{Role: run.Developer},
	)
	return e
}

// propose makes a patch and asks for its approval.
func (e *engine) propose(summary, patch string) {
	e.t.Helper()
	ref := e.keep(fmt.Sprintf("execute/iter-%04d.patch", e.s.State.Iteration), patch)
	e.emit(run.PatchProduced{Proposal: run.Proposal{
		Patch: ref, Base: e.s.Head, Raw: ref, Summary: summary, Stat: run.Stat{Files: strings.Count(patch, "diff --git"), Added: 1, Deleted: 1}, Excerpt: patch,
	}})
	e.emit(e.s.NewApproval())
}

// pending returns the id of the approval that is pending.
func (e *engine) pending() string { return e.s.State.PendingApprovalID }

func (e *engine) messages() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.took...)
}

func (e *engine) listed() runs.Listed {
	l := runs.Listed{ID: runID, Status: e.s.State.Status, Repository: e.s.Input.Repository.Path, Goal: e.s.Input.Goal, Started: time.Now()}
	if e.s.State.CurrentPhase != nil {
		l.Phase = *e.s.State.CurrentPhase
	}
	if e.outcome != "" {
		l.Status, l.Phase, l.Outcome = run.Failed, "", e.outcome
	}
	return l
}

func (e *engine) List(_ context.Context, f runs.Filter) (list []runs.Listed, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.newer {
		list = append(list, runs.Listed{ID: run.ID(fmt.Sprintf("newer-%d", i)), Status: run.Running, Started: time.Now()})
	}
	list = append(list, e.listed())
	list = append(list, e.others...)
	return list[:min(len(list), f.Max)], nil
}

func (e *engine) Waiting(context.Context, ...run.Status) (list []runs.Listed, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range append(e.others, e.listed()) {
		if l.Status.Waiting() {
			list = append(list, l)
		}
	}
	return list, nil
}

func (e *engine) Find(_ context.Context, name string) (run.ID, error) {
	if name != string(runID) {
		return "", &runs.NotFoundError{Name: name}
	}
	return runID, nil
}

func (e *engine) View(context.Context, run.ID) (runs.View, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pending := e.s.Pending()
	return runs.View{
		Execution: runs.Execution{Listed: e.listed(), Open: e.outcome == "", Canceling: e.s.State.Status == run.Canceled, Activities: e.activity},
		State:     e.s.State, Facts: rundir.FactsOf(e.s), Pending: &pending, From: runs.FromWorkflow, Adrift: e.outcome != "",
	}, nil
}

func (e *engine) Events(context.Context, run.ID, string) ([]run.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]run.Event{}, e.events...), nil
}

func (e *engine) Decide(_ context.Context, id run.ID, d run.Decision) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id != runID {
		return &runs.NotFoundError{Name: string(id)}
	}
	if err := e.s.CheckDecision(d); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	if d.Decision == run.Edit && strings.Contains(d.Patch, "refuse me") {
		return &runs.RefusedError{Reason: "the edited patch is refused: line 3 is not there"}
	}
	e.take("%s %s by %s final %v session %v files %v: %s", d.Decision, d.ApprovalID, d.By, d.Final, d.Session, d.Files, d.Reason+d.Patch)
	if len(d.Hunks) > 0 {
		e.take("hunks %v", d.Hunks)
	}
	if d.Decision == run.Approve && len(d.Files) == 0 {
		e.emit(run.ApprovalGranted{ApprovalID: d.ApprovalID, By: d.By, Reason: d.Reason})
	} else {
		e.emit(run.ApprovalRejected{ApprovalID: d.ApprovalID, By: d.By, Reason: d.Reason, Final: d.Final, Files: d.Files})
	}
	return e.lost
}

func (e *engine) Reply(_ context.Context, _ run.ID, r run.Reply) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.s.CheckReply(r); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	e.take("answer %s by %s: %s", r.QuestionID, r.By, r.Text)
	return nil
}

func (e *engine) NoteOnce(_ context.Context, _ run.ID, once string, n run.Note) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if once != "" && e.once[once] {
		return nil
	}
	if err := e.s.CheckNote(n); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	e.once[once] = true
	e.take("note by %s: %s", n.By, n.Text)
	return nil
}

func (e *engine) Cancel(context.Context, run.ID) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.take("cancel")
	return nil
}

func (e *engine) Load(_ run.ID, ref run.Ref) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, ok := e.files[ref.Digest]
	if !ok {
		return nil, errors.New("not on this host")
	}
	return b, nil
}

func (e *engine) Usage(run.ID) run.Usage {
	return run.Usage{TotalTokens: 1200, Cost: run.Dollars(0.25)}
}

func (e *engine) Diff(context.Context, rundir.Facts) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.diff == "" {
		return nil, errors.New("no such repository")
	}
	return []byte(e.diff), nil
}

func (e *engine) Standing(context.Context, rundir.Facts) (merge.Standing, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.standing, nil
}

func (e *engine) MarkMerged(_ context.Context, list []runs.Listed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range list {
		list[i].Merged = e.standing.Branch != "" && list[i].Status == run.Completed
		list[i].Undone = e.standing.Undone != "" && list[i].Status == run.Completed
	}
}

// commands are the commands of the program. They note that they were called.
type commands struct{ *engine }

func (c commands) call(format string, args ...any) error {
	c.mu.Lock()
	c.called = append(c.called, fmt.Sprintf(format, args...))
	hold := c.hold
	c.mu.Unlock()
	if hold != nil {
		<-hold
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fails
}

func (c commands) Merge(_ context.Context, id run.ID, into, by string) error {
	if err := c.call("merge %s into %s by %s", id, into, by); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing.Branch, c.standing.At = into, time.Now()
	return nil
}

func (c commands) Undo(_ context.Context, id run.ID, from, by string) error {
	if err := c.call("undo %s on %s by %s", id, from, by); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing.Branch, c.standing.Undone, c.standing.At = "", from, time.Now()
	return nil
}

func (c commands) Retry(_ context.Context, id run.ID, onto string) (run.ID, error) {
	return "r2", c.call("retry %s onto %s", id, onto)
}

func (c commands) Start(_ context.Context, n review.NewRun) (run.ID, error) {
	return "r3", c.call("start %q in %s with %s", strings.Join(append([]string{n.Goal}, n.Set...), " "), n.Repository, n.Provider)
}

func (c commands) Goals(_ context.Context, repository string) ([]review.SavedGoal, error) {
	return []review.SavedGoal{{Name: "licence", Text: "Put <the> licence of {{year}} there", Parameters: []string{"year"}}}, nil
}

// asking are sessions in memory.
type asking struct{ *engine }

func (a asking) Asking(context.Context) (list []sessions.Listed, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if s.State != session.Asking {
			continue
		}
		list = append(list, sessions.Listed{ID: s.Input.ID, State: s.State, Title: s.Input.Title, Provider: s.Input.Provider, Repository: s.Input.Repository.Path, Started: s.Since})
	}
	return list, nil
}

func (a asking) Find(_ context.Context, name string) (session.ID, error) {
	if _, err := a.State(context.Background(), session.ID(name)); err != nil {
		return "", &sessions.NotFoundError{Name: name}
	}
	return session.ID(name), nil
}

func (a asking) State(_ context.Context, id session.ID) (session.Snapshot, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if s.Input.ID == id {
			return s, nil
		}
	}
	return session.Snapshot{}, errors.New("no such session")
}

// Send takes a decision as the workflow does, and any answer.
func (a asking) Send(_ context.Context, id session.ID, name, _ string, message, _ any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.sessions {
		s := &a.sessions[i]
		d, decides := message.(run.Decision)
		if s.Input.ID != id {
			continue
		}
		if decides {
			if err := s.CheckDecision(d); err != nil {
				return &runs.RefusedError{Reason: err.Error()}
			}
			s.Asks[0].Decided, s.State = &d, session.Working
		}
		a.took = append(a.took, fmt.Sprintf("%s %s: %+v", id, name, message))
		return nil
	}
	return errors.New("no such session")
}

// tickets is a ticket in memory.
type tickets struct{ *engine }

func (k tickets) AskingTickets(context.Context) (list []runs.TicketView, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ticket != nil && k.ticket.State.Question != nil {
		list = append(list, *k.ticket)
	}
	return list, nil
}

func (k tickets) Ticket(_ context.Context, name string) (runs.TicketView, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ticket == nil || k.ticket.Name != name {
		return runs.TicketView{}, &runs.NoTicketError{Name: name}
	}
	return *k.ticket, nil
}

func (k tickets) AnswerTicket(_ context.Context, name, text string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.took = append(k.took, name+": "+text)
	k.ticket.State.Question = nil
	return nil
}

func (k tickets) PullOf(context.Context, run.ID) (out flow.Result, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pull == nil {
		return out, false
	}
	return *k.pull, true
}

// Changes tells of messages that the run has taken. It counts its callers.
func (e *engine) Changes(ctx context.Context, _ run.ID) <-chan struct{} {
	changed := make(chan struct{}, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.followers++
	e.changed = append(e.changed, changed)
	go func() {
		<-ctx.Done()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.followers--
	}()
	return changed
}

// take notes a message that the run has taken.
func (e *engine) take(format string, args ...any) {
	e.took = append(e.took, fmt.Sprintf(format, args...))
	for _, c := range e.changed {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

const patchText = `diff --git a/greet.go b/greet.go
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/greet.go
+++ b/greet.go
@@ -2,5 +2,5 @@
 
 // Greet says hello to name.
 func Greet(name string) string {
-	return "Hello " + name
+	return "Hello, " + name
 }
`

// served is a page that is served for the tests.
type served struct {
	t      *testing.T
	server *review.Server
	engine *engine
}

func serve(t *testing.T, c review.Config, e *engine) *served {
	t.Helper()
	if c.Address == "" {
		c.Address = "127.0.0.1:0"
	}
	c.Commands, c.Sessions, c.Tickets = commands{e}, asking{e}, tickets{e}
	s, err := review.Start(c, e, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return &served{t, s, e}
}

func (s *served) port() string {
	u := s.server.Place().Address
	return u[strings.LastIndex(u, ":")+1:]
}

// visitor is a browser without a window: it keeps cookies and says where its requests come from.
type visitor struct {
	s      *served
	cookie string
	host   string
	origin string // of posts
	header http.Header
}

func (s *served) visitor() *visitor {
	return &visitor{s: s, host: "127.0.0.1:" + s.port(), origin: s.server.URL, header: http.Header{}}
}

type reply struct {
	code   int
	body   string
	header http.Header
}

func (v *visitor) send(method, path, kind, body string) reply {
	v.s.t.Helper()
	req, err := http.NewRequestWithContext(v.s.t.Context(), method, "http://"+v.s.server.Place().Address+path, strings.NewReader(body))
	if err != nil {
		v.s.t.Fatal(err)
	}
	req.Header = v.header.Clone()
	req.Host = v.host
	if v.cookie != "" {
		req.Header.Set("Cookie", v.cookie)
	}
	if method == http.MethodPost && v.origin != "" {
		req.Header.Set("Origin", v.origin)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		v.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, resp.Body); err != nil {
		v.s.t.Fatal(err)
	}
	return reply{resp.StatusCode, b.String(), resp.Header}
}

func (v *visitor) get(path string) reply { return v.send(http.MethodGet, path, "", "") }

func (v *visitor) post(path string, form url.Values) reply {
	return v.send(http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode())
}

// code returns the code of a login link.
func code(link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	c, _, _ := strings.Cut(fragment, "/")
	return c
}

// redeem posts the code of a link and keeps the cookie.
func (v *visitor) redeem(link string) reply {
	r := v.send(http.MethodPost, "/login", "text/plain", code(link))
	if set := r.header.Get("Set-Cookie"); set != "" {
		v.cookie, _, _ = strings.Cut(set, ";")
	}
	return r
}

// enter returns a visitor who is logged in.
func (s *served) enter(name string) *visitor {
	s.t.Helper()
	return s.enterBy(s.server.Place().Login(name, "/", time.Now()))
}

// enterOwner returns the owner of the engine, logged in.
func (s *served) enterOwner() *visitor {
	s.t.Helper()
	return s.enterBy(s.server.Place().LoginOwner("kim", "/", time.Now()))
}

func (s *served) enterBy(link string) *visitor {
	s.t.Helper()
	v := s.visitor()
	if r := v.redeem(link); r.code != http.StatusNoContent {
		s.t.Fatalf("login: %d %s", r.code, r.body)
	}
	return v
}

var tokenPattern = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`)

// token returns the token of the forms of a page.
func (v *visitor) token() string {
	v.s.t.Helper()
	r := v.get("/runs/" + string(runID))
	m := tokenPattern.FindStringSubmatch(r.body)
	if r.code != http.StatusOK || m == nil {
		v.s.t.Fatalf("no form on the page: %d %s", r.code, r.body)
	}
	return m[1]
}

// yes returns the form of the pending approval.
func (v *visitor) yes() url.Values {
	return url.Values{"token": {v.token()}, "id": {v.s.engine.pending()}, "verb": {"approve"}}
}
