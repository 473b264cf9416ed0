// Package redact removes the worker's secrets from everything that is recorded or sent: answers, errors,
// logs, artifacts. It knows the values. It replaces them by [redacted:NAME], also where they were escaped
// or encoded on the way.
//
// It cannot find a value that is hidden on purpose, by compression, by encryption, or in a text in pieces
// or backwards.
package redact

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"strings"
)

// MinLength is the length of the shortest value that is redacted. A shorter value would be
// found everywhere. It hardly protects anything, and a worker names it at its start.
const MinLength = 8

// Secret is a value that must not be shown, and the name that replaces it.
type Secret struct{ Name, Value string }

// Redactor replaces secrets. It is immutable and safe for concurrent use; nil
// and the zero Redactor replace nothing.
type Redactor struct {
	forms  map[uint64][]form   // by their first 8 bytes, the longest first
	starts map[string]struct{} // the first 1 to 7 bytes of every form
	pairs  *[1 << 16 / 64]uint64
	values map[string]string // by label; "" for a label of several values, or of several lines

	short, words []string
}

// form is one way in which a secret may be written.
type form struct{ text, label string }

// New returns a redactor of the secrets in environ, NAME=value as os.Environ
// returns them, and of the extra ones. A variable is a secret by its name (see
// FindSecrets) unless its value is made of words (see IsWord). White space around a value does not count.
func New(environ []string, extra ...Secret) *Redactor {
	r := &Redactor{forms: map[uint64][]form{}, starts: map[string]struct{}{}, pairs: new([1 << 16 / 64]uint64), values: map[string]string{}}
	known := map[string]bool{}
	for i, s := range slices.Concat(extra, FindSecrets(environ)) {
		value := strings.TrimSpace(s.Value)
		switch {
		case value == "":
			continue
		case len(value) < MinLength:
			r.short = append(r.short, s.Name)
			continue
		case i >= len(extra) && IsWord(value):
			r.words = append(r.words, s.Name)
			continue
		}
		r.addValue(s.Name, value)
		for _, text := range formsOf(value) {
			if !known[text] {
				known[text] = true
				r.addForm(form{text, labelFor(s.Name)})
			}
		}
	}
	for _, forms := range r.forms {
		slices.SortStableFunc(forms, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return r
}

// addValue notes the value of a name.
func (r *Redactor) addValue(name, value string) {
	label := labelFor(name)
	if other, ok := r.values[label]; ok && other != value || strings.Contains(value, "\n") {
		value = ""
	}
	r.values[label] = value
}

// addForm adds one form to the tables of r.
func (r *Redactor) addForm(f form) {
	key := binary.LittleEndian.Uint64([]byte(f.text))
	r.forms[key] = append(r.forms[key], f)
	for n := 1; n < MinLength; n++ {
		r.starts[f.text[:n]] = struct{}{}
	}
	pair := binary.LittleEndian.Uint16([]byte(f.text))
	r.pairs[pair/64] |= 1 << (pair % 64)
}

// WordNames returns the names of the variables whose values are words, and are not redacted for that.
func (r *Redactor) WordNames() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.words)
}

// ShortNames returns the names of the secrets that are too short to be redacted.
func (r *Redactor) ShortNames() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.short)
}

// Bytes returns b without the secrets; b itself when it holds none.
func (r *Redactor) Bytes(b []byte) []byte {
	if !r.holdsSecret(b) {
		return b
	}
	var s scan
	out, _ := s.scanBytes(r, make([]byte, 0, len(b)), b, true)
	return out
}

// String returns s without the secrets.
func (r *Redactor) String(s string) string {
	if r == nil || len(r.forms) == 0 {
		return s
	}
	if b := []byte(s); r.holdsSecret(b) {
		return string(r.Bytes(b))
	}
	return s
}

// holdsSecret reports whether b holds a secret.
func (r *Redactor) holdsSecret(b []byte) bool {
	if r == nil || len(r.forms) == 0 {
		return false
	}
	for at := 0; ; at++ {
		if at = r.nextStart(b, at); at == len(b) {
			return false
		}
		if f, _ := r.matchForm(b[at:], true); f != nil {
			return true
		}
	}
}

// Writer returns a writer that passes its input on to w without the secrets, wherever a Write cuts them.
// It holds back only bytes that may still become a secret. Close passes these on and does not close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &writer{redactor: r, to: w}
}
