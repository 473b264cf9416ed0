package syntax

// Changed is the class of the words in which a line differs from another. Mark gives it.
const Changed Class = "changed"

// Mark gives the bytes of a line from one place to another the class Changed.
func Mark(spans []Span, from, to int) []Span {
	if from >= to {
		return spans
	}
	var out []Span
	at := 0
	for _, s := range spans {
		low, high := min(max(from-at, 0), len(s.Text)), min(max(to-at, 0), len(s.Text))
		for _, part := range []Span{{s.Text[:low], s.Class}, {s.Text[low:high], Changed}, {s.Text[high:], s.Class}} {
			if part.Text != "" {
				out = append(out, part)
			}
		}
		at += len(s.Text)
	}
	return out
}
