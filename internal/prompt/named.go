package prompt

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fileIndex finds the files that a text names.
type fileIndex struct {
	files  map[string]File
	byBase map[string][]string // sorted
	odd    map[string][]oddName
}

// oddName is a name, of a file or the end of its path, that holds separators of words: a blank or parentheses. It is
// found by its first word, the key in fileIndex.odd.
type oddName struct {
	name, path string
	before     int // the bytes before the first word
}

// newFileIndex returns the index of files.
func newFileIndex(files []File) fileIndex {
	x := fileIndex{files: make(map[string]File, len(files)), byBase: make(map[string][]string), odd: make(map[string][]oddName)}
	for _, f := range files {
		x.files[f.Path] = f
		base := path.Base(f.Path)
		x.byBase[base] = append(x.byBase[base], f.Path)
		x.addOdd(f.Path, f.Path)
	}
	for base, paths := range x.byBase {
		slices.Sort(paths)
		if len(paths) <= maxAlike && strings.Contains(base, ".") {
			for _, p := range paths {
				x.addOdd(base, p)
			}
		}
	}
	return x
}

// addOdd adds a name of the file at path if it holds separators.
func (x fileIndex) addOdd(name, path string) {
	words := strings.FieldsFunc(name, isSeparator)
	if len(words) == 0 || words[0] == name {
		return
	}
	x.odd[words[0]] = append(x.odd[words[0]], oddName{name, path, strings.Index(name, words[0])})
}

// unescape takes off what Markdown, shells and links write into a name, and turns the separators of Windows.
var unescape = strings.NewReplacer(`\_`, "_", `\ `, " ", `\[`, "[", `\]`, "]", `\(`, "(", `\)`, ")", `\*`, "*", "%20", " ", `\`, "/")

// findNamed returns the files that the text names, in the order of first mention.
func (x fileIndex) findNamed(text string) []string {
	var found []string
	seen := make(map[string]bool)
	add := func(paths []string) {
		for _, p := range paths {
			if !seen[p] {
				seen[p] = true
				found = append(found, p)
			}
		}
	}
	for _, text := range slices.Compact([]string{text, unescape.Replace(text)}) {
		known := make(map[string]bool) // words
		for from, to := nextWord(text, 0); from < to; from, to = nextWord(text, to) {
			word := text[from:to]
			if odd := x.findOdd(text, from, to); len(odd) > 0 {
				add(odd)
				continue
			}
			if known[word] {
				continue
			}
			known[word] = true
			for _, w := range bareForms(word) {
				if hits := x.resolveWord(w); len(hits) > 0 {
					add(hits)
					break
				}
			}
		}
	}
	return found
}

// nextWord returns the bounds of the first word of text from at on. They are equal if there is none.
func nextWord(text string, at int) (from, to int) {
	skip := strings.IndexFunc(text[at:], func(r rune) bool { return !isSeparator(r) })
	if skip < 0 {
		return len(text), len(text)
	}
	from = at + skip
	if n := strings.IndexFunc(text[from:], isSeparator); n >= 0 {
		return from, from + n
	}
	return from, len(text)
}

// findOdd returns the files whose name begins with the word text[from:to], or with its last parts, and is in the text.
func (x fileIndex) findOdd(text string, from, to int) (paths []string) {
	from += len(text[from:to]) - len(strings.TrimLeft(text[from:to], "*"))
	for {
		longest := 0
		for _, o := range x.odd[text[from:to]] {
			at := from - o.before
			if at < 0 || len(o.name) < longest || !strings.HasPrefix(text[at:], o.name) || isInWord(text, at, at+len(o.name)) {
				continue
			}
			if len(o.name) > longest {
				longest, paths = len(o.name), nil
			}
			paths = append(paths, o.path)
		}
		cut := strings.IndexByte(text[from:to], '/')
		if longest > 0 || cut < 0 {
			return paths
		}
		from += cut + 1
	}
}

// isInWord reports whether a letter or a digit is before or behind text[from:to].
func isInWord(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	behind, _ := utf8.DecodeRuneInString(text[to:])
	return isASCIIWord(before) || isASCIIWord(behind)
}

func isASCIIWord(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// bareForms returns a word with fewer and fewer of the marks around it. A name may itself begin with a
// dot, a bracket or an underscore.
func bareForms(word string) []string {
	const ends, emphasis = ".-/", "[]{}*_!#"
	inner := strings.TrimRight(strings.Trim(word, emphasis), ends+emphasis)
	plain := strings.TrimFunc(inner, func(r rune) bool { return r >= utf8.RuneSelf }) // in a sentence without blanks
	return []string{word, strings.TrimRight(word, ends+emphasis), inner, strings.TrimLeft(inner, ends+emphasis), plain}
}

// isSeparator reports whether r separates words.
func isSeparator(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"'`,;:<>|()?#“”‘’「」『』《》（），。；：、—→├└─│", r)
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
