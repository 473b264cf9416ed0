package dialog

import (
	"context"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/toolcall"
)

// askForTool asks whether the agent may use a tool.
func (p *Person) askForTool(ctx context.Context, a run.PendingApproval) (run.Decision, error) {
	d := run.Decision{ApprovalID: a.ApprovalID, By: p.Name}
	p.Screen.Line("")
	for _, line := range p.drawCall(*a.Permission, false) {
		p.Screen.Line(line)
	}
	p.Screen.Line("")
	p.printFacts(a, review.Because, review.Warning)
	p.printConsequence("yes", a.Next.Approve)
	p.printConsequence("no", a.Next.Reject)
	words := []word{
		{"y", "allow once", "allow this call, once"}, {"s", "for the session", "allow it " + review.SessionScope},
		{"n", "refuse", "refuse it, with a reason for the agent"}, {"d", "all of its input", "show all of its input"},
		{"q", "later", "decide later: the agent waits"}, {"end", "", "refuse it and end the " + p.whole()},
	}
	for {
		key, err := p.askForWord(ctx, "Allow it?", words)
		if err != nil {
			return d, err
		}
		switch key {
		case "y", "s":
			d.Decision, d.Session = run.Approve, key == "s"
			return d, nil
		case "n":
			reason, err := p.askReason(ctx, "Why not?", "the agent reads it; -: no reason; Enter: back")
			if err != nil {
				return d, err
			}
			if reason != "" {
				d.Decision, d.Reason = run.Reject, saidReason(reason)
				return d, nil
			}
		case "d":
			for _, line := range p.drawCall(*a.Permission, true) {
				p.Screen.Line(line)
			}
		case "end":
			if done, err := p.askForEnd(ctx, "call", &d); done || err != nil {
				return d, err
			}
		default:
			return d, ErrUnanswered
		}
	}
}

// maxCallLines bounds the lines of a call that are shown unless the person asks for all.
const maxCallLines = 20

// drawCall draws a tool call: the command as it is typed, then its other members.
func (p *Person) drawCall(asked run.Permission, all bool) []string {
	raw, err := p.Load(asked.Input)
	if err != nil {
		return append(indentLines(display.Text([]byte(asked.Excerpt))), p.Screen.Dim("    … only the beginning: the rest is in the run's directory on the worker's host"))
	}
	call := toolcall.Read(asked.Tool, raw)
	if !all {
		call = call.Within(asked.Dir)
	}
	var lines []string
	switch {
	case call.Command != "":
		for i, line := range indentLines(display.Text([]byte(call.Command))) {
			lines = append(lines, "    "+p.Screen.Dim([]string{"$ ", "  "}[min(i, 1)])+p.Screen.Bold(strings.TrimPrefix(line, "    ")))
		}
	case call.Target != "":
		lines = append(lines, "    "+p.Screen.Bold(display.Line(call.Target))+"  "+p.Screen.Dim(call.Change()))
	}
	for _, m := range call.Rest {
		text := indentLines(display.Text([]byte(m.Value)))
		if m.Name != "" && len(text) == 1 {
			lines = append(lines, "    "+p.Screen.Dim(display.Line(m.Name)+": ")+strings.TrimSpace(text[0]))
			continue
		}
		if m.Name != "" {
			lines = append(lines, "    "+p.Screen.Dim(display.Line(m.Name)+":"))
		}
		lines = append(lines, text...)
	}
	if !all && len(lines) > maxCallLines {
		lines = append(lines[:maxCallLines], p.Screen.Dim("    … d shows all of its input"))
	}
	return lines
}

func indentLines(text string) (lines []string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		lines = append(lines, "    "+strings.TrimRight(line, "\n"))
	}
	return lines
}

// Answer asks for the answer to a question. The error is ErrUnanswered if the person answers later, and
// ErrCancel if the person ends the run.
func (p *Person) Answer(ctx context.Context, q run.PendingQuestion) (run.Reply, error) {
	r := run.Reply{QuestionID: q.QuestionID, By: p.Name}
	besides := ""
	if q.Next.Again == "" { // else the question names its three answers and what follows
		for _, w := range q.Next.Ways() {
			p.printConsequence(w.Do, w.Leads)
		}
		besides = ", or a text"
	}
	words := p.questionWords(q)
	p.printLabels(words)
	prompt := p.promptText(questionPrompt(q.Kind), words, besides)
	for {
		line, err := p.Lines.Ask(ctx, prompt)
		if err != nil {
			return r, err
		}
		switch word := strings.ToLower(line); {
		case word == "" || word == "?":
			p.printWords("", words)
			p.printSentence("    ", textMeaning(q.Kind))
		case word == "q" || word == "later":
			return r, ErrUnanswered
		case word == "cancel" || word == "c" && q.Kind != run.AgentQuestion:
			if err := p.confirmCancel(ctx); err != nil {
				return r, err
			}
		case q.Kind.Repeats() && (word == "r" || word == "retry"):
			r.Retry = true
			return r, nil
		case strings.HasPrefix(line, "="):
			r.Text = strings.TrimSpace(line[1:])
			return r, nil
		case q.Kind != run.AgentQuestion && len([]rune(line)) == 1 && (word < "0" || word > "9"):
			p.printWords(line, words)
		default:
			r.Text = line
			return r, nil
		}
	}
}

// confirmCancel returns ErrCancel if the person ends the run.
func (p *Person) confirmCancel(ctx context.Context) error {
	key, err := p.askForWord(ctx, "End the "+p.whole()+"?", []word{{"yes", "", p.endsSo()}, {"n", "", "back to the question"}})
	if err == nil && key == "yes" {
		return ErrCancel
	}
	return err
}

func questionPrompt(k run.QuestionKind) string {
	if k == run.AgentQuestion {
		return "Your answer:"
	}
	return "What now?"
}

// questionWords returns the words that a question takes besides a text.
func (p *Person) questionWords(q run.PendingQuestion) []word {
	var words []word
	if q.Kind.Repeats() {
		words = append(words, word{"r", "retry", "try the step again"})
	}
	if q.Next.Again != "" {
		words = append(words, word{"again", "", q.Next.Again})
	}
	if q.Next.Without != "" {
		words = append(words, word{"without", "", q.Next.Without})
	}
	if q.Next.Stop != "" {
		words = append(words, word{"stop", "", q.Next.Stop})
	}
	return append(words, word{"cancel", "end the " + p.whole(), "end the " + p.whole()}, word{"q", "later", "answer later: the " + p.whole() + " waits"})
}

// textMeaning says where a text that is none of the words goes.
func textMeaning(k run.QuestionKind) string {
	switch k {
	case run.AgentQuestion:
		return "any other text is the answer; to send one of these words as text, put = before it"
	case run.ErrorQuestion, run.CheckQuestion:
		return "any other text also tries the step again, and the agent reads it; to send one of these words as text, put = before it"
	}
	return "any other text is the answer"
}
