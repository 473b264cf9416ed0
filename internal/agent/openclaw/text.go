package openclaw

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain makes a message that the gateway takes for nothing but a message. It
// obeys texts: a slash and a word between blanks is a command wherever it
// stands, and /elevated or /model in a quoted file would change how the turn
// runs; a text of a single word such as stop, or one that begins with a slash
// or an exclamation mark, never reaches the model. So the message begins with
// a sentence of ours, and such words are put into backquotes. The gateway's
// own switch for that needs an administrator.
func plain(dir string, parts ...string) string {
	var b strings.Builder
	b.WriteString("This session works in `" + dir + "`.")
	for _, part := range parts {
		if part != "" {
			b.WriteString("\n\n" + part)
		}
	}
	return quoteCommands(b.String())
}

func quoteCommands(text string) string {
	var b strings.Builder
	for word, blank := range words(text) {
		if isCommand(word) {
			name, rest, colon := strings.Cut(word, ":")
			word = "`" + name + "`"
			if colon {
				word += ":" + rest
			}
		}
		b.WriteString(word + blank)
	}
	return b.String()
}

// isCommand says whether a word is a slash and a name, which a colon may end.
func isCommand(word string) bool {
	name, ok := strings.CutPrefix(word, "/")
	name, _, _ = strings.Cut(name, ":")
	return ok && name != "" && strings.IndexFunc(name, isNoName) < 0
}

// isNoName says what no name of a command or of a model has in it.
func isNoName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.+@", r)
}

// words are the words of a text, each with the blanks that follow it.
func words(text string) iter.Seq2[string, string] {
	return func(yield func(word, blank string) bool) {
		for text != "" {
			end := strings.IndexFunc(text, isBlank)
			if end < 0 {
				end = len(text)
			}
			next := strings.IndexFunc(text[end:], func(r rune) bool { return !isBlank(r) })
			if next < 0 {
				next = len(text) - end
			}
			if !yield(text[:end], text[end:end+next]) {
				return
			}
			text = text[end+next:]
		}
	}
}

// isBlank says what parts words for the gateway: a byte order mark as well.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// beyond is what whole has beyond its common beginning with said, in whole
// characters.
func beyond(said, whole string) string {
	n := 0
	for n < min(len(said), len(whole)) && said[n] == whole[n] {
		n++
	}
	for n > 0 && n < len(whole) && !utf8.RuneStart(whole[n]) {
		n--
	}
	return whole[n:]
}
