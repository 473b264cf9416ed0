package udiff

import "strings"

// UnquoteName reads a C-quoted name at the beginning of s and returns the text after it.
func UnquoteName(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			c, n, ok := unescapeByte(s[i+1:])
			if !ok {
				return "", "", false
			}
			b.WriteByte(c)
			i += n
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// unescapeByte reads the text after a backslash and returns the byte and the length read.
func unescapeByte(s string) (c byte, n int, ok bool) {
	if s == "" {
		return 0, 0, false
	}
	switch s[0] {
	case 'a':
		return '\a', 1, true
	case 'b':
		return '\b', 1, true
	case 'f':
		return '\f', 1, true
	case 'n':
		return '\n', 1, true
	case 'r':
		return '\r', 1, true
	case 't':
		return '\t', 1, true
	case 'v':
		return '\v', 1, true
	case '"', '\\':
		return s[0], 1, true
	}
	if len(s) < 3 {
		return 0, 0, false
	}
	v := 0
	for _, d := range []byte(s[:3]) {
		if d < '0' || d > '7' {
			return 0, 0, false
		}
		v = v*8 + int(d-'0')
	}
	return byte(v), 3, v < 256
}

// QuoteName returns a name as git writes it in a header: unchanged, or in double quotes with octal escapes
// if it holds a quote, a backslash, a control character or a byte over 127.
func QuoteName(name string) string {
	plain := true
	for i := range len(name) {
		c := name[i]
		plain = plain && c >= ' ' && c < 0x7f && c != '"' && c != '\\'
	}
	if plain {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		quoteByte(&b, name[i])
	}
	b.WriteByte('"')
	return b.String()
}

func quoteByte(b *strings.Builder, c byte) {
	switch {
	case c == '"' || c == '\\':
		b.WriteByte('\\')
		b.WriteByte(c)
	case c == '\t':
		b.WriteString(`\t`)
	case c == '\n':
		b.WriteString(`\n`)
	case c == '\r':
		b.WriteString(`\r`)
	case c < ' ' || c >= 0x7f:
		b.WriteByte('\\')
		b.WriteByte('0' + c>>6)
		b.WriteByte('0' + c>>3&7)
		b.WriteByte('0' + c&7)
	default:
		b.WriteByte(c)
	}
}
