// Package runtools offers runs to an agent as tools of an MCP server: to list them, to show one, to wait for one and to
// start one. The server decides which runs there are, and what the agent may choose of a new one.
package runtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
)

// The names of the tools.
const (
	Start = "ratchet_run_start"
	List  = "ratchet_runs"
	Show  = "ratchet_run"
	Wait  = "ratchet_run_wait"
)

// Runs are the runs that an agent may look at. The argument name is the agent's name for a run.
type Runs[Entry, State any] interface {
	List(context.Context, runs.Filter) ([]Entry, error)
	// Standing says where the run stands and what it needs.
	Standing(ctx context.Context, name string) (State, error)
	// Await waits until the run needs a person or has ended. When ctx ends first, it says where the run stands.
	Await(ctx context.Context, name string) (State, error)
}

// Started is a run that was started.
type Started struct {
	RunID  run.ID   `json:"runId"`
	Name   run.Name `json:"name,omitempty"`
	Branch string   `json:"branch,omitempty"`
	Again  bool     `json:"again,omitempty" jsonschema:"an earlier call started it; this call started nothing"`
	// Next says how the agent learns of the run.
	Next string `json:"next,omitempty"`
}

type (
	listInput struct {
		Status run.Status `json:"status,omitempty" jsonschema:"only runs of this status"`
		Max    int        `json:"max,omitempty" jsonschema:"at most this many; default 20"`
	}
	listed[Entry any] struct {
		Runs []Entry `json:"runs"`
	}
	runInput struct {
		Run string `json:"run" jsonschema:"name or id of the run"`
	}
	waitInput struct {
		Run     string `json:"run" jsonschema:"name or id of the run"`
		Seconds int    `json:"seconds,omitempty" jsonschema:"wait at most this long; default 50"`
	}
)

// The usual number of listed runs, and the bound.
const (
	usualList = 20
	mostList  = 100
)

// The usual wait and its bound, in seconds. Clients give up on a call after a minute.
const (
	usualWait = 50
	mostWait  = 600
)

// Offer offers the tools that look at runs.
func Offer[Entry, State any](m *mcp.Server, r Runs[Entry, State]) {
	toolserver.AddTool(m, &mcp.Tool{
		Name: List,
		Description: "List the runs of coding agents that you may look at, the newest first. A run whose status begins with awaiting waits for " +
			"a decision or an answer.",
		InputSchema: boundedInput[listInput]("max", mostList), Annotations: toolserver.Looking("Runs"),
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult, listed[Entry], error) {
		found, err := r.List(ctx, runs.Filter{Status: in.Status, Max: cmp.Or(in.Max, usualList)})
		return nil, listed[Entry]{found}, err
	})
	toolserver.AddTool(m, &mcp.Tool{
		Name: Show, Description: "Show the state of a run, and what it needs from a person.", Annotations: toolserver.Looking("Run"),
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in runInput) (*mcp.CallToolResult, State, error) {
		out, err := r.Standing(ctx, in.Run)
		return nil, out, err
	})
	toolserver.AddTool(m, &mcp.Tool{
		Name:        Wait,
		Description: "Wait until a run needs a person or has ended, and return what it needs. If neither happens in time, the run is still running: call again.",
		InputSchema: boundedInput[waitInput]("seconds", mostWait), Annotations: toolserver.Looking("Wait for a run"),
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in waitInput) (*mcp.CallToolResult, State, error) {
		limit, stop := context.WithTimeout(ctx, time.Duration(cmp.Or(in.Seconds, usualWait))*time.Second)
		defer stop()
		out, err := r.Await(limit, in.Run)
		if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the run did not answer within the time: %w", err)
		}
		return nil, out, err
	})
}

// OfferStart offers the tool that starts runs. The description says on what.
func OfferStart[In any](m *mcp.Server, description string, start func(context.Context, In) (Started, error)) {
	no := false
	toolserver.AddTool(m, &mcp.Tool{
		Name: Start,
		Description: description + " It plans, patches, checks and fixes until the checks pass. A person approves each patch; the result is a branch. " +
			"Wait for it with " + Wait + ".",
		Annotations: &mcp.ToolAnnotations{Title: "Start a run", DestructiveHint: &no, OpenWorldHint: &no},
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Started, error) {
		out, err := start(ctx, in)
		return nil, out, err
	})
}

// boundedInput returns the schema of an input of which a member is a number between 1 and most. It sets no default, because
// the SDK panics when it has to set a default in null.
func boundedInput[In any](member string, most float64) *jsonschema.Schema {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[run.Status](): toolserver.OneOf(run.Statuses),
	}})
	if err != nil {
		panic(fmt.Sprintf("schema of a tool: %v", err)) // a mistake in this package
	}
	n := schema.Properties[member]
	n.Minimum, n.Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(most)
	return schema
}
