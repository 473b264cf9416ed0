package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/runtools"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
	"github.com/ratchet-dev/ratchet/starter/internal/tools"
)

const (
	claude dispatch.GardenID = "20260612T093000-00000c"
	live   dispatch.GardenID = "20260612T093000-00000a"
	gone   dispatch.GardenID = "20260612T093000-00000d"
)

var noon = time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)

// engine is one in memory.
type engine struct {
	mu      sync.Mutex
	letters []dispatch.Message
	filters []runs.Filter
	decided []run.Decision
	replied []run.Reply
	started []tools.Start
	names   []string // that runs were asked for by
	asked   []string // of Past: the target and how many

	result dispatch.Result
	err    error                     // of every call
	hold   func(ctx context.Context) // what Dispatch waits for
}

func (e *engine) Dispatch(ctx context.Context, l dispatch.Message) (dispatch.Result, error) {
	e.mu.Lock()
	e.letters = append(e.letters, l)
	e.mu.Unlock()
	if e.hold != nil {
		e.hold(ctx)
	}
	if ctx.Err() != nil {
		return dispatch.Result{}, &dispatches.CutOffError{Workflow: "dispatch-" + string(l.Request.Target), Taken: true, Cause: ctx.Err()}
	}
	return e.result, e.err
}

// Past gives one that goes on beside an error.
func (e *engine) Past(_ context.Context, target dispatch.GardenID, most int) ([]dispatches.Past, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, fmt.Sprint(target, " ", most))
	if e.err != nil && target == "" {
		return nil, e.err
	}
	return []dispatches.Past{
		{Target: live, ID: "l-2", Intent: dispatch.OwnedOutcome, At: noon},
		{Target: live, ID: "l-1", Intent: dispatch.FireAndForget, At: noon, Result: &e.result},
	}, e.err
}

func (e *engine) List(_ context.Context, f runs.Filter) ([]runs.Listed, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.filters = append(e.filters, f)
	return []runs.Listed{{ID: "r-1", Goal: "g", Started: noon}}, e.err
}

func (e *engine) Standing(_ context.Context, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names = append(e.names, name)
	return map[string]any{"status": run.AwaitingApproval}, e.err
}

func (e *engine) Decide(_ context.Context, name string, d run.Decision) (run.ID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names, e.decided = append(e.names, name), append(e.decided, d)
	return "r-1", e.err
}

func (e *engine) Reply(_ context.Context, name string, r run.Reply) (run.ID, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names, e.replied = append(e.names, name), append(e.replied, r)
	return "r-1", e.err
}

func (e *engine) Waiting(context.Context) ([]inbox.Entry, error) {
	return inbox.Entries([]inbox.Item{{Kind: inbox.Session, Ref: "shop-2", About: "Bash: make", Tool: true, Listed: runs.Listed{Name: "shop-2", Status: run.AwaitingApproval}}}), e.err
}

func (e *engine) Tickets(context.Context) ([]runs.TicketView, error) {
	return []runs.TicketView{{Name: "git.example/acme/shop#7", Open: true, State: ticket.State{Step: ticket.Waiting, Title: "Trim", Question: &ticket.Question{Key: "locked", Text: "the issue is locked"}}}}, e.err
}

func (e *engine) AnswerTicket(_ context.Context, name, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names = append(e.names, name+": "+text)
	return e.err
}

func (e *engine) Start(_ context.Context, s tools.Start) (runtools.Started, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, s)
	return runtools.Started{RunID: "r-2", Name: "slug#2"}, e.err
}

// Await waits as long as it may for a run that is at work.
func (e *engine) Await(ctx context.Context, name string) (any, error) {
	if name == "busy" {
		<-ctx.Done()
		return runs.NewNeeds("r-1", "slug#1", run.Running, &run.Pending{}), e.err
	}
	return runs.NewNeeds("r-1", "slug#1", run.AwaitingApproval, &run.Pending{Approval: &run.PendingApproval{ApprovalID: "apr-1", Summary: "put a comma"}}), e.err
}

func (e *engine) sent() []dispatch.Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.letters
}

