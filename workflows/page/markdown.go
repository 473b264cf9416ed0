// Package page renders the pages of the Web UI in Markdown, for runs and sessions. It is pure: a
// page is a function of what it shows, so that a replay shows the same.
package page

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// markdown builds a page of the Web UI. The UI renders CommonMark, drops HTML and images, and keeps line
// feeds. Its column is about 60 characters wide. Text by a model, a repository or a person enters the
// page through escapeMarkup, inlineCode and fence only. They show it unchanged, make characters visible that a
// browser would hide, and keep it from posing as text of Ratchet.
type markdown struct{ strings.Builder }

func (m *markdown) printf(format string, args ...any) { m.WriteString(fmt.Sprintf(format, args...)) }

// fence adds a fenced block that nothing in the text can close. A long line continues on a line that
// begins with "⋯ ", which keeps text from hiding beyond the edge.
func (m *markdown) fence(lang, text string) {
	text = placeholders.Replace(display.Wrap(strings.Trim(text, "\n"), wrapAt))
	if text == "" {
		return
	}
	ticks := fenceFor(text, 3)
	m.printf("%s%s\n%s\n%s\n\n", ticks, lang, text, ticks)
}

// block adds a fence around a text whose hidden characters have not been made visible yet. It keeps
// only the first limit characters of the text.
func (m *markdown) block(text string, limit int) {
	m.fence("", display.Text([]byte(clipRunes(text, limit)))) //workflowcheck:ignore // pure
}

// prose adds a text as a quotation that wraps with the page, line by line. It keeps only the
// first limit characters of the text.
func (m *markdown) prose(s string, limit int) {
	for l := range strings.Lines(strings.TrimSpace(clipRunes(s, limit))) {
		m.printf("> %s\n", escapeMarkup(l))
	}
	m.printf("\n")
}

func (m *markdown) list(name string, items []string) {
	for _, item := range items {
		m.printf("- %s%s\n", name, escapeMarkup(item))
	}
	if len(items) > 0 {
		m.printf("\n")
	}
}

// escapeMarkup returns s as one line of prose in which no character is markup.
func escapeMarkup(s string) string {
	var b strings.Builder
	for _, r := range joinLines(s) {
		if strings.ContainsRune("\\`*_[](){}<>#&|!~+-.=:@/", r) {
			b.WriteString(fmt.Sprintf("&#%d;", r)) // the UI keeps the backslash of some escapes
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// OfLine returns s as the Web UI shows it as text where it takes Markdown, such as the summary of a workflow.
func OfLine(s string) string { return inlineCode(s) }

// inlineCode returns s as one line of inline code.
func inlineCode(s string) string {
	s = placeholders.Replace(joinLines(s))
	ticks, pad := fenceFor(s, 1), ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		pad = " "
	}
	return ticks + pad + s + pad + ticks
}

func joinLines(s string) string {
	return display.Line(strings.Join(strings.Fields(s), " ")) //workflowcheck:ignore // pure
}

// placeholders escapes three words that the UI would replace with its own values. The UI replaces them
// in code too.
var placeholders = strings.NewReplacer(
	"{namespace}", "<U+007B>namespace}", "{workflowId}", "<U+007B>workflowId}", "{runId}", "<U+007B>runId}")

// fenceFor returns more backticks than the text has in a row, and at least least of them.
func fenceFor(text string, least int) string {
	ticks := strings.Repeat("`", least)
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks
}

// wrapAt is the number of characters of a line of a fence.
const wrapAt = 100

func clipRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + " …"
	}
	return s
}

// refusedSignals adds the signals that a workflow did not take, if there are any.
func (m *markdown) refusedSignals(of string, refused []run.RefusedSignal) {
	if len(refused) == 0 {
		return
	}
	m.printf("**Signals that the %s refused:**\n\n", of)
	for _, r := range refused {
		m.printf("- %s\n", escapeMarkup(r.String()))
	}
	m.printf("\n")
}
