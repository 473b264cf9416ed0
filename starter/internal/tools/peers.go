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
		Description: "List the agent sessions of this host that have a garden id: backend, directory, model and whether they run, " +
			"the sockets without a record, and problems. The list is of this moment.",
		Annotations: toolserver.Looking("Peers"),
	}, s.listPeers)
	addTool(m, &mcp.Tool{
		Name:        "entwurf_self",
		Description: "Show your own identity for other sessions, and whether an answer would reach you. It is an error if your identity cannot be proved.",
		Annotations: toolserver.Looking("Who am I"),
	}, s.describeSelf)
	no := false
	addTool(m, &mcp.Tool{
		Name: "entwurf_inbox_read",
		Description: "Read the unread mail of your own mailbox, by your garden id, and mark it as read. " +
			"Each message is returned once; a message that could not be returned stays unread.",
		// The bodies are kept. The names of their files say that they were read.
		Annotations: &mcp.ToolAnnotations{Title: "Read your mail", DestructiveHint: &no, OpenWorldHint: &no},
	}, s.readInbox)
}

func (s *server) listPeers(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, peers.Listing, error) {
	if _, err := (citizen.Host{Dirs: s.Dirs}).Sweep(ctx); err != nil {
		s.Log.Warn("sessions of ended workers stay listed", "error", err)
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
