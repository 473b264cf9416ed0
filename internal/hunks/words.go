package hunks

import (
	"unicode"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// ChangedWords returns for each line the bytes, from and to, in which it differs from the line that it replaces or that
// replaces it; none where lines are not replaced one for one, or have less than half in common.
func ChangedWords(lines []Line) [][2]int {
	parts := make([][2]int, len(lines))
	for at := 0; at < len(lines); {
		olds := countOp(lines[at:], udiff.Delete)
		news := countOp(lines[at+olds:], udiff.Insert)
		for i := range olds {
			if olds != news {
				break
			}
			before, after := at+i, at+olds+i
			if first, last, ok := commonEnds(lines[before].Text, lines[after].Text); ok {
				parts[before] = [2]int{first, len(lines[before].Text) - last}
				parts[after] = [2]int{first, len(lines[after].Text) - last}
			}
		}
		at += max(olds+news, 1)
	}
	return parts
}

// countOp counts the first lines of an operation.
func countOp(lines []Line, op udiff.Op) (n int) {
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
