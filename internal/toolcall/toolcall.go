// Package toolcall reads the tool calls of agents in the way that a person does: which tool, on what. The
// agents name the members of a call's input differently; the package knows the usual names, and shows the
// input itself of every other call. It is pure. Its texts are the agent's: whoever shows them makes them
// safe, with package display.
package toolcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Call is a tool call.
type Call struct {
	Tool string
	// Command is the whole command line of a call that runs one; else empty.
	Command string
	// Target is the object of the call: the first line of the command, a file, a pattern; empty: not known.
	Target string
	// Added and Deleted count the lines of an edit as the call states it.
	Added, Deleted int
	// Rest holds the other members of the input, by their names.
	Rest []Member
}

// Member is a member of a call's input.
type Member struct{ Name, Value string }

// The names of the members that say what a call is about, the most telling first.
var (
	commands = []string{"command", "cmd", "script"}
	targets  = []string{"file_path", "filePath", "path", "notebook_path", "filename", "pattern", "query", "url", "prompt"}
	olds     = []string{"old_string", "oldString", "oldText", "old_text"}
	news     = []string{"new_string", "newString", "newText", "new_text", "content"}
)

// Read reads a call. An input that is no JSON object is one member without a name.
func Read(tool string, input []byte) Call {
	c := Call{Tool: tool}
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		if text := strings.TrimSpace(string(input)); text != "" && text != "null" {
			c.Rest = []Member{{Value: text}}
		}
		return c
	}
	take := func(names []string) string {
		for _, n := range names {
			if text := textOf(members[n]); text != "" {
				delete(members, n)
				return text
			}
		}
		return ""
	}
	c.Command = take(commands)
	c.Target = firstLine(c.Command)
	if c.Command == "" {
		c.Target = take(targets)
	}
	for _, n := range olds {
		c.Deleted += countLines(textOf(members[n]))
	}
	for _, n := range news {
		c.Added += countLines(textOf(members[n]))
	}
	for name, value := range members {
		c.Rest = append(c.Rest, Member{name, textOf(value)})
	}
	slices.SortFunc(c.Rest, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// Change returns the size of an edit, such as "+3 -1"; empty for a call that is none.
func (c Call) Change() string {
	if c.Added == 0 && c.Deleted == 0 {
		return ""
	}
	return fmt.Sprintf("+%d -%d", c.Added, c.Deleted)
}

// textOf returns a member in the form that a person reads: a text as it is, a list of words as a command
// line, everything else as JSON.
func textOf(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var words []string
	if json.Unmarshal(raw, &words) == nil {
		for i, w := range words {
			words[i] = quoteWord(w)
		}
		return strings.Join(words, " ")
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// quoteWord quotes a word of a command line where a shell would read it otherwise.
func quoteWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if w != "" && !strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func firstLine(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more {
		line += " …"
	}
	return line
}

func countLines(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
}
