package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
)

type (
	pastInput struct {
		GardenID dispatch.GardenID `json:"gardenId,omitempty" jsonschema:"only those to this session"`
		Max      int               `json:"max,omitempty" jsonschema:"at most this many; default 20"`
	}
	pastOutput struct {
		Dispatches []dispatches.Past `json:"dispatches"`
		Unknown    string            `json:"unknown,omitempty" jsonschema:"what could not be found out"`
	}
)

func (s *server) pastDispatches(ctx context.Context, _ *mcp.CallToolRequest, in pastInput) (*mcp.CallToolResult, pastOutput, error) {
	found, err := s.Engine.Past(ctx, in.GardenID, cmp.Or(in.Max, 20))
	if err != nil && len(found) == 0 {
		return nil, pastOutput{}, err
	}
	out := pastOutput{Dispatches: found}
	if err != nil {
		out.Unknown = toolserver.OneLine(err).Error()
	}
	return nil, out, nil
}

// answered is the output of entwurf_v2.
type answered struct {
	dispatch.Result
	Hint string `json:"hint,omitempty" jsonschema:"what to do about a result that is not a success"`
}

// offerDispatch adds entwurf_v2. It is the only tool with a decoder of its own, the contract's.
// That decoder refuses more than a schema can.
func (s *server) offerDispatch(m *mcp.Server) {
	yes := true
	m.AddTool(&mcp.Tool{
		Name: "entwurf_v2",
		Description: "Send a message to an agent session that exists, by its garden id, with the outcome that you expect: " +
			"fire-and-forget ends with the acknowledgement; owned-outcome resumes a session that does not run and waits for the end of its turn, which can take long. " +
			"A session is never created. The receipt says what was decided, the outcome what happened; everything except a success is an error with a hint. " +
			"If the call is cut off, the message is still sent.",
		InputSchema: requestSchema(), OutputSchema: schemaOf[answered](),
		// A resumed session may do anything, and a session whose turn is interrupted too.
		Annotations: &mcp.ToolAnnotations{Title: "Send to a session", DestructiveHint: &yes, OpenWorldHint: &yes},
	}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := s.dispatchRaw(ctx, req.Params.Arguments)
		if err != nil {
			res = &mcp.CallToolResult{}
			res.SetError(toolserver.OneLine(err))
		}
		return res, nil
	})
}

// offerPast adds ratchet_dispatches, which lists the last dispatches and their results.
func (s *server) offerPast(m *mcp.Server) {
	addTool(m, &mcp.Tool{
		Name:        "ratchet_dispatches",
		Description: "List the last messages to one session or to all, the newest first, with their outcomes. A message without a result is still in progress.",
		InputSchema: boundMax(schemaOf[pastInput]()), OutputSchema: pastSchema(), Annotations: toolserver.Looking("Dispatches"),
	}, s.pastDispatches)
}

func (s *server) dispatchRaw(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	l := dispatch.Message{ID: uuid.NewString()}
	err := json.Unmarshal([]byte(cmp.Or(string(arguments), "{}")), &l.Request)
	if err != nil {
		return nil, err
	}
	if l.Sender, err = s.Dirs.Sender(s.Caller()); err != nil {
		return nil, err
	}
	res, err := s.sendMessage(ctx, l)
	if err != nil {
		return nil, err
	}
	return dispatchAnswer(res)
}

// dispatchAnswer returns the tool's answer. It is marked as an error unless the result is a success
// (docs/contracts/dispatch.md, 9).
func dispatchAnswer(res dispatch.Result) (*mcp.CallToolResult, error) {
	b, err := json.Marshal(answered{res, res.Hint()})
	if err != nil {
		return nil, err
	}
	out := textResult(string(b))
	out.StructuredContent, out.IsError = json.RawMessage(b), !res.Succeeded()
	return out, nil
}

// linger is how long send keeps the dispatch of a call that was cut off. The dispatch may
// still be on its way to the engine.
const linger = time.Second

// sendMessage dispatches the message and waits for the result. When ctx ends it gives up only the
// wait, never the dispatch.
func (s *server) sendMessage(ctx context.Context, l dispatch.Message) (dispatch.Result, error) {
	held, letGo := context.WithCancel(context.WithoutCancel(ctx))
	defer letGo()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(linger, letGo) })()
	res, err := s.Engine.Dispatch(held, l)
	if _, cut := errors.AsType[*dispatches.CutOffError](err); cut {
		s.Log.Warn("a call was cut off", "dispatch", l.ID, "target", string(l.Request.Target), "error", err)
		// The warning comes first because a long line loses its end.
		return res, fmt.Errorf("do not send the message again before you know its outcome, which ratchet_dispatches shows: %w", err)
	}
	return res, err
}
