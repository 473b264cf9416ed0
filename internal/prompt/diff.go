package prompt

import (
	"strconv"
	"strings"
)

// sectionedDiff is a git diff without the sections of withheld files.
type sectionedDiff struct {
	text     string
	paths    []string // of its sections, after the change
	withheld int      // sections
}

// readDiff splits a git diff into sections. It drops the text before the first section, because that text
// names no file that could be judged.
func readDiff(text string) sectionedDiff {
	var d sectionedDiff
	var kept strings.Builder
	for section := range splitSections(text) {
		path, ok := sectionPath(section)
		if !ok {
			d.withheld++
			continue
		}
		kept.WriteString(section)
		d.paths = append(d.paths, path)
	}
	d.text = kept.String()
	return d
}

const sectionMark = "diff --git "

// splitSections returns an iterator over the sections of a git diff.
func splitSections(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		if !strings.HasPrefix(text, sectionMark) {
			start = strings.Index(text, "\n"+sectionMark) + 1
			if start == 0 {
				return
			}
		}
		for text = text[start:]; text != ""; {
			end := len(text)
			if i := strings.Index(text, "\n"+sectionMark); i >= 0 {
				end = i + 1
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// nameMarks begin the header lines that name one file each.
var nameMarks = []string{"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "}

// sectionPath returns the path of a section. ok is false if one of its names is withheld or cannot be
// read.
func sectionPath(section string) (path string, ok bool) {
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "@@") {
			break
		}
		if rest, ok := strings.CutPrefix(line, sectionMark); ok {
			if Withheld(rest) {
				return "", false
			}
			_, path, _ = strings.Cut(rest, " b/")
		}
		for _, mark := range nameMarks {
			rest, found := strings.CutPrefix(line, mark)
			if !found {
				continue
			}
			name, err := unquoteName(rest)
			if err != nil || Withheld(name) {
				return "", false
			}
			if mark == "+++ " && name != "/dev/null" {
				path = strings.TrimPrefix(name, "b/")
			}
		}
	}
	return path, true
}

// unquoteName reads a name as git writes it: in C's quotes if it holds special characters, and before a
// tab if it holds spaces.
func unquoteName(name string) (string, error) {
	name, _, _ = strings.Cut(name, "\t")
	if strings.HasPrefix(name, `"`) {
		return strconv.Unquote(name)
	}
	return name, nil
}
