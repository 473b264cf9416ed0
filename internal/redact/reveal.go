package redact

import "bytes"

// Reveal returns a diff with secrets in place of their labels, so that it fits a file of the repository that already holds
// the values. A label for several values, or for a value of several lines, stays. The caller must pass the resulting
// change to Adds, and must redact any text of it before recording it.
func (r *Redactor) Reveal(diff []byte) []byte {
	if r == nil {
		return diff
	}
	for label, value := range r.values {
		if value != "" {
			diff = bytes.ReplaceAll(diff, []byte(label), []byte(value))
		}
	}
	return diff
}

// Adds returns the label of a secret that after holds more often than before, as it is, encoded or as its label; empty if
// there is none.
func (r *Redactor) Adds(before, after []byte) (label string) {
	if r == nil {
		return ""
	}
	before, after = r.Bytes(before), r.Bytes(after)
	for label := range r.values {
		if bytes.Count(after, []byte(label)) > bytes.Count(before, []byte(label)) {
			return label
		}
	}
	return ""
}
