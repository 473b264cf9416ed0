package openclaw

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// turn is the current turn: a run of the gateway under an id of ours. Its events
// are read by one goroutine.
type turn struct {
	run      string
	system   string        // the system prompt that was sent with the message
	answered chan struct{} // closed when the gateway has answered chat.send
	over     chan struct{} // closed when the end of the turn is reported
	ending   bool          // the run has ended; guarded by the session

	said string // the text so far
	last string // the last message of the text
	told map[string]bool
}

func newTurn(run, system string) *turn {
	return &turn{
		run: run, system: system, told: map[string]bool{},
		answered: make(chan struct{}), over: make(chan struct{}),
	}
}

// chatUpdate returns the event for a chat event that does not end the turn.
func (t *turn) chatUpdate(e chatEvent, frame json.RawMessage) agent.Event {
	switch e.State {
	case "delta":
		return t.textPiece(e)
	case "status":
		if len(e.Retry) > 0 {
			return agent.Notice{Name: "retry", Data: e.Retry, Stall: true}
		}
		return agent.Notice{Name: e.Phase}
	}
	return agent.Raw{Frame: frame}
}

// textPiece returns the text that a delta adds. The whole message counts more than
// the new piece, because a piece may have been dropped. Reported text that the
// gateway replaces afterwards cannot be taken back: the new text is reported from
// the first difference.
func (t *turn) textPiece(e chatEvent) agent.Event {
	whole := t.said + e.Delta
	switch {
	case e.Message != nil && e.Message.plainText() != "":
		whole = e.Message.plainText()
	case e.Replace:
		whole = e.Delta
	}
	piece := textBeyond(t.said, whole)
	t.said = whole
	if piece == "" {
		return nil
	}
	return agent.Text{Text: piece}
}

// outcome is the end of a turn.
type outcome struct {
	rest   string // text that was not reported yet
	text   string // the last message
	status agent.TurnStatus
	err    error
}

// turnOutcome returns how a chat event ends the turn; ok is false if it does not.
func (t *turn) turnOutcome(e chatEvent) (o outcome, ok bool) {
	switch e.State {
	case "final":
		o.status = agent.Completed
	case "aborted":
		o.status, o.err = abortOutcome(e.StopReason)
	case "error":
		o.status, o.err = agent.Failed, e.providerError(time.Now())
	default:
		return outcome{}, false
	}
	whole := t.said
	if e.Message != nil && e.Message.plainText() != "" {
		whole = e.Message.plainText()
	}
	// The whole may be edited at the end: then no part of it is reported twice.
	if rest, ok := strings.CutPrefix(whole, t.said); ok {
		o.rest = rest
	}
	o.text = whole
	if t.last != "" && strings.HasSuffix(whole, t.last) {
		o.text = t.last
	}
	return o, true
}

// abortOutcome returns how an aborted turn ended. An abort by us or by another
// client interrupts it; an end by the gateway itself is a failure.
func abortOutcome(reason string) (agent.TurnStatus, error) {
	switch reason {
	case "timeout":
		return agent.Failed, &failure.Error{Code: failure.Timeout, Message: "the gateway's time limit for a run was reached", Retriable: true}
	case "restart":
		return agent.Failed, &failure.Error{Code: failure.Unknown, Message: "the gateway restarts", Retriable: true}
	}
	return agent.Interrupted, nil
}

// streamUpdate returns the event for an event of the run; nil if it holds nothing new.
func (t *turn) streamUpdate(e streamEvent, frame json.RawMessage) agent.Event {
	switch e.Stream {
	case "tool":
		return t.toolUpdate(e.Data, frame)
	case "assistant":
		var data struct{ Text string }
		if json.Unmarshal(e.Data, &data) == nil {
			t.last = data.Text
		}
		return nil
	case "usage":
		var data struct{ OutputTokens int64 }
		if json.Unmarshal(e.Data, &data) == nil {
			return agent.UsageUpdate{Tokens: agent.Tokens{Output: data.OutputTokens}}
		}
	case "run_status":
		return nil // the chat event says the same
	case "lifecycle":
		var data struct{ Phase string }
		if json.Unmarshal(e.Data, &data) == nil && data.Phase != "" {
			return agent.Notice{Name: data.Phase, Data: e.Data, Stall: data.Phase == "waiting-approval"}
		}
	}
	return agent.Raw{Frame: frame}
}

func (t *turn) toolUpdate(data, frame json.RawMessage) agent.Event {
	var e toolEvent
	if json.Unmarshal(data, &e) != nil {
		return agent.Raw{Frame: frame}
	}
	switch e.Phase {
	case "start":
		return t.toolUse(e.Call, e.Name, e.Args)
	case "result":
		return agent.ToolResult{CallID: e.Call, Output: e.Result.plainText(), Error: e.Error}
	}
	return agent.Raw{Frame: frame}
}

// toolUse reports a tool call unless it was reported before.
func (t *turn) toolUse(call, tool string, input json.RawMessage) agent.Event {
	if t.told[call] {
		return nil
	}
	t.told[call] = true
	return agent.ToolUse{CallID: call, Tool: tool, Input: input}
}
