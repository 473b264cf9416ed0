package toolcall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Within returns the call with the paths below a directory in the form of ShortenPaths.
func (c Call) Within(dir string) Call {
	c.Command, c.Target = ShortenPaths(c.Command, dir), ShortenPaths(c.Target, dir)
	c.Rest = slices.Clone(c.Rest)
	for i := range c.Rest {
		c.Rest[i].Value = ShortenPaths(c.Rest[i].Value, dir)
	}
	return c
}

// ShortenPaths returns a text for people, in which paths below the directory are relative to it. It leaves a path alone
// that would mean another one then: one that leads out of the directory, or that a shell changes.
func ShortenPaths(text, dir string) string {
	if len(dir) < 2 {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, dir)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		before, rest := text[:i], text[i+len(dir):]
		b.WriteString(before)
		last, _ := utf8.DecodeLastRuneInString(b.String())
		if short, took, ok := shortPath(rest); ok && (b.Len() == 0 || !isOfPath(last)) {
			b.WriteString(short)
			text = rest[took:]
			continue
		}
		b.WriteString(dir)
		text = rest
	}
}

// shortPath returns what stands for the directory and the bytes of rest that belong to it, by what follows it.
func shortPath(rest string) (short string, took int, ok bool) {
	below, isBelow := strings.CutPrefix(rest, "/")
	first, _ := utf8.DecodeRuneInString(below)
	switch {
	case below == "" || strings.ContainsRune(" \t\n'\"`);&|,:", first):
		return ".", 0, true
	case !isBelow || first != '_' && first != '.' && !unicode.IsLetter(first) && !unicode.IsDigit(first):
		return "", 0, false
	}
	name := below
	if end := strings.IndexFunc(below, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`);&|", r) }); end >= 0 {
		name = below[:end]
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", 0, false
	}
	return "", 1, true
}

// isOfPath reports whether a path may begin with r.
func isOfPath(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-~$}*?", r)
}
