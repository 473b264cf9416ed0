// Package dialog asks a person at a terminal: whether a patch is applied, whether a tool may be used, and
// the questions of a run. Only a deliberate word decides: a line that it does not know shows the words that
// there are, and changes nothing.
package dialog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/patchview"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// ErrCancel reports that the person ends the run.
var ErrCancel = errors.New("the run is to be canceled")

// Person decides at the terminal.
type Person struct {
	Screen *terminal.Screen
	Lines  *Lines
	Name   string
	// Load reads an artifact of the run. An error means that it is not on this host.
	Load func(run.Ref) ([]byte, error)
	// Report reads the results of the checks; ok is false where they are not on this host.
	Report func(run.Ref) (r check.Report, ok bool)
	// Page shows a long text; nil: it is printed. NewReply begins a text that the person edits; nil: there is no editor.
	Page     func(text string) error
	NewReply func(text string) (Draft, error)
	NewEdit  func(patch string) (Draft, error) // as NewReply, for a patch

	// Whole is what a final refusal ends, and Ends what follows from that; empty: the run.
	Whole, Ends string

	reply *reply // to the patch of the last gate; nil: none was begun
	edit  *reply // an edit of that patch
}

// shownLines is the number of lines of a patch that are shown unless the person asks for more.
const shownLines = 60

// word is a line that a person may type at a question, and its meaning. Label is the meaning in a word or
// two, for the line above the question; empty: the line leaves it out.
type word struct{ key, label, does string }

// askForWord asks until the person types one of the words, and returns its key. Every other line shows the words.
func (p *Person) askForWord(ctx context.Context, question string, words []word) (string, error) {
	p.printLabels(words)
	prompt := p.promptText(question, words, "")
	for {
		line, err := p.Lines.Ask(ctx, prompt)
		if err != nil {
			return "", err
		}
		for _, w := range words {
			if line == w.key || len(w.key) > 1 && strings.EqualFold(line, w.key) {
				return w.key, nil
			}
		}
		if key, ok := findWord(line, words); ok {
			return key, nil
		}
		p.printWords(line, words)
	}
}

// promptText returns the text before what a person types: the question and the keys.
func (p *Person) promptText(question string, words []word, besides string) string {
	keys := ""
	for _, w := range words {
		keys += w.key + " "
	}
	return "  " + p.Screen.Wait(question+" ") + p.Screen.Dim("["+keys+"?"+besides+"] ")
}

// printLabels prints the keys with their meanings in short.
func (p *Person) printLabels(words []word) {
	line := ""
	for _, w := range words {
		if w.label == "" {
			continue
		}
		part := p.Screen.Accent(w.key) + " " + p.Screen.Dim(w.label)
		if p.Screen.Live() && line != "" && terminal.Width(line)+3+terminal.Width(part) >= p.Screen.Columns() {
			p.Screen.Line(line)
			line = ""
		}
		if line == "" {
			line = "  " + part
			continue
		}
		line += "   " + part
	}
	if line != "" {
		p.Screen.Line(line)
	}
}

// synonyms are whole words that mean a key.
var synonyms = map[string]string{
	"yes": "y", "no": "n", "diff": "d", "details": "d", "files": "f", "session": "s", "quit": "q", "later": "q", "retry": "r", "some": "a", "edit": "e",
}

func findWord(line string, words []word) (string, bool) {
	key, ok := synonyms[strings.ToLower(line)]
	if line == "Y" {
		key, ok = "y", true
	}
	for _, w := range words {
		if ok && w.key == key {
			return key, true
		}
	}
	return "", false
}

// printWords prints what may be typed.
func (p *Person) printWords(line string, words []word) {
	if line != "" && line != "?" {
		p.Screen.Line("    unknown key " + p.Screen.Wait(display.Line(terminal.Clip(line, 40))) + ", nothing was decided. Keys:")
	}
	width := 0
	for _, w := range words {
		width = max(width, terminal.Width(w.key))
	}
	for _, w := range words {
		p.printSentence("    "+p.Screen.Accent(w.key)+strings.Repeat(" ", width-terminal.Width(w.key)+2), w.does)
	}
}

// printSentence prints a sentence behind a head. On a live screen it is broken between words, below itself.
func (p *Person) printSentence(head, text string) {
	lines := []string{text}
	if p.Screen.Live() {
		lines = terminal.Fold(text, max(p.Screen.Columns()-terminal.Width(head)-1, 20))
	}
	for i, line := range lines {
		if i > 0 {
			head = strings.Repeat(" ", terminal.Width(head))
		}
		p.Screen.Line(head + line)
	}
}

