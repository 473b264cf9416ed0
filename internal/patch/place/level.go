package place

import (
	"bytes"
	"unicode/utf8"
)

// appendKey appends the key of line at level l to buf. Lines that are alike at l have the same key.
func (l Level) appendKey(buf, line []byte) []byte {
	switch l {
	case Exact:
		return append(buf, line...)
	case LineEnds:
		return append(buf, bytes.TrimRight(line, "\r")...)
	case Trailing:
		return append(buf, bytes.TrimRight(line, " \t\r\f\v")...)
	case Blanks:
		return squeezeBlanks(buf, line)
	}
	return plainPunctuation(buf, squeezeBlanks(nil, line))
}

// squeezeBlanks appends line without the blanks at its ends and with one space for every run of blanks.
func squeezeBlanks(buf, line []byte) []byte {
	gap := false
	start := len(buf)
	for _, c := range line {
		if c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' {
			gap = true
			continue
		}
		if gap && len(buf) > start {
			buf = append(buf, ' ')
		}
		gap = false
		buf = append(buf, c)
	}
	return buf
}

// plainPunctuation appends line with typographic quotes, dashes, ellipses and spaces replaced by the typed
// characters.
func plainPunctuation(buf, line []byte) []byte {
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch r {
		case '\u2018', '\u2019', '\u201a', '\u201b', '\u2032':
			buf = append(buf, '\'')
		case '\u201c', '\u201d', '\u201e', '\u201f', '\u2033':
			buf = append(buf, '"')
		case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
			buf = append(buf, '-')
		case '\u2026':
			buf = append(buf, "..."...)
		case '\u00a0', '\u2002', '\u2003', '\u2007', '\u2009', '\u202f', '\u3000':
			buf = append(buf, ' ')
		default:
			buf = append(buf, line[:n]...)
		}
		line = line[n:]
	}
	return buf
}
