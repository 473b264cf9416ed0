package tools

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Each input names the approval or question that it decides. A decision therefore never
// decides another one that took its place.
type (
	approveInput struct {
		Run        string `json:"run" jsonschema:"id of the run, or the beginning of one"`
		ApprovalID string `json:"approvalId" jsonschema:"id of the approval, from what is pending"`
		Reason     string `json:"reason,omitempty" jsonschema:"kept in the record"`
		Session    bool   `json:"session,omitempty" jsonschema:"of a tool call: also allow similar calls in the agent's session"`
	}
	rejectInput struct {
		Run        string `json:"run" jsonschema:"id of the run, or the beginning of one"`
		ApprovalID string `json:"approvalId" jsonschema:"id of the approval, from what is pending"`
		Reason     string `json:"reason,omitempty" jsonschema:"what is wrong with it; the agent of the run reads it"`
		Final      bool   `json:"final,omitempty" jsonschema:"end the run"`
	}
	answerInput struct {
		Run        string `json:"run" jsonschema:"id of the run, or the beginning of one"`
		QuestionID string `json:"questionId" jsonschema:"id of the question, from what is pending"`
		Text       string `json:"text" jsonschema:"the answer; for a question about the token budget, the new total"`
	}
	settled struct {
		RunID  run.ID `json:"runId"`
		ID     string `json:"id"`
		Result string `json:"result"`
	}
)

func (s *server) offerDecisions(m *mcp.Server) {
	addTool(m, &mcp.Tool{
		Name: "ratchet_approve",
		Description: "Approve the pending patch of a run, which applies it to the run's branch, or the tool that its agent wants to use. Look at what is pending first: " +
			"the approval holds for exactly that id.",
		Annotations: settlingTool("Approve", true),
	}, s.approveRun)
	addTool(m, &mcp.Tool{
		Name:        "ratchet_reject",
		Description: "Refuse the pending patch of a run, or the tool that its agent wants to use. The run continues with the reason; with final it ends.",
		Annotations: settlingTool("Reject", true),
	}, s.rejectRun)
	addTool(m, &mcp.Tool{
		Name:        "ratchet_answer",
		Description: "Answer the question of a run. The phase that asked continues with the answer.",
		Annotations: settlingTool("Answer", false),
	}, s.answerRun)
}

// settlingTool returns the annotations of a tool that refuses a second call with the same input.
func settlingTool(title string, destructive bool) *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{Title: title, IdempotentHint: true, DestructiveHint: &destructive, OpenWorldHint: &no}
}

func (s *server) approveRun(ctx context.Context, req *mcp.CallToolRequest, in approveInput) (*mcp.CallToolResult, settled, error) {
	id, err := s.Engine.Decide(ctx, in.Run, run.Decision{
		ApprovalID: in.ApprovalID, Decision: run.Approve, By: s.deciderName(req), Reason: in.Reason, Session: in.Session,
	})
	return nil, settled{id, in.ApprovalID, "approved"}, err
}

func (s *server) rejectRun(ctx context.Context, req *mcp.CallToolRequest, in rejectInput) (*mcp.CallToolResult, settled, error) {
	id, err := s.Engine.Decide(ctx, in.Run, run.Decision{
		ApprovalID: in.ApprovalID, Decision: run.Reject, By: s.deciderName(req), Reason: in.Reason, Final: in.Final,
	})
	return nil, settled{id, in.ApprovalID, "rejected"}, err
}

func (s *server) answerRun(ctx context.Context, req *mcp.CallToolRequest, in answerInput) (*mcp.CallToolResult, settled, error) {
	id, err := s.Engine.Reply(ctx, in.Run, run.Reply{QuestionID: in.QuestionID, Text: in.Text, By: s.deciderName(req)})
	return nil, settled{id, in.QuestionID, "answered"}, err
}

// deciderName returns the name of the decider for the record. It is the proved identity of the caller,
// or else the name that the MCP client gives itself. The name shows that no person decided.
func (s *server) deciderName(req *mcp.CallToolRequest) string {
	name := "an MCP client"
	if self, err := s.Dirs.Self(s.Caller()); err == nil {
		name = self.AgentID + " " + self.SessionID
	} else if c := req.ClientInfo(); c != nil && c.Name != "" {
		name = c.Name + " by MCP"
	}
	const most = 100 // bytes; a run takes a few more
	return strings.ToValidUTF8(name[:min(len(name), most)], "")
}
