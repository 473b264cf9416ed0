package tools

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
)

type waitingOutput struct {
	Waiting []inbox.Entry `json:"waiting"`
}

// offerWaiting offers the tool that shows what waits for a person.
func (s *server) offerWaiting(m *mcp.Server) {
	addTool(m, &mcp.Tool{
		Name:        "ratchet_waiting",
		Description: "List what waits for a person, the longest wait first: runs, standing sessions and tickets, what each wants, and the command that leads a person to it.",
		Annotations: toolserver.Looking("What waits"),
	}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, waitingOutput, error) {
		list, err := s.Engine.Waiting(ctx)
		return nil, waitingOutput{list}, err
	})
}
