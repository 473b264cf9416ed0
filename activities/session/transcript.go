package session

import (
	"encoding/json"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// transcript collects what the agent says and does in a turn, one JSON object a line.
type transcript struct {
	lines []byte
	text  []byte // pieces that are not in a line yet
	cut   bool
}

// The bounds of a transcript, in bytes.
const (
	maxTranscript = 16 << 20
	maxTextLine   = 256 << 10
	maxToolText   = 64 << 10
)

// line is a line of a transcript. Exactly one of Text, Tool, Output, Asks and End is set.
type line struct {
	At     time.Time       `json:"at"`
	Text   string          `json:"text,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Output string          `json:"output,omitempty"`
	Failed bool            `json:"failed,omitempty"`
	Asks   string          `json:"asks,omitempty"`
	End    string          `json:"end,omitempty"`
}

// addEvent adds an event. Events that say nothing to a reader are left out.
func (t *transcript) addEvent(secrets *redact.Redactor, e agent.Event) {
	l := line{At: time.Now().UTC()}
	clean := func(s string, n int) string { return display.Clip(secrets.String(s), n) }
	switch e := e.(type) {
	case agent.Text:
		if t.text = append(t.text, e.Text...); len(t.text) > maxTextLine {
			t.flushText(secrets)
		}
		return
	case agent.ToolUse:
		l.Tool, l.Input = clean(e.Tool, maxToolText), inputLine(secrets, e.Input)
	case agent.ToolResult:
		l.Output, l.Failed = clean(e.Output, maxToolText), e.Error
	case agent.Permission:
		l.Asks = clean(e.Tool+" "+e.Title, maxToolText)
	case agent.Turn:
		l.End = string(e.Status)
	default:
		return
	}
	t.flushText(secrets)
	t.writeLine(l)
}

// inputLine returns the input of a tool call as JSON; one that is too long becomes a text.
func inputLine(secrets *redact.Redactor, input json.RawMessage) json.RawMessage {
	clean := secrets.Bytes(input)
	if len(clean) <= maxToolText && json.Valid(clean) {
		return clean
	}
	b, _ := json.Marshal(display.Clip(string(clean), maxToolText))
	return b
}

// flushText writes the text so far as a line.
func (t *transcript) flushText(secrets *redact.Redactor) {
	if len(t.text) > 0 {
		t.writeLine(line{At: time.Now().UTC(), Text: secrets.String(string(t.text))})
		t.text = nil
	}
}

func (t *transcript) writeLine(l line) {
	b, err := json.Marshal(l)
	if err != nil || t.cut {
		return
	}
	if len(t.lines)+len(b) > maxTranscript {
		t.cut = true
		b, _ = json.Marshal(line{At: l.At, End: "the transcript is cut here"})
	}
	t.lines = append(append(t.lines, b...), '\n')
}

func (t *transcript) bytes() []byte { return t.lines }
