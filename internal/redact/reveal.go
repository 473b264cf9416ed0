package redact

import "bytes"

// Reveal returns a diff whose kept and deleted lines hold the secrets again in place of their labels, so that they agree
// with a file of the repository that has held the value all along. An added line may hold a label only if a deleted line
// of the same hunk does; otherwise added is the label, and the diff must not be applied: it would put a secret, or its
// label, on the branch.
func (r *Redactor) Reveal(diff []byte) (plain []byte, added string) {
	if r == nil || !bytes.Contains(diff, []byte(labelStart)) {
		return diff, ""
	}
	lines := bytes.SplitAfter(diff, []byte("\n"))
	out := make([]byte, 0, len(diff))
	deleted := map[string]bool{} // the labels in the deleted lines of the hunk
	for i, line := range lines {
		switch {
		case bytes.HasPrefix(line, []byte("@@")):
			deleted = map[string]bool{}
			for _, l := range lines[i+1:] {
				if bytes.HasPrefix(l, []byte("@@")) || bytes.HasPrefix(l, []byte("diff --git ")) {
					break
				}
				if bytes.HasPrefix(l, []byte("-")) {
					r.replaceLabels(l, func(label string) { deleted[label] = true })
				}
			}
		case bytes.HasPrefix(line, []byte("+")):
			r.replaceLabels(line, func(label string) {
				if added == "" && !deleted[label] {
					added = label
				}
			})
		}
		out = append(out, r.replaceLabels(line, nil)...)
	}
	return out, added
}

// replaceLabels returns a line with the values in place of the labels of r, and calls each for every label. A label that
// stands for several values, or for one of several lines, stays.
func (r *Redactor) replaceLabels(line []byte, each func(label string)) []byte {
	if !bytes.Contains(line, []byte(labelStart)) {
		return line
	}
	var out []byte
	for {
		at := bytes.Index(line, []byte(labelStart))
		if at < 0 {
			return append(out, line...)
		}
		end := bytes.IndexByte(line[at:], ']')
		if end < 0 {
			return append(out, line...)
		}
		label := string(line[at : at+end+1])
		value, known := r.values[label]
		if known && each != nil {
			each(label)
		}
		out = append(out, line[:at]...)
		if value == "" {
			value = label
		}
		out, line = append(out, value...), line[at+end+1:]
	}
}
