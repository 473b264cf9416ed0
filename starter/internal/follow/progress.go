package follow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// printAll prints events, and between them the tool calls that ended before each.
func (f *Follower) printAll(events []run.Event) error {
	if f.tools != nil {
		f.calls = append(f.calls, f.tools()...)
	}
	for _, e := range events {
		f.Screen.Clear()
		f.printTools(e.TS)
		if err := f.Print(e); err != nil {
			return err
		}
		f.followNotes(e)
		f.used = f.used.Add(story.UsageOf(e))
		f.Last, f.quiet = e, 0
	}
	if len(events) == 0 {
		f.printTools(f.Now())
	}
	return nil
}

// printTools shows the tool calls that ended up to a time.
func (f *Follower) printTools(until time.Time) {
	for len(f.calls) > 0 && !f.calls[0].Time.After(until) {
		f.showTool(f.calls[0])
		if f.calls[0].Note {
			f.typed.forgetNote(f.calls[0].Target)
		}
		f.calls = f.calls[1:]
	}
}

// progressText returns the text of the moving line: the step and the newest sentence of the model, then tokens
// and money so far.
func (f *Follower) progressText(e runs.Execution) string {
	used := f.used
	for _, a := range e.Activities {
		used = used.Add(a.Beat.Used)
	}
	f.typed.steers = slices.ContainsFunc(e.Activities, func(a runs.Activity) bool { return a.Beat.Steers })
	text := ActivityText(e, f.Now())
	if cost := used.String(); cost != "" {
		text = cost + " · " + text
	}
	return text
}

// ActivityText returns the text of the moving line about the running activities.
func ActivityText(e runs.Execution, now time.Time) string {
	if e.Canceling {
		return "cancels"
	}
	if len(e.Activities) == 0 {
		return "works"
	}
	a := e.Activities[0]
	for _, other := range e.Activities {
		if other.Beat.Doing != "" {
			a = other
		}
	}
	parts := []string{a.Step()}
	if a.Beat.Doing != "" {
		parts[0] = story.OneLine(a.Beat.Doing, 80)
	}
	parts = append(parts, terminal.Duration(now.Sub(a.Since)))
	if a.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", a.Attempt))
	}
	if a.Beat.Bytes > 0 {
		parts = append(parts, terminal.Bytes(a.Beat.Bytes)+" of text")
	}
	if words := newestSentence(story.OneLine(a.Beat.Tail, 600)); words != "" {
		parts = append(parts, words)
	}
	return strings.Join(parts, " · ")
}

// newestSentence returns the last sentence of a text that has begun, from its first word on. The text may
// begin in the middle of a word.
func newestSentence(text string) string {
	text = strings.TrimSpace(text)
	body := strings.TrimRight(text, ".!?: ")
	at := -1
	for _, end := range []string{". ", "! ", "? ", ": "} {
		if i := strings.LastIndex(body, end); i > at {
			at = i
		}
	}
	if at >= 0 {
		return strings.TrimSpace(text[at+1:])
	}
	if len(text) < 200 { // all of it is there
		return text
	}
	_, rest, _ := strings.Cut(text, " ")
	return rest
}

// callPerson calls the person, who may look elsewhere, to the run.
func (f *Follower) callPerson(what string) {
	if f.Title != "" {
		f.Screen.Call(story.OneLine(f.Title, 60) + " " + what)
	}
}
