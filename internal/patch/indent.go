package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// reindent changes the indentation of an added line to the file's. The zero value changes nothing.
type reindent struct {
	note  string
	add   string // put before the line
	cut   string // taken off the line
	tab   int    // so many leading spaces are a tab
	space int    // a leading tab is so many spaces
}

// indentLine returns line with its indentation changed. It leaves a blank line alone.
func (r reindent) indentLine(line []byte) []byte {
	if len(bytes.TrimSpace(line)) == 0 {
		return line
	}
	switch {
	case r.add != "":
		return append([]byte(r.add), line...)
	case r.cut != "":
		return bytes.TrimPrefix(line, []byte(r.cut))
	case r.tab > 0:
		n := countLeading(line, ' ')
		return append([]byte(strings.Repeat("\t", n/r.tab)+strings.Repeat(" ", n%r.tab)), line[n:]...)
	case r.space > 0:
		n := countLeading(line, '\t')
		return append([]byte(strings.Repeat(" ", n*r.space)), line[n:]...)
	}
	return line
}

// countLeading returns the number of bytes c at the beginning of line.
func countLeading(line []byte, c byte) int { return len(line) - len(bytes.TrimLeft(line, string(c))) }

// indentPair is the indentation of an old line in the diff and in the file.
type indentPair struct {
	diff, file string
	deleted    bool
}

// findReindent derives the indentation of a hunk's added lines from the difference between its old lines
// and the file's. Context alone is weak proof, because it often loses its leading space. ok is false if
// the deleted lines differ and no single rule explains the difference.
func findReindent(lines []udiff.Line, file [][]byte) (r reindent, ok bool) {
	pairs, added := collectIndents(lines, file)
	var deleted []indentPair
	differs := false
	for _, p := range pairs {
		if p.deleted {
			deleted = append(deleted, p)
			differs = differs || p.diff != p.file
		}
	}
	switch {
	case len(added) == 0, len(deleted) > 0 && !differs:
		return reindent{}, true
	case len(deleted) == 0:
		r, _ := findRule(pairs, added)
		if len(r.add) == 1 && r.add == " " || r.cut == " " {
			return reindent{}, true
		}
		return r, true
	}
	if r, ok := findRule(pairs, added); ok {
		return r, true
	}
	return findRule(deleted, added)
}

// collectIndents returns the indentation of all lines that are not blank.
func collectIndents(lines []udiff.Line, file [][]byte) (pairs []indentPair, added []string) {
	at := 0
	for _, l := range lines {
		if l.Op == udiff.Insert {
			if len(bytes.TrimSpace(l.Text)) > 0 {
				added = append(added, indentOf(l.Text))
			}
			continue
		}
		if len(bytes.TrimSpace(l.Text)) > 0 && len(bytes.TrimSpace(file[at])) > 0 {
			pairs = append(pairs, indentPair{indentOf(l.Text), indentOf(file[at]), l.Op == udiff.Delete})
		}
		at++
	}
	return pairs, added
}

// indentOf returns the blanks at the beginning of line.
func indentOf(line []byte) string {
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// findRule returns the single rule that turns every indentation of the diff into the file's.
func findRule(pairs []indentPair, added []string) (reindent, bool) {
	if len(pairs) == 0 {
		return reindent{}, false
	}
	first := pairs[0]
	var rules []reindent
	if add, ok := strings.CutSuffix(first.file, first.diff); ok && add != "" {
		rules = append(rules, reindent{add: add, note: fmt.Sprintf("%s put before added lines", quoteIndent(add))})
	}
	if cut, ok := strings.CutSuffix(first.diff, first.file); ok && cut != "" && allStartWith(added, cut) {
		rules = append(rules, reindent{cut: cut, note: fmt.Sprintf("%s taken off added lines", quoteIndent(cut))})
	}
	for _, width := range []int{4, 2, 8, 3, 1} {
		if !anyContains(added, "\t") {
			rules = append(rules, reindent{tab: width, note: fmt.Sprintf("%d leading spaces made a tab", width)})
		}
		if !anyContains(added, " ") {
			rules = append(rules, reindent{space: width, note: fmt.Sprintf("leading tabs made %d spaces", width)})
		}
	}
	for _, r := range rules {
		if r.explainsAll(pairs) {
			return r, true
		}
	}
	return reindent{}, false
}

// quoteIndent returns an indentation for a repair, or the length of a long one.
func quoteIndent(indent string) string {
	if len(indent) > 100 {
		return fmt.Sprintf("an indentation of %d bytes", len(indent))
	}
	return strconv.Quote(indent)
}

// explainsAll reports whether r turns every indentation of the diff into the file's, and changes one at
// least.
func (r reindent) explainsAll(pairs []indentPair) bool {
	changed := false
	for _, p := range pairs {
		got := string(r.indentLine([]byte(p.diff + "x")))
		if got != p.file+"x" {
			return false
		}
		changed = changed || p.diff != p.file
	}
	return changed
}

func allStartWith(indents []string, prefix string) bool {
	return !slices.ContainsFunc(indents, func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

func anyContains(indents []string, c string) bool {
	return slices.ContainsFunc(indents, func(s string) bool { return strings.Contains(s, c) })
}
