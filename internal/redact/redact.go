// Package redact takes the worker's secrets out of what is recorded or sent:
// answers, errors, logs, artifacts. It knows the values; it replaces them, also
// where they were escaped or encoded on the way, by [redacted:NAME].
//
// It cannot undo what hides a value on purpose: compression, encryption, a
// text in pieces or backwards.
package redact

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"strings"
)

// MinLength is the shortest value that is redacted. A shorter one would be
// found everywhere; it is no secret to speak of, and Short names it.
const MinLength = 8

// Secret is a value that must not be seen, and the name that stands for it.
type Secret struct{ Name, Value string }

// Redactor replaces secrets. It is immutable and safe for concurrent use; nil
// and the zero Redactor replace nothing.
type Redactor struct {
	forms  map[uint64][]form   // by their first 8 bytes, the longest first
	starts map[string]struct{} // the first 1 to 7 bytes of every form
	pairs  *[1 << 16 / 64]uint64
	short  []string
}

// form is one way in which a secret may be written.
type form struct{ text, label string }

// New makes a redactor of the secrets in environ, NAME=value as os.Environ
// gives them, and of the extra ones. A variable is a secret by its name (see
// Secrets). White space around a value does not count.
func New(environ []string, extra ...Secret) *Redactor {
	r := &Redactor{forms: map[uint64][]form{}, starts: map[string]struct{}{}, pairs: new([1 << 16 / 64]uint64)}
	known := map[string]bool{}
	for _, s := range slices.Concat(extra, Secrets(environ)) {
		value := strings.TrimSpace(s.Value)
		if len(value) < MinLength {
			if value != "" {
				r.short = append(r.short, s.Name)
			}
			continue
		}
		for _, text := range formsOf(value) {
			if !known[text] {
				known[text] = true
				r.add(form{text, label(s.Name)})
			}
		}
	}
	for _, forms := range r.forms {
		slices.SortStableFunc(forms, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return r
}

func (r *Redactor) add(f form) {
	key := binary.LittleEndian.Uint64([]byte(f.text))
	r.forms[key] = append(r.forms[key], f)
	for n := 1; n < MinLength; n++ {
		r.starts[f.text[:n]] = struct{}{}
	}
	pair := binary.LittleEndian.Uint16([]byte(f.text))
	r.pairs[pair/64] |= 1 << (pair % 64)
}

// Short names the secrets that are too short to be redacted.
func (r *Redactor) Short() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.short)
}

// Bytes returns b without the secrets; b itself when it holds none.
func (r *Redactor) Bytes(b []byte) []byte {
	if !r.holds(b) {
		return b
	}
	var s scan
	out, _ := s.run(r, make([]byte, 0, len(b)), b, true)
	return out
}

// String returns s without the secrets.
func (r *Redactor) String(s string) string {
	if r == nil || len(r.forms) == 0 {
		return s
	}
	if b := []byte(s); r.holds(b) {
		return string(r.Bytes(b))
	}
	return s
}

func (r *Redactor) holds(b []byte) bool {
	if r == nil || len(r.forms) == 0 {
		return false
	}
	for at := 0; ; at++ {
		if at = r.next(b, at); at == len(b) {
			return false
		}
		if f, _ := r.match(b[at:], true); f != nil {
			return true
		}
	}
}

// Writer returns a writer that passes on to w what it is given, without the
// secrets, wherever a Write cuts them. It holds back only what may yet become
// one; Close passes that on and does not close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{redactor: r, to: w}
}
