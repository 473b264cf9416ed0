package prompt

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// fileIndex finds the files that a text names.
type fileIndex struct {
	files  map[string]File
	byBase map[string][]string // sorted
}

// newFileIndex returns the index of files.
func newFileIndex(files []File) fileIndex {
	x := fileIndex{files: make(map[string]File, len(files)), byBase: make(map[string][]string)}
	for _, f := range files {
		x.files[f.Path] = f
		base := path.Base(f.Path)
		x.byBase[base] = append(x.byBase[base], f.Path)
	}
	for _, paths := range x.byBase {
		slices.Sort(paths)
	}
	return x
}

// findNamed returns the files that the text names, in the order of first mention.
func (x fileIndex) findNamed(text string) []string {
	var found []string
	seen := make(map[string]bool)
	for _, name := range quotedNames(text) { // a name in back-ticks may hold blanks and parentheses
		if _, ok := x.files[name]; ok && !seen[name] {
			seen[name] = true
			found = append(found, name)
		}
	}
	for word := range strings.FieldsFuncSeq(text, isSeparator) {
		if seen[word] {
			continue
		}
		seen[word] = true
		for _, w := range bareForms(word) {
			if hits := x.resolveWord(w); len(hits) > 0 {
				found = append(found, hits...)
				break
			}
		}
	}
	return found
}

// quotedNames returns the texts between back-ticks, each on one line, without what follows a file's name in a link.
func quotedNames(text string) (names []string) {
	for line := range strings.Lines(text) {
		parts := strings.Split(line, "`")
		for i := 1; i+1 < len(parts); i += 2 {
			name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(parts[i]), "./"), "#")
			names = append(names, name)
		}
	}
	return names
}

// bareForms returns a word with fewer and fewer of the marks around it. A name may itself begin with a
// dot, a bracket or an underscore.
func bareForms(word string) []string {
	const ends, emphasis = ".-/", "[]{}*_!#"
	inner := strings.TrimRight(strings.Trim(word, emphasis), ends+emphasis)
	return []string{word, strings.TrimRight(word, ends+emphasis), inner, strings.TrimLeft(inner, ends+emphasis)}
}

// isSeparator reports whether r separates words.
func isSeparator(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'`,;:<>|()?", r)
}

// maxAlike is the most files that a name may mean. A name that means more files names none.
const maxAlike = 3

// resolveWord reads a word as a path, as the end of paths, or as a path that begins outside the
// repository, in this order. A name without a slash needs a dot to be the end of a path: "test" is mostly
// a word.
func (x fileIndex) resolveWord(word string) []string {
	if _, ok := x.files[word]; ok {
		return []string{word}
	}
	var ends []string
	for _, p := range x.byBase[path.Base(word)] {
		if strings.ContainsAny(word, "/.") && strings.HasSuffix(p, "/"+word) {
			ends = append(ends, p)
		}
	}
	if len(ends) > 0 && len(ends) <= maxAlike {
		return ends
	}
	for rest := word; ; {
		_, after, ok := strings.Cut(rest, "/")
		if !ok {
			return nil
		}
		if _, ok := x.files[after]; ok {
			return []string{after}
		}
		rest = after
	}
}