// Approve shows what waits and asks for a decision. The error is ErrUnanswered if the person decides later,
// and ErrCancel never: a final rejection ends the run.
func (p *Person) Approve(ctx context.Context, a run.PendingApproval) (run.Decision, error) {
	if a.Permission != nil {
		return p.askForTool(ctx, a)
	}
	p.reply, p.edit = p.reply.takeUp(a.ApprovalID), p.edit.takeUp(a.ApprovalID)
	d, err := p.newGate(a).decide(ctx)
	if p.reply != nil && !p.reply.sent {
		p.reply = p.leave(p.reply)
	}
	if p.edit != nil && !p.edit.sent {
		p.edit = p.leave(p.edit)
	}
	return d, err
}

// decide asks until the decision is made.
func (g *gate) decide(ctx context.Context) (run.Decision, error) {
	g.showPatch()
	for {
		key, err := g.askForWord(ctx, "Apply this patch?", g.gateWords())
		if err != nil {
			return g.decision, err
		}
		done, err := g.pressKey(ctx, key)
		if done || err != nil {
			return g.decision, err
		}
	}
}

// Show shows a patch that waits, and asks nothing.
func (p *Person) Show(a run.PendingApproval) { p.newGate(a).showPatch() }

// printFacts prints what a person should know besides.
func (p *Person) printFacts(a run.PendingApproval, kinds ...review.FactKind) {
	for _, f := range review.Facts(a) {
		for _, k := range kinds {
			if f.Kind != k {
				continue
			}
			text := story.OneLine(f.Text, 300)
			if f.Kind == review.Check {
				p.printSentence("  ", p.Screen.Dim(text))
				continue
			}
			p.printSentence("  "+p.Screen.Wait(string(f.Kind)+": "), text)
		}
	}
}

// printConsequence prints the consequence of a way to resolve the wait.
func (p *Person) printConsequence(way, to string) {
	if to != "" {
		p.Screen.Note("  ", way+" → "+to)
	}
}

// view returns how patches are drawn on the screen.
func (p *Person) view() patchview.View {
	v := patchview.View{Style: p.Screen.Style, Indent: "    "}
	if p.Screen.Live() {
		v.Columns = p.Screen.Columns()
	}
	return v
}

// gate is the dialog about one patch.
type gate struct {
	*Person
	a        run.PendingApproval
	decision run.Decision
	files    []hunks.File
	raw      string // the patch as it is; empty: it is not on this host
	patch    string // safe for a terminal; where the patch cannot be read by file
	whole    bool   // all of the patch is on this host
}

func (p *Person) newGate(a run.PendingApproval) *gate {
	g := &gate{Person: p, a: a, decision: run.Decision{ApprovalID: a.ApprovalID, By: p.Name}}
	raw, err := p.Load(a.Patch)
	if err != nil {
		g.patch = display.Text([]byte(a.Excerpt))
		return g
	}
	g.whole, g.raw = true, string(raw)
	if g.files, err = hunks.Read(raw); err != nil {
		g.patch = p.Screen.Diff(display.Text(raw))
	}
	return g
}

// gateWords returns the words of the gate.
func (g *gate) gateWords() []word {
	label, refuse, below := "send back", "send it back", "goes to the agent"
	if g.a.Next.RejectEnds {
		label, refuse, below = "refuse", "refuse it and end the run", "is recorded"
	}
	list := []word{{"y", "apply", "apply it"}, {"n", label, refuse + ", with a reason in one line"}}
	if g.NewReply != nil && len(g.files) > 0 {
		list = append(list, word{"N", "in your editor", refuse + ", with a reason in your editor: text below a line " + below + " with file and line"})
	}
	list = append(list, word{"d", "all of it", "show all of it, in your pager if it is long"})
	if g.NewEdit != nil && g.raw != "" {
		list = append(list, word{"e", "edit", "edit the patch in your editor: what you save is proposed in its place"})
	}
	if len(g.files) > 1 {
		list = append(list, word{"f", "by file", "show it file by file"})
	}
	if g.countHunks() > 1 {
		list = append(list, word{"a", "some of it", "apply some files or hunks; the rest goes back or is dropped"})
	}
	return append(list, word{"q", "later", "decide later: the run waits"}, word{"end", "", "refuse it and end the run"})
}

