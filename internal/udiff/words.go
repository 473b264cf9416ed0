package udiff

import (
	"bytes"
	"regexp"
	"slices"
)

// hints name the forms in which a text that is no unified diff may hold a change.
var hints = []struct {
	form *regexp.Regexp
	says string
}{
	{regexp.MustCompile(`\x1b\[[0-9;]*m`), "it holds the colour codes of a terminal: give it without them"},
	{regexp.MustCompile(`^(?:\xff\xfe|\xfe\xff)|(?:[ -~]\x00){8}|(?:\x00[ -~]){8}`), "it is UTF-16: give it in UTF-8"},
	{regexp.MustCompile(`(?m)^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )`), "it has the form of apply_patch (*** Update File): give a unified diff, with --- and +++ lines and hunks that begin with @@"},
	{regexp.MustCompile(`(?m)^<{5,9} ?(?:SEARCH|ORIGINAL|HEAD)\b`), "it is a block of search and replace: give a unified diff"},
	{regexp.MustCompile(`(?m)^\*\*\* \d+(?:,\d+)? \*\*\*\*`), "it is a context diff: give a unified one"},
	{regexp.MustCompile(`--- [^\n]+\\n\+\+\+ [^\n]+\\n@@ `), "its line feeds are written as \\n: give real ones"},
	{regexp.MustCompile(`--- [^\n\r]+\r\+\+\+ [^\n\r]+\r@@ `), "its lines end in carriage returns alone: end them in line feeds"},
	{regexp.MustCompile(`(?m)^\d+(?:,\d+)?[acd]\d+(?:,\d+)?\r?\n[<>] `), "it is a plain diff without file names: give a unified one"},
}

// Hint returns what a text that is no unified diff is instead, as the end of a sentence, or "" if that is not known.
func Hint(text []byte) string {
	for _, h := range hints {
		if h.form.Match(text) {
			return "; " + h.says
		}
	}
	return ""
}

// changeWords match lines that report a change in another form than a hunk's.
var changeWords = []*regexp.Regexp{
	regexp.MustCompile(`^\*\*\* (?:Add|Update|Delete) File: |^\*\*\* Move to: `), // apply_patch
	regexp.MustCompile(`^Submodule \S+ (?:[0-9a-f]{4,}\.|contains )`),            // diff.submodule=log
	regexp.MustCompile(`^(?:(?:Only|Nur|Solo|Alleen) in|Seulement dans|S[oó]lo en|Somente em|Tylko w|Pouze v|Endast i|Kun i|Только в|Лише у) .+: .|^只在 .+存在[:：]|^.+のみに存在: .`), // diff -r, in its languages
	regexp.MustCompile(`^File .+ is an? .+ while file .+ is an? `), // diff -r
	regexp.MustCompile(`^(?i:(?:\pL+ ){0,2}?(?:bin[aäá]\pL*|двоичные|二进制文件|バイナリー?ファイル)) (?:.+ )?\S+[./]\S+ \pL{1,3} \S+[./]\S+ `), // diff of binary files, in its languages
	regexp.MustCompile(`^Binary file \S+ has changed$`),                                        // hg
	regexp.MustCompile(`^Property changes on: |^Cannot display: file marked as a binary type`), // svn
	regexp.MustCompile(`^\*\*\* \d+(?:,\d+)? \*\*\*\*`),                                        // a context diff
	regexp.MustCompile(`^<{7} ?(?:SEARCH|ORIGINAL|HEAD)\b`),                                    // search and replace
	regexp.MustCompile(`^\d+(?:,\d+)?[acd]\d+(?:,\d+)?$`),                                      // a plain diff
	regexp.MustCompile(`^(?:diff|Index:) .*\S`),                                                // a header whose section is missing
}

// IsChange reports whether a line outside of all hunks describes a change to a file that no hunk makes. Such a line is
// refused, because ignoring it would apply half of a patch.
func IsChange(line []byte) bool {
	line = bytes.TrimRight(line, " \t\r")
	return slices.ContainsFunc(changeWords, func(form *regexp.Regexp) bool { return form.Match(line) }) || namesTwice(line)
}

// fileWords matches two names in a sentence, each behind a prefix, as programs write of binary files in all languages.
var fileWords = regexp.MustCompile(`(?:^|\s)([a-z])/(\S+)\s.*\s([a-z])/(\S+)\s+\S`)

// namesTwice reports whether a line names the same file behind two prefixes.
func namesTwice(line []byte) bool {
	m := fileWords.FindSubmatch(line)
	return m != nil && !bytes.Equal(m[1], m[3]) && bytes.Equal(m[2], m[4])
}
