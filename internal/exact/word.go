package exact

import (
	"fmt"
	"slices"
	"strings"
)

// Word sets to to the word b, or returns an error that lists the known words. What names the kind of word.
func Word[T ~string](to *T, b []byte, what string, known ...T) error {
	if !slices.Contains(known, T(b)) {
		var words []string
		for _, w := range known {
			words = append(words, string(w))
		}
		last := len(words) - 1
		return fmt.Errorf("unknown %s %q: want %s or %s", what, b, strings.Join(words[:last], ", "), words[last])
	}
	*to = T(b)
	return nil
}
