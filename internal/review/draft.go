package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// quoteMark begins the lines of a patch in a draft.
const quoteMark = "> "

// draftHelp is the beginning of a draft. ParseReply drops its lines.
var draftHelp = []string{
	"# Why do you send this patch back? Write here, or below the quoted lines, as in a reply to a mail:",
	"# the agent gets text below a line together with the file and the line number.",
	"# You can delete quoted lines. If you write nothing, nothing is decided.",
}

// quoted is one line of a draft that quotes a patch.
type quoted struct {
	text string // with the mark
	at   hunks.Remark
}

// quotedLines returns the quotation of a patch.
func quotedLines(files []hunks.File) []quoted {
	var list []quoted
	add := func(text string, at hunks.Remark) { list = append(list, quoted{quoteMark + text, at}) }
	for _, f := range files {
		name := display.Line(f.Name)
		add(fmt.Sprintf("--- %s  %s +%d -%d", name, f.Change, f.Added, f.Deleted), hunks.Remark{File: f.Name})
		for i, h := range f.Hunks {
			if i > 0 {
				add("    ...", hunks.Remark{File: f.Name})
			}
			for _, l := range h.Lines {
				at := hunks.Remark{File: f.Name, Line: l.New}
				if l.Op == udiff.Delete {
					at.Line, at.Old = l.Old, true
				}
				add(fmt.Sprintf("%5d %c %s", at.Line, l.Op, display.Code(l.Text)), at)
			}
		}
	}
	return list
}

// Draft returns the text that a person edits to send a patch back. It holds nothing that a terminal obeys.
func Draft(files []hunks.File) string {
	var b strings.Builder
	for _, line := range draftHelp {
		b.WriteString(line + "\n")
	}
	b.WriteString("\n\n")
	for _, q := range quotedLines(files) {
		b.WriteString(q.text + "\n")
	}
	return b.String()
}

// ParseReply reads an edited draft of the same files: the words above all quoted lines, and a remark for
// each run of words below a quoted line. Quoted lines may be gone or stand alone; a quoted line that the
// draft does not have is passed over.
func ParseReply(text string, files []hunks.File) (whole string, remarks []hunks.Remark) {
	list := quotedLines(files)
	var words []string
	var at *hunks.Remark
	next := 0 // the quotation is looked for from here on, because the order stays
	flush := func() {
		said := strings.TrimSpace(strings.Join(words, "\n"))
		words = nil
		switch {
		case said == "":
		case at == nil:
			whole = strings.TrimSpace(whole + "\n" + said)
		default:
			c := *at
			c.Text = said
			remarks = append(remarks, c)
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case slices.Contains(draftHelp, line):
		case strings.HasPrefix(line, strings.TrimSpace(quoteMark)):
			flush()
			i := slices.IndexFunc(list[next:], func(q quoted) bool { return sameQuote(q.text, line) })
			if i >= 0 {
				at, next = &list[next+i].at, next+i+1
			}
		default:
			words = append(words, line)
		}
	}
	flush()
	return whole, remarks
}

// sameQuote compares two quoted lines but for blanks at their ends, which editors take away.
func sameQuote(a, b string) bool { return strings.TrimRight(a, " \t") == strings.TrimRight(b, " \t") }
