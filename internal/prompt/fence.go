package prompt

import (
	"fmt"
	"strings"
	"unicode"
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

// span is a short text in one line, as code that it cannot leave.
func span(text string) string { return "`" + oneLine(text, 300) + "`" }

// oneLine is at most n bytes of a text, in one line and without back-ticks.
func oneLine(text string, n int) string {
	text = strings.Join(strings.Fields(clean(clip(text, 4*n))), " ")
	return clip(strings.ReplaceAll(text, "`", "'"), n)
}

// clean returns the text as valid UTF-8 with line feeds, and without other
// control characters than tabs.
func clean(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// clip returns at most n bytes of a line.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// head returns the first lines of a text that fit into n bytes, and how many
// lines are missing then. A first line that is longer is cut.
func head(text string, n int) (kept string, missing int) {
	if len(text) <= n {
		return text, 0
	}
	end := strings.LastIndexByte(text[:n], '\n') + 1
	if end == 0 {
		return strings.ToValidUTF8(text[:n], ""), lines(text)
	}
	return text[:end], lines(text[end:])
}

// tail returns the last lines of a text that fit into n bytes; a last line
// that is longer is cut.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	if _, whole, ok := strings.Cut(text, "\n"); ok && whole != "" {
		return whole
	}
	return strings.ToValidUTF8(text, "")
}

func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
