package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func (t *Formatter) failureLines(p run.Problem) []string {
	text := Message(p.Message, 300)
	switch {
	case text == t.trouble && t.shown:
		return nil
	case text == t.trouble:
		text = "as before"
	default:
		t.trouble = text
	}
	t.shown, t.code = true, p.Code
	return []string{t.markLine(t.Style.Bad("✗"), "%s", text) + t.Style.Dim(" ("+OneLine(p.Code, 40)+")")}
}

func (t *Formatter) questionLines(p run.QuestionRaised) []string {
	lines := []string{t.markLine(t.Style.Wait("?"), "%s", t.Style.Bold(Message(p.Question.Question, 600))+t.Style.Dim("  "+p.QuestionID))}
	if p.Reason != "" && p.Reason != t.code { // else the failure above has said it
		lines = append(lines, t.indentLine("%s", t.Style.Dim("because: "+OneLine(p.Reason, 300))))
	}
	return append(lines, t.listItems("needed", p.NeededInput)...)
}

// rejectionLines shows a rejection, or the acceptance of some files.
func (t *Formatter) rejectionLines(e run.Event, p run.ApprovalRejected) []string {
	if p.Edit != nil {
		return []string{t.markLine(t.Style.Wait("½"), "edited%s%s", bySuffix(p.By), summarySuffix(p.Reason)) + t.endWait(e.TS)}
	}
	chosen := slices.Clone(p.Files)
	for _, c := range p.Hunks {
		chosen = append(chosen, fmt.Sprintf("%s (hunks %s)", c.File, strings.Trim(fmt.Sprint(c.Numbers), "[]")))
	}
	if len(chosen) == 0 {
		return []string{t.markLine(t.Style.Bad("✗"), "rejected%s%s", bySuffix(p.By), summarySuffix(p.Reason)) + t.endWait(e.TS)}
	}
	rest := "the rest is dropped"
	if p.Reason != "" {
		rest = "the rest goes back: " + OneLine(p.Reason, 200)
	}
	return []string{
		t.markLine(t.Style.Wait("½"), "accepted%s: %s", bySuffix(p.By), OneLine(strings.Join(chosen, ", "), 300)) + t.endWait(e.TS),
		t.indentLine("%s", rest),
	}
}

func (t *Formatter) endLines(e run.Event) []string {
	took := t.Style.Dim(t.formatSince(t.begun, e.TS) + t.formatIdle())
	if used := t.used.String(); used != "" {
		took += t.Style.Dim(" · " + used)
	}
	switch p := e.Payload.(type) {
	case run.RunCompleted:
		what := fmt.Sprintf("%s on %s", display.Count(p.Commits, "commit", "commits"), OneLine(p.Branch, 120))
		if p.Commits == 0 {
			what = "nothing had to change"
		}
		if t.branch != (run.Stat{}) {
			what += ", " + t.branch.String()
		}
		lines := []string{"", t.Style.Good("✓ ") + t.Style.Bold("Completed") + took, "  " + what}
		if p.Moved != "" {
			lines = append(lines, t.markLine(t.Style.Wait("!"), "%s", OneLine(p.Moved, 400)))
		}
		return lines
	case run.RunFailed:
		return []string{"", t.Style.Bad("✗ ") + t.Style.Bold("Failed") + took, "  " + t.whyFailed(p.Error) + t.Style.Dim(" ("+OneLine(p.Error.Code, 40)+")")}
	case run.RunCanceled:
		return []string{"", t.Style.Wait("■ ") + t.Style.Bold("Canceled") + took, "  " + OneLine(p.Reason, 400) + bySuffix(p.By)}
	}
	return nil
}

// whyFailed returns why the run has failed, with the remedy where there is one.
func (t *Formatter) whyFailed(p run.Problem) string {
	most := t.input.Fixes()
	if p.Code != run.CodeFixLimit || t.input.RunID == "" {
		return Message(p.Message, 400)
	}
	text := fmt.Sprintf("all %d automatic fixes are used", most)
	switch most {
	case 0:
		text = "a fix is needed, and no automatic fix is allowed"
	case 1:
		text = "the only automatic fix is used"
	}
	if t.Hint != nil {
		text += ": allow more with `" + t.Hint("retry %s --max-fix N", t.input.Name.Shown(t.input.RunID)) + "`"
	}
	return text
}
