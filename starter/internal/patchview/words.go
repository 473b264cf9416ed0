package patchview

import (
	"unicode"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/syntax"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// changed is the class of the words in which a line differs from the one that it replaces.
const changed syntax.Class = "changed"

// markWords gives the changed words of lines that replace others, line for line, a class of their own.
func markWords(h hunks.Hunk, spans [][]syntax.Span) {
	for at := 0; at < len(h.Lines); {
		olds := countOp(h.Lines[at:], udiff.Delete)
		news := countOp(h.Lines[at+olds:], udiff.Insert)
		for i := range olds {
			if olds != news {
				break
			}
			before, after := at+i, at+olds+i
			if first, last, ok := commonEnds(h.Lines[before].Text, h.Lines[after].Text); ok {
				spans[before] = markSpan(spans[before], first, len(h.Lines[before].Text)-last)
				spans[after] = markSpan(spans[after], first, len(h.Lines[after].Text)-last)
			}
		}
		at += max(olds+news, 1)
	}
}

// countOp counts the first lines of an operation.
func countOp(lines []hunks.Line, op udiff.Op) (n int) {
	for n < len(lines) && lines[n].Op == op {
		n++
	}
	return n
}

// commonEnds returns how many bytes of whole words two lines have in common at their beginning and at their end. ok is
// false if that is less than half of either: the lines are different ones then.
func commonEnds(a, b string) (first, last int, ok bool) {
	for first < len(a) {
		word := wordAt(a[first:])
		if first >= len(b) || word != wordAt(b[first:]) {
			break
		}
		first += len(word)
	}
	for last < min(len(a), len(b))-first {
		r, size := utf8.DecodeLastRuneInString(a[:len(a)-last])
		if s, _ := utf8.DecodeLastRuneInString(b[:len(b)-last]); r != s || size > min(len(a), len(b))-first-last {
			break
		}
		last += size
	}
	for last > 0 && isWord(a[len(a)-last:]) && (endsInWord(a[:len(a)-last]) || endsInWord(b[:len(b)-last])) { // not within a word
		_, size := utf8.DecodeRuneInString(a[len(a)-last:])
		last -= size
	}
	return first, last, 2*(first+last) >= max(len(a), len(b)) && a != b
}

// wordAt returns the word, or the other character, at the beginning of a text.
func wordAt(text string) string {
	for i, r := range text {
		if isWordRune(r) {
			continue
		}
		if i == 0 {
			_, i = utf8.DecodeRuneInString(text)
		}
		return text[:i]
	}
	return text
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func isWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return isWordRune(r)
}

func endsInWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return isWordRune(r)
}

// markSpan gives the bytes of a line from one place to another the class of changed words.
func markSpan(spans []syntax.Span, from, to int) (out []syntax.Span) {
	at := 0
	for _, s := range spans {
		low, high := min(max(from-at, 0), len(s.Text)), min(max(to-at, 0), len(s.Text))
		for _, part := range []syntax.Span{{Text: s.Text[:low], Class: s.Class}, {Text: s.Text[low:max(low, high)], Class: changed}, {Text: s.Text[max(low, high):], Class: s.Class}} {
			if part.Text != "" {
				out = append(out, part)
			}
		}
		at += len(s.Text)
	}
	return out
}
