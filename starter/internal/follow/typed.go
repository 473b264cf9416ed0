package follow

import (
	"context"
	"errors"
	"slices"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// notesLeft follows the notes that a person has typed while a run was followed.
type notesLeft struct {
	unread   []string // texts that no prompt carries yet
	carried  []string // texts that the next prompt of a model carries
	steers   bool     // the agent takes notes into the current turn
	evaluate bool     // the run has an evaluator, which reads notes as well
}

// forgetNote removes a note that a model has read.
func (n *notesLeft) forgetNote(text string) {
	n.unread = slices.DeleteFunc(n.unread, func(other string) bool { return other == text })
	n.carried = slices.DeleteFunc(n.carried, func(other string) bool { return other == text })
}

// noteCarried notes that the run has taken notes up for its prompts.
func (n *notesLeft) noteCarried(notes []run.Note) {
	for _, note := range notes {
		if slices.Contains(n.unread, note.Text) {
			n.forgetNote(note.Text)
			n.carried = append(n.carried, note.Text)
		}
	}
}

// findReader says who reads a note that is left in a phase.
func (n *notesLeft) findReader(phase run.Phase) string {
	switch {
	case n.steers:
		return "the agent gets it now, and the next prompt carries it as well"
	case phase == "":
		return "the planner reads it"
	case phase == run.Plan:
		return "the developer reads it, with the plan"
	case n.evaluate && phase != run.Evaluate:
		return "the evaluator reads it next, and a fix would"
	}
	return "the next attempt reads it; if the checks pass, there is no further attempt"
}

// followNotes notes which notes a model reads, and says at the end of a run which were left in vain.
func (f *Follower) followNotes(e run.Event) {
	switch p := e.Payload.(type) {
	case run.RunCreated:
		f.typed.evaluate = p.Providers.Evaluator != ""
	case run.PhaseStarted:
		f.typed.noteCarried(p.Notes)
		if e.Phase != run.Ask && (e.Phase != run.Evaluate || f.typed.evaluate) { // else no model is asked
			f.typed.carried = nil
		}
	case run.RunCompleted, run.RunFailed, run.RunCanceled:
		for _, text := range slices.Concat(f.typed.carried, f.typed.unread) {
			f.sayLine("the run ended before a model read your note: %s", story.OneLine(text, 200))
		}
	}
}

// footLine returns the line of keys below the moving line.
func (f *Follower) footLine() string {
	if f.Notes == nil || !f.Typing {
		return ""
	}
	line := "  type a note for the next prompt · ? keys · ctrl-c leaves"
	if f.typed.steers {
		line = "  type to tell the agent · ? keys · ctrl-c leaves"
	}
	if long := line + ", the run continues"; terminal.Width(long) < f.Screen.Columns() {
		line = long
	}
	return line
}

// shortest is the number of characters that a note has at least: a shorter line is a key that was meant for
// a question.
const shortest = 4

// takeNote handles a line that was typed while nothing was asked: a note.
func (f *Follower) takeNote(ctx context.Context, line string) {
	if len([]rune(line)) < shortest {
		f.Screen.Note("  ", "nothing waits for a decision; a text of some words is left as a note, ctrl-c leaves the run to itself")
		return
	}
	err := f.Note(ctx, f.ID, run.Note{Text: line, By: f.by})
	if refused, ok := errors.AsType[*runs.RefusedError](err); ok {
		err = errors.New(refused.Reason)
	}
	if err != nil {
		f.sayLine("not noted: %s", story.OneLine(err.Error(), 300))
		return
	}
	f.typed.unread = append(f.typed.unread, line)
	f.Screen.Line("  " + f.Screen.Accent("›") + " " + story.OneLine(line, 300))
	f.Screen.Note("    ", "noted: "+f.typed.findReader(f.Last.Phase))
}