// fixture is a registry with three citizens, and what a server of tools needs.
type fixture struct {
	tools.Config
	engine *engine
	vars   map[string]string // the environment of the client
	log    *captured.Output
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	home, err := os.MkdirTemp("", "m") // short: sockets lie below it
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	dirs, err := citizen.FindDirs(func(name string) (string, bool) { return home, name == "HOME" })
	must(t, err)
	store := citizen.Store{Dir: dirs.Sessions}
	for id, backend := range map[dispatch.GardenID]dispatch.Backend{claude: dispatch.ClaudeCode, live: dispatch.Pi, gone: dispatch.Pi} {
		_, err := store.Register(t.Context(), citizen.Birth{GardenID: id, Backend: backend, CWD: "/w"})
		must(t, err)
	}
	w := &fixture{engine: &engine{}, vars: map[string]string{}, log: &captured.Output{}}
	w.Config = tools.Config{
		Dirs: dirs, Engine: w.engine, Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Caller: func() citizen.Caller {
			return citizen.Caller{Lookup: func(name string) (string, bool) { v, ok := w.vars[name]; return v, ok }, CWD: "/here", Parent: os.Getpid(), Now: noon}
		},
	}
	return w
}

// isClaude makes the client a process of the citizen claude.
func (w *fixture) isClaude(t *testing.T) {
	t.Helper()
	who := marker.Citizen{GardenID: claude, Backend: dispatch.ClaudeCode, NativeSessionID: string(claude)}
	must(t, marker.WriteSender(w.Dirs.Senders, marker.Sender{Citizen: who, CWD: "/there", Owner: marker.OwnerOf(os.Getpid())}, noon))
}

// pipes are a server and both ends of the streams to it.
type pipes struct {
	in    io.WriteCloser
	out   io.ReadCloser
	ended chan error // what Serve returned
}

// serve serves until the test ends; through is what the answers go through.
func (w *fixture) serve(ctx context.Context, t *testing.T, through func(io.Writer) io.Writer) pipes {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	p := pipes{toServer, fromServer, make(chan error, 1)}
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		err := tools.Serve(ctx, w.Config, in, through(out))
		out.Close()
		p.ended <- err
	}()
	t.Cleanup(func() { toServer.Close(); fromServer.Close(); <-joined })
	return p
}

func plainly(w io.Writer) io.Writer { return w }

func (w *fixture) connect(t *testing.T) client {
	t.Helper()
	p := w.serve(t.Context(), t, plainly)
	return p.client(t)
}

// client is the SDK's, connected to a server.
type client struct {
	*mcp.ClientSession
	t *testing.T
	pipes
}

func (p pipes) client(t *testing.T) client {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "prober", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: p.out, Writer: p.in}, nil)
	must(t, err)
	t.Cleanup(func() { session.Close() })
	return client{session, t, p}
}

// call calls a tool with arguments in JSON, or without any.
func (c client) call(tool, arguments string) *mcp.CallToolResult {
	c.t.Helper()
	params := &mcp.CallToolParams{Name: tool}
	if arguments != "" {
		params.Arguments = json.RawMessage(arguments)
	}
	res, err := c.CallTool(c.t.Context(), params)
	must(c.t, err)
	return res
}

// refused is the one line that a tool's error says.
func (c client) refused(tool, arguments string) string {
	c.t.Helper()
	res := c.call(tool, arguments)
	if !res.IsError || res.StructuredContent != nil {
		c.t.Errorf("%s %s: no error: %s", tool, arguments, said(c.t, res))
	}
	line := said(c.t, res)
	if strings.Contains(line, "\n") {
		c.t.Errorf("%s %s: not one line: %q", tool, arguments, line)
	}
	return line
}

func said(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("%d contents", len(res.Content))
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// structured decodes what a tool gave into v.
func structured(t testing.TB, res *mcp.CallToolResult, v any) {
	t.Helper()
	if res.IsError {
		t.Fatal(said(t, res))
	}
	b, err := json.Marshal(res.StructuredContent)
	must(t, err)
	must(t, json.Unmarshal(b, v))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
