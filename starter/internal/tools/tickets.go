package tools

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
)

type (
	ticketsOutput struct {
		Tickets []ticketEntry `json:"tickets"`
	}
	// ticketEntry is a ticket as an agent sees it.
	ticketEntry struct {
		Name     string `json:"name"`
		Title    string `json:"title" jsonschema:"of the issue, as its author wrote it"`
		Step     string `json:"step" jsonschema:"what it does, or how it has ended"`
		Run      string `json:"run,omitempty" jsonschema:"the last run"`
		Pull     string `json:"pull,omitempty" jsonschema:"URL of the pull request"`
		Checks   string `json:"checks,omitempty"`
		Question string `json:"question,omitempty" jsonschema:"what it asks a person"`
		Problem  string `json:"problem,omitempty"`
	}
	ticketAnswer struct {
		Ticket string `json:"ticket" jsonschema:"name of the ticket, from ratchet_tickets"`
		Text   string `json:"text" jsonschema:"continue, retry, or a text that the next run gets as a note"`
	}
	ticketAnswered struct {
		Ticket string `json:"ticket"`
		Result string `json:"result"`
	}
)

// offerTickets offers the tools for tickets. Answers are decisions.
func (s *server) offerTickets(m *mcp.Server) {
	addTool(m, &mcp.Tool{
		Name:        "ratchet_tickets",
		Description: "List the tickets, each of which works on an issue until its pull request is merged: where they stand, and what they ask a person.",
		Annotations: toolserver.Looking("Tickets"),
	}, s.listTickets)
	if s.AllowDecisions {
		addTool(m, &mcp.Tool{
			Name: "ratchet_ticket_answer", Description: "Answer the question of a ticket, which then continues.", Annotations: settlingTool("Answer a ticket", false),
		}, s.answerTicket)
	}
}

func (s *server) listTickets(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, ticketsOutput, error) {
	list, err := s.Engine.Tickets(ctx)
	out := ticketsOutput{Tickets: []ticketEntry{}}
	for _, v := range list {
		out.Tickets = append(out.Tickets, entryOf(v))
	}
	return nil, out, err
}

func entryOf(v runs.TicketView) ticketEntry {
	s := v.State
	e := ticketEntry{Name: v.Name, Title: s.Title, Step: string(s.Step), Run: string(s.Name), Pull: s.URL, Checks: s.Checks, Problem: v.Problem}
	if !v.Open {
		e.Step = string(s.End)
	}
	if s.Question != nil {
		e.Question = s.Question.Text
	}
	return e
}

func (s *server) answerTicket(ctx context.Context, _ *mcp.CallToolRequest, in ticketAnswer) (*mcp.CallToolResult, ticketAnswered, error) {
	return nil, ticketAnswered{in.Ticket, "answered"}, s.Engine.AnswerTicket(ctx, in.Ticket, in.Text)
}
