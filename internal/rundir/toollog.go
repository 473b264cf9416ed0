package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ToolReturned is the message of the log line about a tool call that has ended. Dir.ToolCalls reads these
// lines, and those about notes and about what agents say.
const ToolReturned = "tool returned"

// NoteRead is the message of the log line about a person's note that an agent has read in its turn.
const NoteRead = "note read"

// AgentSaid is the message of the log line about what an agent has said.
const AgentSaid = "agent said"

// The words of a log line about who let an agent make a tool call.
const (
	LetOnce    = "person"  // a person, this one
	LetSession = "session" // a person, for the agent's session
	LetByRun   = "run"     // the run's policy for tools
)

// ToolCall is a tool call of an agent that has ended, as the log has it. Its texts are the agent's. Or it is a note,
// whose text is the target, and which By left; or words of the agent, which are the target.
type ToolCall struct {
	Note bool   `json:"note,omitempty"`
	By   string `json:"by,omitempty"`
	Said bool   `json:"said,omitempty"`

	Time      time.Time     `json:"ts"` // of its end
	Phase     run.Phase     `json:"phase"`
	Candidate int           `json:"attempt,omitempty"` // of a contest; zero: there is none
	Tool      string        `json:"tool"`
	Target    string        `json:"target,omitempty"`
	Change    string        `json:"change,omitempty"` // of an edit, such as "+1 -1"
	Let       string        `json:"let,omitempty"`    // LetOnce, LetSession, LetByRun, or empty
	Took      time.Duration `json:"took"`
	Failed    bool          `json:"failed,omitempty"`
	Output    string        `json:"output,omitempty"` // its beginning
}

// ToolLog reads the tool calls in a run's logs, in the order of their ends. It remembers how far it has
// read. The zero ToolLog begins with the first call.
type ToolLog struct{ read map[run.Phase]int64 }

// agentPhases are the phases that agents may serve.
var agentPhases = []run.Phase{run.Plan, run.Execute, run.Evaluate, run.Fix}

// maxToolLog bounds the bytes of a log that one call of ToolCalls reads.
const maxToolLog = 4 << 20

// ToolCalls returns the calls that have been logged since the last call with the same log. A log that is
// not there has no calls.
func (d *Dir) ToolCalls(since *ToolLog) ([]ToolCall, error) {
	if since.read == nil {
		since.read = map[run.Phase]int64{}
	}
	root, err := os.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var calls []ToolCall
	for _, phase := range agentPhases {
		text := readFrom(root, path.Join("logs", "provider-"+string(phase)+".log"), since.read[phase])
		text = text[:bytes.LastIndexByte(text, '\n')+1]
		since.read[phase] += int64(len(text))
		for line := range bytes.Lines(text) {
			if c, ok := parseToolCall(line); ok {
				c.Phase = phase
				calls = append(calls, c)
			}
		}
	}
	slices.SortStableFunc(calls, func(a, b ToolCall) int { return a.Time.Compare(b.Time) })
	return calls, nil
}

// readFrom returns what a log holds behind an offset. It waits for no pipe in the log's place.
func readFrom(root *os.Root, name string, from int64) []byte {
	f, err := file.OpenIn(root, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() <= from {
		return nil
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, from, maxToolLog))
	return b
}

// parseToolCall reads a line of a log: "[time] [INFO] tool returned {...}".
func parseToolCall(line []byte) (c ToolCall, ok bool) {
	stamp, rest, _ := bytes.Cut(line, []byte("] [INFO] "))
	message, _, _ := bytes.Cut(rest, []byte(" {"))
	note, said := string(message) == NoteRead, string(message) == AgentSaid
	if !note && !said && string(message) != ToolReturned || len(stamp) == 0 || stamp[0] != '[' {
		return c, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp[1:]))
	if err != nil {
		return c, false
	}
	var fields struct {
		Tool, Target, Change, Let, Ms, Failed, Output, By string
		Attempt                                           int
	}
	if json.Unmarshal(rest[len(message):], &fields) != nil {
		return c, false
	}
	if note || said {
		return ToolCall{Time: at, Note: note, Said: said, By: fields.By, Target: fields.Target, Candidate: fields.Attempt}, true
	}
	ms, _ := strconv.ParseInt(fields.Ms, 10, 64)
	return ToolCall{
		Time: at, Candidate: fields.Attempt, Tool: fields.Tool, Target: fields.Target, Change: fields.Change, Let: fields.Let,
		Took: time.Duration(ms) * time.Millisecond, Failed: fields.Failed == "true", Output: fields.Output,
	}, true
}