// pressKey carries out a word. It reports whether the decision is made.
func (g *gate) pressKey(ctx context.Context, key string) (done bool, err error) {
	switch key {
	case "y":
		g.decision.Decision = run.Approve
		return true, nil
	case "n":
		return g.askForReason(ctx)
	case "N":
		return g.rejectByMail(ctx)
	case "d":
		g.pageLines(g.drawPatch())
		return false, nil
	case "f":
		return false, g.byFile(ctx)
	case "a":
		return g.acceptSome(ctx)
	case "e":
		return g.editPatch(ctx)
	case "end":
		return g.askForEnd(ctx, "patch", &g.decision)
	}
	return false, ErrUnanswered
}

// askForReason asks for the reason of a rejection in one line.
func (g *gate) askForReason(ctx context.Context) (bool, error) {
	g.warnOfEnd()
	reader := "the agent reads it"
	if g.a.Next.RejectEnds {
		reader = "it is recorded"
	}
	reason, err := g.askReason(ctx, "Why not?", reader+"; -: no reason; Enter: back")
	if reason == "" || err != nil {
		return false, err
	}
	g.decision.Decision, g.decision.Reason = run.Reject, saidReason(reason)
	return true, nil
}

func (g *gate) warnOfEnd() {
	if g.a.Next.RejectEnds {
		g.printSentence("  "+g.Screen.Wait("! "), "a rejection ends the run: "+g.a.Next.Reject)
	}
}

// withoutReason is typed in the place of a reason by a person who gives none.
const withoutReason = "-"

// saidReason returns the reason of a line that was typed.
func saidReason(line string) string {
	if line == withoutReason {
		return ""
	}
	return line
}

// askReason asks for a reason. It is empty if the person goes back: a single key is no reason.
func (p *Person) askReason(ctx context.Context, question, hint string) (string, error) {
	line, err := p.Lines.Ask(ctx, "  "+p.Screen.Wait(question+" ")+p.Screen.Dim("("+hint+") "))
	switch strings.ToLower(line) {
	case "", "y", "yes", "n", "no", "b", "back", "q", "?":
		return "", err
	}
	return line, err
}

// rejectByMail lets the person answer the patch as a mail.
func (g *gate) rejectByMail(ctx context.Context) (bool, error) {
	g.warnOfEnd()
	reason, err := g.editReply()
	if err != nil {
		g.printSentence("  "+g.Screen.Wait("! "), story.OneLine(err.Error(), 300))
		return false, nil
	}
	if reason == "" {
		g.Screen.Note("  ", "you wrote nothing: nothing was decided")
		return false, nil
	}
	if len(reason) > run.MaxTextBytes {
		g.printSentence("  "+g.Screen.Wait("! "), fmt.Sprintf("the reason has %d bytes, at most %d fit: nothing was decided; N opens it again", len(reason), run.MaxTextBytes))
		return false, nil
	}
	for _, line := range story.Lines(reason, 30) {
		g.Screen.Line("    " + g.Screen.Dim("│ ") + line)
	}
	question, does := "Send the patch back with this?", "send it back"
	if g.a.Next.RejectEnds {
		question, does = "Refuse the patch with this?", "refuse it and end the run"
	}
	key, err := g.askForWord(ctx, question, []word{{"y", "", does}, {"n", "", "back to the patch: nothing was decided; N opens your text again"}})
	if key != "y" || err != nil {
		return false, err
	}
	g.decision.Decision, g.decision.Reason, g.reply.sent = run.Reject, reason, true
	return true, nil
}

func (p *Person) whole() string { return cmp.Or(p.Whole, "run") }

func (p *Person) endsSo() string { return cmp.Or(p.Ends, "the run ends as canceled, its branch stays") }

// askForEnd asks whether to refuse the patch or tool and end the whole, and sets the decision if the person agrees.
func (p *Person) askForEnd(ctx context.Context, what string, d *run.Decision) (bool, error) {
	words := []word{{"yes", "", p.endsSo()}, {"n", "", "back to the " + what}}
	key, err := p.askForWord(ctx, "Refuse the "+what+" and end the "+p.whole()+"?", words)
	if key != "yes" || err != nil {
		return false, err
	}
	d.Decision, d.Final = run.Reject, true
	return true, nil
}
