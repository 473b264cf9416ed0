package proc

import "bytes"

// Lines is a writer that hands on one line at a time, for whoever follows a program while it runs. Close hands on the last
// one when no line end follows it.
type Lines struct {
	// Each gets a line without its end, valid until Each returns. Of a line longer than Max it gets the first Max bytes and
	// cut is true.
	Each func(line []byte, cut bool)
	Max  int // bytes of a line that are kept; zero means DefaultLine

	line []byte
	cut  bool
}

// DefaultLine is the length of a line where Lines does not say.
const DefaultLine = 1 << 20

// Write takes all of p.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		l.keep(line)
		if !ended {
			return n, nil
		}
		l.flush()
		p = rest
	}
}

// Close hands on an unfinished line.
func (l *Lines) Close() error {
	if len(l.line) > 0 {
		l.flush()
	}
	return nil
}

func (l *Lines) keep(part []byte) {
	limit := l.Max
	if limit <= 0 {
		limit = DefaultLine
	}
	if room := limit - len(l.line); len(part) > room {
		part, l.cut = part[:room], true
	}
	l.line = append(l.line, part...)
}

func (l *Lines) flush() {
	l.Each(l.line, l.cut)
	l.line, l.cut = l.line[:0], false
}
