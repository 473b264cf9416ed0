package tools

import (
	"cmp"
	"context"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
)

type (
	listInput struct {
		Status run.Status `json:"status,omitempty" jsonschema:"only runs of this status"`
		Max    int        `json:"max,omitempty" jsonschema:"at most so many; 20 unless told"`
	}
	listed struct {
		Runs []runs.Listed `json:"runs"`
	}
	runInput struct {
		Run string `json:"run" jsonschema:"id of the run, or the beginning of one"`
	}
)

// boundMax bounds the member max. It sets no default, because the SDK panics when it has to set
// a default in null.
func boundMax(s *jsonschema.Schema) *jsonschema.Schema {
	most := s.Properties["max"]
	most.Minimum, most.Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(100.0)
	return s
}

func (s *server) offerRuns(m *mcp.Server) {
	addTool(m, &mcp.Tool{
		Name:        "ratchet_runs",
		Description: "List the runs of coding agents, the newest first: goal, repository, status and phase. A run whose status begins with awaiting waits for a decision or an answer.",
		InputSchema: boundMax(schemaOf[listInput]()), Annotations: lookingTool("Runs"),
	}, s.listRuns)
	addTool(m, &mcp.Tool{
		Name:        "ratchet_run",
		Description: "Show where a run stands: status, phase, branch, usage, what it does now, and under pending what it waits for, with the ids that settle it.",
		Annotations: lookingTool("Run"),
	}, s.runStanding)
}

func (s *server) listRuns(ctx context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult, listed, error) {
	found, err := s.Engine.List(ctx, runs.Filter{Status: in.Status, Max: cmp.Or(in.Max, 20)})
	return nil, listed{found}, err
}

func (s *server) runStanding(ctx context.Context, _ *mcp.CallToolRequest, in runInput) (*mcp.CallToolResult, any, error) {
	out, err := s.Engine.Standing(ctx, in.Run)
	return nil, out, err
}
