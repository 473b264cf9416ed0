// Package tools offers the peers of this host and the runs of an engine to an agent, as the
// tools of an MCP server on a stream. The tools named entwurf_* have the inputs and outputs of
// the other programs of the host (docs/contracts/dispatch.md, 1 and 9). The package makes no
// decisions. A workflow decides about dispatches, and a run about the messages that decide it.
//
// A failure is an error of the tool in one line, which the agent reads. It is never an error
// of the protocol.
package tools

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/runtools"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
)

// Config configures a server. Every member but the last two is required.
type Config struct {
	Dirs citizen.Dirs
	// Caller returns the process that the client runs in at this moment. The tools act
	// for it.
	Caller func() citizen.Caller
	Engine Engine
	Log    *slog.Logger
	// AllowDecisions offers the tools that decide approvals and questions of runs.
	AllowDecisions bool
	// AllowStarts offers the tool that starts runs.
	AllowStarts bool
}

// Engine holds the calls of the tools to the Temporal server. Each call connects to it, so that
// the tools that need no engine work without one. A name of a run is its id or the beginning
// of its id, as on the command line.
type Engine interface {
	// Dispatch sends a message and waits for the result. The dispatch continues when ctx
	// ends, and the error says so.
	Dispatch(context.Context, dispatch.Message) (dispatch.Result, error)
	// Past may return some dispatches together with an error.
	Past(ctx context.Context, target dispatch.GardenID, most int) ([]dispatches.Past, error)
	// Runs returns the state of a run and its pending approval or question.
	runtools.Runs[runs.Listed, any]
	Decide(ctx context.Context, name string, d run.Decision) (run.ID, error)
	Reply(ctx context.Context, name string, r run.Reply) (run.ID, error)
	// Waiting returns what waits for a person: runs, sessions and tickets, the longest wait first.
	Waiting(context.Context) ([]inbox.Entry, error)
	// Tickets returns the last tickets, the open ones first.
	Tickets(context.Context) ([]runs.TicketView, error)
	AnswerTicket(ctx context.Context, name, text string) error
	// Start starts a run. A person has to approve its patches and tools, and it runs in the sandbox, whatever settings
	// there are.
	Start(context.Context, Start) (runtools.Started, error)
}

// Start is a run that an agent starts. Everything else comes from the settings of the user and of the repository, except
// for settings that only a person may loosen: see Engine.
type Start struct {
	Goal       string   `json:"goal" jsonschema:"the goal of the run"`
	Repository string   `json:"repository" jsonschema:"absolute path of a directory in the git repository to work on, with nothing uncommitted in it"`
	Provider   string   `json:"provider,omitempty" jsonschema:"agent or model that plans, develops and fixes, such as claude, codex or anthropic:<model>; default: from the settings of the user or the repository"`
	Checks     []string `json:"checks,omitempty" jsonschema:"commands that judge the result; default: from the settings, or found in the repository"`
}

// nextStep is what the agent reads of a run that was started. It does not learn of the run by itself, because the session
// that has called is not surely known.
const nextStep = "You get no message about it: " + runtools.Wait + " waits until it needs a person or has ended."

const instructions = `Agent sessions of this host are addressed by garden ids: entwurf_peers lists them, entwurf_v2 sends to one, entwurf_inbox_read reads your own mail, entwurf_self shows your own identity.
ratchet_dispatches shows the outcomes of messages, also of those that you did not wait for.
ratchet_runs and ratchet_run show runs of coding agents and what they wait for. ratchet_run_wait waits for one and returns what it needs. ratchet_waiting shows all that waits for a person: runs, standing sessions and tickets.`

// server serves one client.
type server struct {
	Config
	out    *outbox
	drains sync.WaitGroup // reads of mailboxes in progress
}

// Serve serves one client on in and out until the client hangs up or ctx ends. Both are
// regular ends. Calls in progress are cut off, but a dispatch continues. Nothing else may be
// written to out. Serve may read in a little longer.
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	s := &server{Config: c, out: newOutbox(out)}
	err := toolserver.Serve(ctx, toolserver.Config{Instructions: instructions, Log: c.Log, Offer: s.offerTools}, in, s.out)
	s.drains.Wait()
	return err
}

func (s *server) offerTools(m *mcp.Server) {
	s.offerPeers(m)
	s.offerDispatch(m)
	s.offerPast(m)
	runtools.Offer(m, s.Engine)
	s.offerWaiting(m)
	s.offerTickets(m)
	if s.AllowStarts {
		runtools.OfferStart(m, "Start a run of a coding agent on a git repository.", s.startRun)
	}
	if s.AllowDecisions {
		s.offerDecisions(m)
	}
}

func (s *server) startRun(ctx context.Context, in Start) (runtools.Started, error) {
	out, err := s.Engine.Start(ctx, in)
	if err == nil {
		out.Next = nextStep
	}
	return out, err
}

// addTool offers a tool. The output of handle is the answer as JSON. It is the answer as text too,
// unless handle sets another text.
func addTool[In, Out any](m *mcp.Server, t *mcp.Tool, handle mcp.ToolHandlerFor[In, Out]) {
	if t.InputSchema == nil {
		t.InputSchema = schemaOf[In]()
	}
	toolserver.AddTool(m, t, handle)
}

// none is the input of a tool without arguments.
type none struct{}

func textResult(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
