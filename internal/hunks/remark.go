package hunks

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// Remark is what a person says about a line of a patch, or about a file if Line is zero.
type Remark struct {
	File string
	Line int  // number after the patch, or before it if Old is set
	Old  bool // the line is one that the patch deletes
	Text string
}

// Find returns the line that a remark is about.
func Find(files []File, r Remark) (Line, bool) {
	for _, f := range files {
		if f.Name != r.File {
			continue
		}
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				if r.Old && l.Op == udiff.Delete && l.Old == r.Line || !r.Old && l.New > 0 && l.New == r.Line {
					return l, true
				}
			}
		}
	}
	return Line{}, false
}

// maxQuote bounds the quotation of a line, in characters.
const maxQuote = 120

// Reason returns the text of a rejection: the words about the whole, then each remark with file, line and a quotation of
// the line. Remarks without a text are left out.
func Reason(whole string, files []File, remarks []Remark) string {
	var parts []string
	if whole = strings.TrimSpace(whole); whole != "" {
		parts = append(parts, whole)
	}
	for _, r := range remarks {
		text := strings.TrimSpace(r.Text)
		if text == "" {
			continue
		}
		parts = append(parts, r.place(files)+"\n"+indentText(text))
	}
	return strings.Join(parts, "\n\n")
}

func (r Remark) place(files []File) string {
	if r.Line == 0 {
		return r.File + ":"
	}
	at := fmt.Sprintf("%s:%d", r.File, r.Line)
	if r.Old {
		at += " (deleted)"
	}
	l, ok := Find(files, r)
	if quote := strings.TrimSpace(l.Text); ok && quote != "" {
		if long := []rune(quote); len(long) > maxQuote {
			quote = string(long[:maxQuote]) + "…"
		}
		at += ": " + quote
	}
	return at
}

func indentText(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return "  " + strings.Join(lines, "\n  ")
}
