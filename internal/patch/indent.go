package patch

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// reindent makes the indentation of an added line the file's. The zero value changes nothing.
type reindent struct {
	note  string
	add   string // put before the line
	cut   string // taken off the line
	tab   int    // so many leading spaces are a tab
	space int    // a leading tab is so many spaces
}

func (r reindent) apply(line []byte) []byte {
	if len(bytes.TrimSpace(line)) == 0 {
		return line
	}
	switch {
	case r.add != "":
		return append([]byte(r.add), line...)
	case r.cut != "":
		return bytes.TrimPrefix(line, []byte(r.cut))
	case r.tab > 0:
		n := leading(line, ' ')
		return append([]byte(strings.Repeat("\t", n/r.tab)+strings.Repeat(" ", n%r.tab)), line[n:]...)
	case r.space > 0:
		n := leading(line, '\t')
		return append([]byte(strings.Repeat(" ", n*r.space)), line[n:]...)
	}
	return line
}

func leading(line []byte, c byte) int { return len(line) - len(bytes.TrimLeft(line, string(c))) }

// pair is the indentation of an old line in the diff and in the file.
type pair struct {
	diff, file string
	deleted    bool
}

// indentation says how the added lines of a hunk are to be indented, from how its
// old lines differ from the file's. Context alone is weak proof: it loses its
// leading space often. ok is false when the deleted lines differ and no one rule explains it.
func indentation(lines []udiff.Line, file [][]byte) (r reindent, ok bool) {
	pairs, added := indents(lines, file)
	var deleted []pair
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
		r, _ := rule(pairs, added)
		if len(r.add) == 1 && r.add == " " || r.cut == " " {
			return reindent{}, true
		}
		return r, true
	}
	if r, ok := rule(pairs, added); ok {
		return r, true
	}
	return rule(deleted, added)
}

// indents gives the indentation of all lines that are not blank.
func indents(lines []udiff.Line, file [][]byte) (pairs []pair, added []string) {
	at := 0
	for _, l := range lines {
		if l.Op == udiff.Insert {
			if len(bytes.TrimSpace(l.Text)) > 0 {
				added = append(added, indentOf(l.Text))
			}
			continue
		}
		if len(bytes.TrimSpace(l.Text)) > 0 && len(bytes.TrimSpace(file[at])) > 0 {
			pairs = append(pairs, pair{indentOf(l.Text), indentOf(file[at]), l.Op == udiff.Delete})
		}
		at++
	}
	return pairs, added
}

func indentOf(line []byte) string {
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// rule finds the one rule that makes every diff indentation the file's.
func rule(pairs []pair, added []string) (reindent, bool) {
	if len(pairs) == 0 {
		return reindent{}, false
	}
	first := pairs[0]
	var rules []reindent
	if add, ok := strings.CutSuffix(first.file, first.diff); ok && add != "" {
		rules = append(rules, reindent{add: add, note: fmt.Sprintf("%q put before added lines", add)})
	}
	if cut, ok := strings.CutSuffix(first.diff, first.file); ok && cut != "" && startWith(added, cut) {
		rules = append(rules, reindent{cut: cut, note: fmt.Sprintf("%q taken off added lines", cut)})
	}
	for _, width := range []int{4, 2, 8, 3, 1} {
		if !contain(added, "\t") {
			rules = append(rules, reindent{tab: width, note: fmt.Sprintf("%d leading spaces made a tab", width)})
		}
		if !contain(added, " ") {
			rules = append(rules, reindent{space: width, note: fmt.Sprintf("leading tabs made %d spaces", width)})
		}
	}
	for _, r := range rules {
		if r.explains(pairs) {
			return r, true
		}
	}
	return reindent{}, false
}

func (r reindent) explains(pairs []pair) bool {
	changed := false
	for _, p := range pairs {
		got := string(r.apply([]byte(p.diff + "x")))
		if got != p.file+"x" {
			return false
		}
		changed = changed || p.diff != p.file
	}
	return changed
}

func startWith(indents []string, prefix string) bool {
	for _, s := range indents {
		if !strings.HasPrefix(s, prefix) {
			return false
		}
	}
	return true
}

func contain(indents []string, c string) bool {
	for _, s := range indents {
		if strings.Contains(s, c) {
			return true
		}
	}
	return false
}
