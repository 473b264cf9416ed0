package session

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/toolcall"
)

// maxTarget bounds the characters of a call's target that heartbeats carry.
const maxTarget = 200

// toolUse is a tool call that runs now.
type toolUse struct {
	call  toolcall.Call
	begun time.Time
	// let says who let the agent make the call, in the words of the log; empty: it needed no permission.
	let string
}

// beginTool logs the beginning of a tool call and shows the call.
func (c *activeCall) beginTool(e agent.ToolUse) {
	c.logSaid()
	c.talk.apart = true
	c.log("tool called", map[string]string{"tool": e.Tool, "input": string(e.Input)})
	c.talk.tools[e.CallID] = toolUse{call: toolcall.Read(e.Tool, e.Input).Within(c.talk.dir), begun: time.Now(), let: c.talk.tools[e.CallID].let}
	c.showTools()
}

// maxSaid bounds the bytes of a line of the log about what the agent said: the log cuts longer ones.
const maxSaid = 1000

// maxUnlogged bounds what the agent has said between two tool calls and is not in the log yet, in bytes.
const maxUnlogged = 64 << 10

// logSaid logs what the agent has said since the last time, in lines that followers show.
func (c *activeCall) logSaid() {
	text := strings.TrimSpace(strings.ToValidUTF8(string(c.talk.said), ""))
	c.talk.said = nil
	for text != "" {
		end := len(text)
		if end > maxSaid {
			end = max(strings.LastIndexAny(text[:maxSaid], "\n"), strings.LastIndexByte(text[:maxSaid], ' '))
			for end = cmp.Or(max(end, 0), maxSaid); !utf8.RuneStart(text[end]); end-- { // no character is cut in two
			}
		}
		c.log(rundir.AgentSaid, map[string]string{"target": text[:end]})
		text = strings.TrimSpace(text[end:])
	}
}

// letTool notes who let the agent make a call.
func (c *activeCall) letTool(asked agent.Permission, let string) {
	use, known := c.talk.tools[asked.CallID]
	if !known { // its ToolUse comes later, or never
		return
	}
	use.let, use.begun = let, time.Now() // the wait for the permission is not the tool's
	c.talk.tools[asked.CallID] = use
}

// endTool logs a tool call that has ended, in one line that followers show.
func (c *activeCall) endTool(e agent.ToolResult) {
	use, known := c.talk.tools[e.CallID]
	delete(c.talk.tools, e.CallID)
	if known {
		c.log(rundir.ToolReturned, map[string]string{
			"tool": use.call.Tool, "target": use.call.Target, "change": use.call.Change(), "let": use.let,
			"ms": strconv.FormatInt(time.Since(use.begun).Milliseconds(), 10), "failed": strconv.FormatBool(e.Error), "output": e.Output,
		})
	}
	c.showTools()
}

// showTools shows the tool call that has run for the longest time, or that the agent reads a result.
func (c *activeCall) showTools() {
	uses := slices.SortedFunc(maps.Values(c.talk.tools), func(a, b toolUse) int { return a.begun.Compare(b.begun) })
	if len(uses) == 0 {
		c.showProgress("read the output of a tool")
		return
	}
	target := []rune(c.Redact.String(uses[0].call.Target))
	c.showProgress(strings.TrimSpace("uses " + uses[0].call.Tool + " " + string(target[:min(len(target), maxTarget)])))
}
