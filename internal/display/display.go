// Package display makes text safe to show: every character that a terminal obeys, or that deceives a
// reader, becomes visible. Paths, diffs, answers and messages pass through it on their way to a person.
package display

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Line returns a path, or any other text of one line, with every character made visible that a terminal
// obeys or that deceives a reader: <U+202E> for a character, <0x9B> for a byte that is not UTF-8. Letters
// of other alphabets that share a word with Latin letters are shown in the same way.
func Line(s string) string { return makeVisible(s, "") }

// OneLine returns a text on one line, with every character made visible as Line does, in at most so many characters.
func OneLine(text string, most int) string {
	line := []rune(Line(strings.Join(strings.Fields(text), " ")))
	if len(line) > most {
		line = append(line[:most-1], '…')
	}
	return string(line)
}

// FirstLine returns the first line of a text that is not blank, without the blanks around it.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// Clip returns a text of at most so many bytes, with an ellipsis at the end if it was cut. Bytes that are not UTF-8
// become question marks.
func Clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// Count returns a number and its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Age returns the time since an event in its largest unit: 12s, 3m, 2h, 5d.
func Age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// JSON returns JSON that a terminal can show. Every character that Line makes visible becomes a
// \u escape, which means the same to a program. Line feeds stay.
func JSON(raw []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(raw))
	for len(raw) > 0 {
		c, n := utf8.DecodeRune(raw)
		switch {
		case c == utf8.RuneError && n == 1:
			b.WriteString(`\ufffd`)
		case c < utf8.RuneSelf && c != 0x7f, !unicode.IsControl(c) && !IsDeceptive(c):
			b.Write(raw[:n])
		case c > 0xffff:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
		raw = raw[n:]
	}
	return b.Bytes()
}

// Code returns one line of a program's text, made visible in the way of Line. Tabs stay.
func Code(s string) string { return makeVisible(s, "\t") }

// wrapAt is the number of characters of a line before it is broken.
const wrapAt = 400

// Text returns a diff, or any other text of several lines, made visible in the way of Line. Line
// feeds and tabs stay. A line of more than 400 characters continues on a line that begins with "⋯ ", so
// that nothing hides beyond the edge.
func Text(text []byte) string {
	return Wrap(makeVisible(string(text), "\n\t"), wrapAt)
}

// Wrap breaks lines of more than width characters. A broken line continues on a line that begins with
// "⋯ ", and that has as many characters of the text.
func Wrap(text string, width int) string {
	var b strings.Builder
	b.Grow(len(text))
	column := 0
	for _, r := range text {
		if r == '\n' {
			column = -1
		} else if column == width {
			b.WriteString("\n⋯ ")
			column = 0
		}
		b.WriteRune(r)
		column++
	}
	return b.String()
}

// makeVisible returns s with every deceptive or control character escaped, except for the characters in keep.
func makeVisible(s, keep string) string {
	if isPlain(s, keep) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		word := wordEnd(s)
		if word == 0 {
			_, word = utf8.DecodeRuneInString(s)
		}
		mixed := mixesAlphabets(s[:word])
		for i := 0; i < word; {
			r, n := utf8.DecodeRuneInString(s[i:])
			writeEscaped(&b, s[i:i+n], r, mixed, keep)
			i += n
		}
		s = s[word:]
	}
	return b.String()
}

// writeEscaped writes the character r, or the invalid byte raw, in the form that visible gives it.
func writeEscaped(b *strings.Builder, raw string, r rune, mixed bool, keep string) {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		b.WriteString(fmt.Sprintf("<0x%02X>", raw[0])) // workflows show texts, too, and Fprintf is beyond what workflowcheck admits
	case strings.ContainsRune(keep, r):
		b.WriteString(raw)
	case unicode.IsControl(r), IsDeceptive(r), mixed && r > unicode.MaxASCII && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r):
		b.WriteString(fmt.Sprintf("<U+%04X>", r))
	default:
		b.WriteString(raw)
	}
}

// isPlain reports whether s consists of printable ASCII and the characters in keep.
func isPlain(s, keep string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && !strings.ContainsRune(keep, rune(c)) {
			return false
		}
	}
	return true
}

// wordEnd returns the length of the run of letters at the beginning of s.
func wordEnd(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) {
			return i
		}
	}
	return len(s)
}

// mixesAlphabets reports whether word has Latin letters and letters of an alphabet that look like Latin
// ones.
func mixesAlphabets(word string) bool {
	latin, other := false, false
	for _, r := range word {
		latin = latin || unicode.Is(unicode.Latin, r)
		other = other || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
	}
	return latin && other
}

// IsDeceptive reports whether r is invisible, or changes how the characters around it are shown.
func IsDeceptive(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x2800, r == 0x3164, r == 0xffa0:
		return true // a mark or a letter, yet invisible
	}
	return unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Co)
}

// Path quotes a path that would not be one line of plain text.
func Path(p string) string {
	if q := strconv.Quote(p); q != `"`+p+`"` {
		return q
	}
	return p
}
