package workflows

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// markdown is a page of the Web UI under construction. The UI renders CommonMark, drops HTML and images, and keeps
// line feeds; its column is some 60 characters wide. What a model, a repository or a person wrote goes in through
// text, code and fence only: it is shown as it is, with what a browser would hide made visible, and cannot pose as ours.
type markdown struct{ strings.Builder }

func (m *markdown) printf(format string, args ...any) { m.WriteString(fmt.Sprintf(format, args...)) }

// fence adds a block that nothing in the text can close. A long line goes on in one that begins with "⋯ ", so that
// nothing hides beyond the edge.
func (m *markdown) fence(lang, text string) {
	text = placeholders.Replace(wrap(strings.Trim(text, "\n")))
	if text == "" {
		return
	}
	ticks := backticks(text, 3)
	m.printf("%s%s\n%s\n%s\n\n", ticks, lang, text, ticks)
}

// block is a fence for a text that has not been made visible yet; of a long one only the head.
func (m *markdown) block(text string, limit int) {
	m.fence("", patch.DisplayDiff([]byte(clipRunes(text, limit)))) //workflowcheck:ignore // pure
}

// prose adds a text that wraps as the page does, line by line; of a long one only the head.
func (m *markdown) prose(s string, limit int) {
	for l := range strings.Lines(strings.TrimSpace(clipRunes(s, limit))) {
		m.printf("> %s\n", text(l))
	}
	m.printf("\n")
}

func (m *markdown) list(name string, items []string) {
	for _, item := range items {
		m.printf("- %s%s\n", name, text(item))
	}
	if len(items) > 0 {
		m.printf("\n")
	}
}

// text is one line of prose that says what it says: no character of it is markup.
func text(s string) string {
	var b strings.Builder
	for _, r := range line(s) {
		if strings.ContainsRune("\\`*_[](){}<>#&|!~+-.=:@/", r) {
			b.WriteString(fmt.Sprintf("&#%d;", r)) // the UI keeps the backslash of some escapes
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code is one line in the type of code.
func code(s string) string {
	s = placeholders.Replace(line(s))
	ticks, pad := backticks(s, 1), ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		pad = " "
	}
	return ticks + pad + s + pad + ticks
}

func line(s string) string {
	return patch.Display(strings.Join(strings.Fields(s), " ")) //workflowcheck:ignore // pure
}

// placeholders keeps the UI from putting its own values for these three words, which it does in code too.
var placeholders = strings.NewReplacer(
	"{namespace}", "<U+007B>namespace}", "{workflowId}", "<U+007B>workflowId}", "{runId}", "<U+007B>runId}")

// backticks are more of them than the text has in a row, and least at least.
func backticks(text string, least int) string {
	ticks := strings.Repeat("`", least)
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks
}

const wrapAt = 100

func wrap(text string) string {
	var b strings.Builder
	column := 0
	for _, r := range text {
		if r == '\n' {
			column = -1
		} else if column == wrapAt {
			b.WriteString("\n⋯ ")
			column = 2
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}

func clipRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + " …"
	}
	return s
}

// count is a number and what is counted.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
