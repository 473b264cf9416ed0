package redact

import (
	"encoding/binary"
	"io"
	"strings"
)

// nextStart returns the first index from at on at which a form may start.
func (r *Redactor) nextStart(b []byte, at int) int {
	for ; at+1 < len(b); at++ {
		pair := uint16(b[at]) | uint16(b[at+1])<<8
		if r.pairs[pair/64]&(1<<(pair%64)) != 0 {
			return at
		}
	}
	return at
}

// matchForm finds the longest form at the start of b. more is true if b is not final and more bytes could
// make it a longer form.
func (r *Redactor) matchForm(b []byte, final bool) (found *form, more bool) {
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

// scan is the state of reading a text. Overlapping forms are replaced as one.
type scan struct {
	covered int // number of next bytes that belong to a form already replaced
}

// scanBytes appends to out the bytes of b that may be shown and returns the bytes that have to wait.
func (s *scan) scanBytes(r *Redactor, out, b []byte, final bool) (shown, held []byte) {
	for at := 0; at < len(b); {
		if s.covered == 0 {
			start := at
			at = r.nextStart(b, at)
			out = append(out, b[start:at]...)
			if at == len(b) {
				break
			}
		}
		found, more := r.matchForm(b[at:], final)
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

// writer redacts its input.
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
	if err := w.passOn(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.passOn(nil, true)
}

// passOn redacts p and writes it, as far as it may be shown.
func (w *writer) passOn(p []byte, final bool) error {
	text := append(w.held, p...)
	shown, held := w.scan.scanBytes(w.redactor, w.out[:0], text, final)
	w.held = append(w.held[:0], held...)
	w.out = shown
	if len(shown) > 0 {
		_, w.err = w.to.Write(shown)
	}
	return w.err
}
