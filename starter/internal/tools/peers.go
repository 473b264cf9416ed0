package tools

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/peers"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
)

func (s *server) offerPeers(m *mcp.Server) {
	addTool(m, &mcp.Tool{
		Name: "entwurf_peers",
		Description: "List the agent sessions of this host that have a garden id: backend, directory, model and whether they live, " +
			"the sockets without a record, and what was wrong while looking. Facts of this moment.",
		Annotations: toolserver.Looking("Peers"),
	}, s.listPeers)
	addTool(m, &mcp.Tool{
		Name:        "entwurf_self",
		Description: "Say who you are to the other sessions: your own identity as it is proved, and whether an answer would reach you. An error when none can be proved.",
		Annotations: toolserver.Looking("Who am I"),
	}, s.describeSelf)
	no := false
	addTool(m, &mcp.Tool{
		Name: "entwurf_inbox_read",
		Description: "Take the unread mail of your own mailbox, by your garden id, and stamp the read receipt. " +
			"Each message is handed out once; what could not be handed out stays unread.",
		// The bodies are kept. The names of their files say that they were read.
		Annotations: &mcp.ToolAnnotations{Title: "Read the own mail", DestructiveHint: &no, OpenWorldHint: &no},
	}, s.readInbox)
}

func (s *server) listPeers(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, peers.Listing, error) {
	if _, err := (citizen.Host{Dirs: s.Dirs}).Sweep(ctx); err != nil {
		s.Log.Warn("sessions whose workers have ended stay listed", "error", err)
	}
	list, err := peers.Scan(ctx, s.Dirs, controlsocket.Look)
	if err != nil {
		return nil, peers.Listing{}, err
	}
	return textResult(list.Text()), list, nil
}

func (s *server) describeSelf(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, citizen.Self, error) {
	self, err := s.Dirs.Self(s.Caller())
	return nil, self, err
}
