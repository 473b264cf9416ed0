package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Start is a run that an agent starts. What it does not say is taken from the settings of the user and of the
// repository, but for what only a person may loosen: see Engine.
type Start struct {
	Goal       string   `json:"goal" jsonschema:"what the run shall reach"`
	Repository string   `json:"repository" jsonschema:"absolute path of a directory in the git repository to work on, with nothing uncommitted in it"`
	Provider   string   `json:"provider,omitempty" jsonschema:"agent or model that plans, develops and fixes, such as claude, codex or anthropic:<model>; default: that of the user's or the repository's settings"`
	Checks     []string `json:"checks,omitempty" jsonschema:"commands that judge the result; default: those of the settings, or found in the repository"`
}

// Started is a run that was started.
type Started struct {
	RunID run.ID   `json:"runId"`
	Name  run.Name `json:"name,omitempty"`
	// Next says how the agent learns of the run: it is not told by itself, because the session that has called is not
	// surely known.
	Next string `json:"next,omitempty"`
}

// nextStep is the Next of every run that was started.
const nextStep = "You are not told of it by itself: ratchet_run_wait waits until it needs a person or has ended."

type waitInput struct {
	Run     string `json:"run" jsonschema:"name or id of the run, or the beginning of the id"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"wait at most so long; 50 unless told"`
}

// The bounds of a wait, in seconds. Clients give up on a call after a minute.
const (
	usualWait = 50
	mostWait  = 600
)

func (s *server) offerWait(m *mcp.Server) {
	schema := schemaOf[waitInput]()
	seconds := schema.Properties["seconds"]
	seconds.Minimum, seconds.Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(float64(mostWait))
	addTool(m, &mcp.Tool{
		Name:        "ratchet_run_wait",
		Description: "Wait until a run needs a person or has ended, and say what it needs. A run that does neither in time is still at work: call again.",
		InputSchema: schema, Annotations: lookingTool("Wait for a run"),
	}, s.waitForRun)
}

func (s *server) offerStart(m *mcp.Server) {
	no := false
	addTool(m, &mcp.Tool{
		Name: "ratchet_run_start",
		Description: "Start a run of a coding agent on a git repository: plan, patch, checks, fixes, until the checks pass. A person approves each " +
			"patch; the result is a branch. Wait for it with ratchet_run_wait.",
		Annotations: &mcp.ToolAnnotations{Title: "Start a run", DestructiveHint: &no, OpenWorldHint: &no},
	}, s.startRun)
}

func (s *server) startRun(ctx context.Context, _ *mcp.CallToolRequest, in Start) (*mcp.CallToolResult, Started, error) {
	out, err := s.Engine.Start(ctx, in)
	if err == nil {
		out.Next = nextStep
	}
	return nil, out, err
}

func (s *server) waitForRun(ctx context.Context, _ *mcp.CallToolRequest, in waitInput) (*mcp.CallToolResult, any, error) {
	limit, stop := context.WithTimeout(ctx, time.Duration(cmp.Or(in.Seconds, usualWait))*time.Second)
	defer stop()
	out, err := s.Engine.Await(limit, in.Run)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the run could not be asked within the time: %w", err)
	}
	return nil, out, err
}
