package openclaw

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// turn is one under way: a run of the gateway under an id of ours. Its events
// are read by one goroutine.
type turn struct {
	run      string
	began    time.Time
	system   string        // went with the message
	answered chan struct{} // closed when the gateway has answered chat.send
	over     chan struct{} // closed when the turn is told to have ended
	ending   bool          // the run has ended; guarded by the session

	said string // so far
	last string // the last message of it
	told map[string]bool
}

func newTurn(run, system string) *turn {
	return &turn{
		run: run, began: time.Now(), system: system, told: map[string]bool{},
		answered: make(chan struct{}), over: make(chan struct{}),
	}
}

// chat returns what a chat event that does not end the turn tells.
func (t *turn) chat(e chatEvent, frame json.RawMessage) agent.Event {
	switch e.State {
	case "delta":
		return t.say(e)
	case "status":
		if len(e.Retry) > 0 {
			return agent.Notice{Name: "retry", Data: e.Retry, Stall: true}
		}
		return agent.Notice{Name: e.Phase}
	}
	return agent.Raw{Frame: frame}
}

// say returns what a delta adds. The message so far counts more than the new
// piece: a piece may have been dropped. What the gateway replaces afterwards
// cannot be taken back; the rest is told from where it differs.
func (t *turn) say(e chatEvent) agent.Event {
	whole := t.said + e.Delta
	switch {
	case e.Message != nil && e.Message.text() != "":
		whole = e.Message.text()
	case e.Replace:
		whole = e.Delta
	}
	piece := beyond(t.said, whole)
	t.said = whole
	if piece == "" {
		return nil
	}
	return agent.Text{Text: piece}
}

// outcome is how a turn ended.
type outcome struct {
	rest   string // text that was not told yet
	text   string // the last message
	status agent.TurnStatus
	err    error
}

// end says how a chat event ends the turn; ok is false when it does not.
func (t *turn) end(e chatEvent) (o outcome, ok bool) {
	switch e.State {
	case "final":
		o.status = agent.Completed
	case "aborted":
		o.status, o.err = aborted(e.StopReason)
	case "error":
		o.status, o.err = agent.Failed, e.err(time.Now())
	default:
		return outcome{}, false
	}
	whole := t.said
	if e.Message != nil && e.Message.text() != "" {
		whole = e.Message.text()
	}
	// The whole may be edited at the end: then nothing of it is told twice.
	if rest, ok := strings.CutPrefix(whole, t.said); ok {
		o.rest = rest
	}
	o.text = whole
	if t.last != "" && strings.HasSuffix(whole, t.last) {
		o.text = t.last
	}
	return o, true
}

// aborted tells our abort, and that of another client, from what the gateway
// ends by itself.
func aborted(reason string) (agent.TurnStatus, error) {
	switch reason {
	case "timeout":
		return agent.Failed, &provider.Error{Code: provider.Timeout, Message: "the gateway's time for a run is over", Retriable: true}
	case "restart":
		return agent.Failed, &provider.Error{Code: provider.Unknown, Message: "the gateway restarts", Retriable: true}
	}
	return agent.Interrupted, nil
}

// stream returns what an event of the run tells; nil when it tells nothing new.
func (t *turn) stream(e streamEvent, frame json.RawMessage) agent.Event {
	switch e.Stream {
	case "tool":
		return t.tool(e.Data, frame)
	case "assistant":
		var data struct{ Text string }
		if json.Unmarshal(e.Data, &data) == nil {
			t.last = data.Text
		}
		return nil
	case "usage":
		var data struct{ OutputTokens int64 }
		if json.Unmarshal(e.Data, &data) == nil {
			return agent.Usage{Tokens: agent.Tokens{Output: data.OutputTokens}}
		}
	case "run_status":
		return nil // chat says it as well
	case "lifecycle":
		var data struct{ Phase string }
		if json.Unmarshal(e.Data, &data) == nil && data.Phase != "" {
			return agent.Notice{Name: data.Phase, Data: e.Data, Stall: data.Phase == "waiting-approval"}
		}
	}
	return agent.Raw{Frame: frame}
}

func (t *turn) tool(data, frame json.RawMessage) agent.Event {
	var e toolEvent
	if json.Unmarshal(data, &e) != nil {
		return agent.Raw{Frame: frame}
	}
	switch e.Phase {
	case "start":
		return t.use(e.Call, e.Name, e.Args)
	case "result":
		return agent.ToolResult{CallID: e.Call, Output: e.Result.text(), Error: e.Error}
	}
	return agent.Raw{Frame: frame}
}

// use tells a tool call unless it was told.
func (t *turn) use(call, tool string, input json.RawMessage) agent.Event {
	if t.told[call] {
		return nil
	}
	t.told[call] = true
	return agent.ToolUse{CallID: call, Tool: tool, Input: input}
}
