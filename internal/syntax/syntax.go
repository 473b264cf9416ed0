// Package syntax distinguishes keywords, strings, comments and numbers of a program's text, for display. It
// changes no byte: the spans of a line are the line. What it does not know, or takes too long to know, is
// plain text.
package syntax

import (
	"path"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Class is what a span of text is.
type Class string

// The classes. A name of a function or a type is plain.
const (
	Plain   Class = ""
	Keyword Class = "keyword"
	String  Class = "string"
	Comment Class = "comment"
	Number  Class = "number"
)

// Span is a part of a line.
type Span struct {
	Text  string
	Class Class
}

// The bounds of a text whose classes are looked for. The text of a patch is a model's, and an expression
// of a lexer may take long for a text that is made for it.
const (
	maxBytes = 256 << 10
	maxLine  = 4 << 10
	maxTime  = 300 * time.Millisecond
)

// Lines returns the spans of each line of a text in the language that the file's name stands for. Lines have no
// line feeds.
func Lines(name string, lines []string) [][]Span {
	if spans, ok := classifyLines(name, lines); ok {
		return spans
	}
	spans := make([][]Span, len(lines))
	for i, l := range lines {
		spans[i] = []Span{{Text: l}}
	}
	return spans
}

// classifyLines returns the spans; ok is false if they are not known, or are not the text.
func classifyLines(name string, lines []string) (spans [][]Span, ok bool) {
	defer func() {
		if recover() != nil { // a lexer of the library that fails on this text
			spans, ok = nil, false
		}
	}()
	size := 0
	for _, l := range lines {
		if size += len(l) + 1; len(l) > maxLine || size > maxBytes {
			return nil, false
		}
	}
	lexer := lexers.Match(path.Base(name))
	if lexer == nil || len(lines) == 0 {
		return nil, false
	}
	text := strings.Join(lines, "\n") + "\n" // a comment ends with its line
	// Not by chroma.Coalesce: where a rule of a lexer matches nothing, again and again, it does not return.
	next, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: false}, text)
	if err != nil {
		return nil, false
	}
	spans = make([][]Span, 1, len(lines))
	for t, end := next(), time.Now().Add(maxTime); t != chroma.EOF; t = next() {
		if time.Now().After(end) {
			return nil, false
		}
		for i, part := range strings.Split(t.Value, "\n") {
			if i > 0 {
				spans = append(spans, nil)
			}
			if part != "" {
				last := len(spans) - 1
				spans[last] = addSpan(spans[last], Span{part, classOf(t.Type)})
			}
		}
	}
	spans = spans[:len(spans)-1] // behind the last line feed is nothing
	return spans, areLines(spans, lines)
}

// addSpan adds a span to a line, as one with the last where both are of a class.
func addSpan(line []Span, s Span) []Span {
	if last := len(line) - 1; last >= 0 && line[last].Class == s.Class {
		line[last].Text += s.Text
		return line
	}
	return append(line, s)
}

// areLines reports whether the spans are the lines, byte by byte.
func areLines(spans [][]Span, lines []string) bool {
	if len(spans) != len(lines) {
		return false
	}
	for i, l := range lines {
		for _, s := range spans[i] {
			rest, ok := strings.CutPrefix(l, s.Text)
			if !ok {
				return false
			}
			l = rest
		}
		if l != "" {
			return false
		}
	}
	return true
}

func classOf(t chroma.TokenType) Class {
	switch {
	case t.InCategory(chroma.Keyword):
		return Keyword
	case t.InCategory(chroma.Comment):
		return Comment
	case t.InSubCategory(chroma.LiteralString):
		return String
	case t.InSubCategory(chroma.LiteralNumber):
		return Number
	}
	return Plain
}
