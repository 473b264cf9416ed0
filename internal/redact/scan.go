package redact

import (
	"encoding/binary"
	"io"
	"strings"
)

// next returns the first place from at on where a form may start.
func (r *Redactor) next(b []byte, at int) int {
	for ; at+1 < len(b); at++ {
		pair := uint16(b[at]) | uint16(b[at+1])<<8
		if r.pairs[pair/64]&(1<<(pair%64)) != 0 {
			return at
		}
	}
	return at
}

// match finds the longest form that b starts with. Unless b is final, more is
// true when a longer one may show when b goes on.
func (r *Redactor) match(b []byte, final bool) (found *form, more bool) {
	if len(b) < MinLength {
		_, starts := r.starts[string(b)]
		return nil, starts && !final
	}
	forms := r.forms[binary.LittleEndian.Uint64(b)]
	for i := range forms {
		text := forms[i].text
		if len(text) > len(b) {
			more = more || !final && strings.HasPrefix(text, string(b))
		} else if string(b[:len(text)]) == text {
			return &forms[i], more
		}
	}
	return nil, more
}

// scan is where a text is read. Forms that overlap are covered as one.
type scan struct {
	covered int // how many of the coming bytes belong to a form already replaced
}

// run appends to out what may be shown of b and returns what has to wait.
func (s *scan) run(r *Redactor, out, b []byte, final bool) (shown, held []byte) {
	for at := 0; at < len(b); {
		if s.covered == 0 {
			start := at
			at = r.next(b, at)
			out = append(out, b[start:at]...)
			if at == len(b) {
				break
			}
		}
		found, more := r.match(b[at:], final)
		if more {
			return out, b[at:]
		}
		if found != nil && len(found.text) > s.covered {
			if s.covered == 0 {
				out = append(out, found.label...)
			}
			s.covered = len(found.text)
		}
		if s.covered > 0 {
			s.covered--
		} else {
			out = append(out, b[at])
		}
		at++
	}
	return out, nil
}

type writer struct {
	redactor *Redactor
	to       io.Writer
	scan     scan
	held     []byte
	out      []byte
	err      error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.redactor == nil || len(w.redactor.forms) == 0 {
		return w.to.Write(p)
	}
	if err := w.pass(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.pass(nil, true)
}

func (w *writer) pass(p []byte, final bool) error {
	text := append(w.held, p...)
	shown, held := w.scan.run(w.redactor, w.out[:0], text, final)
	w.held = append(w.held[:0], held...)
	w.out = shown
	if len(shown) > 0 {
		_, w.err = w.to.Write(shown)
	}
	return w.err
}
