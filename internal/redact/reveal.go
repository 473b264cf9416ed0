package redact

import "bytes"

// Reveal returns a diff with the secrets in place of their labels, so that it agrees with a file of the repository that has
// held a value all along. A label that stands for several values, or for one of several lines, stays. What is made of the
// result must be judged by Adds, and no text of it may be recorded before it is redacted again.
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
