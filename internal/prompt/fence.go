package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// Fence puts a text between lines of back-ticks that are longer than any run
// of them in the text, so that the text cannot close it. A last line without a
// line feed gets one.
func Fence(info, text string) string {
	longest, streak := 0, 0
	for _, r := range text {
		if r != '`' {
			streak = 0
			continue
		}
		streak++
		longest = max(longest, streak)
	}
	ticks := strings.Repeat("`", max(3, longest+1))
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return ticks + info + "\n" + text + ticks + "\n"
}

// codeSpan returns a short text in one line, as Markdown code that the text cannot end.
func codeSpan(text string) string { return "`" + oneLine(text, 300) + "`" }

// oneLine returns at most n bytes of a text, in one line and without back-ticks.
func oneLine(text string, n int) string {
	text = strings.Join(strings.Fields(cleanText(display.Clip(text, 4*n))), " ")
	return display.Clip(strings.ReplaceAll(text, "`", "'"), n)
}

// cleanText returns the text as valid UTF-8 with line feeds, and without control characters other than
// tabs.
func cleanText(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// showControls returns the text as cleanText does, but with its control characters and invalid bytes made visible in the
// way of package display. A judge then sees what the text has, and where its lines end.
func showControls(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		c := text[:n]
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == utf8.RuneError && n == 1 {
			c = display.Line(c)
		}
		b.WriteString(c)
		text = text[n:]
	}
	return b.String()
}

// headLines returns the first lines of a text that fit into n bytes, and the number of missing lines. It
// cuts a first line that is longer.
func headLines(text string, n int) (kept string, missing int) {
	if len(text) <= n {
		return text, 0
	}
	end := strings.LastIndexByte(text[:n], '\n') + 1
	if end == 0 {
		return strings.ToValidUTF8(text[:n], ""), countLines(text)
	}
	return text[:end], countLines(text[end:])
}

// tailLines returns the last lines of a text that fit into n bytes. It cuts a last line that is longer.
func tailLines(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	if _, whole, ok := strings.Cut(text, "\n"); ok && whole != "" {
		return whole
	}
	return strings.ToValidUTF8(text, "")
}

// countLines returns the number of lines in text.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
