package openclaw

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainMessage makes a message that the gateway takes for nothing but a message. The
// gateway obeys texts. A slash and a word between blanks is a command anywhere in
// the text: /elevated or /model in a quoted file would change how the turn runs. A
// text of a single word such as stop, or a text that begins with a slash or an
// exclamation mark, never reaches the model. Therefore the message begins with a
// sentence of ours, and command words are put into backquotes. The gateway's own
// switch for that needs an administrator.
func plainMessage(dir string, parts ...string) string {
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
	for word, blank := range splitWords(text) {
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

// isCommand reports whether a word is a slash and a name, which a colon may end.
func isCommand(word string) bool {
	name, ok := strings.CutPrefix(word, "/")
	name, _, _ = strings.Cut(name, ":")
	return ok && name != "" && strings.IndexFunc(name, isNoName) < 0
}

// isNoName reports whether r cannot be part of the name of a command or a model.
func isNoName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.+@", r)
}

// splitWords returns the words of a text, each with the blanks that follow it.
func splitWords(text string) iter.Seq2[string, string] {
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

// isBlank reports whether r separates words for the gateway. A byte order mark does
// too.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// textBeyond returns the part of whole after its common beginning with said, in
// whole characters.
func textBeyond(said, whole string) string {
	n := 0
	for n < min(len(said), len(whole)) && said[n] == whole[n] {
		n++
	}
	for n > 0 && n < len(whole) && !utf8.RuneStart(whole[n]) {
		n--
	}
	return whole[n:]
}
