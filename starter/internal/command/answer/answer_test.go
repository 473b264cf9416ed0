package answer

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestATextAloneThatNamesARunIsNoAnswer(t *testing.T) {
	const id run.ID = "01934d2e-7f1a-7c3b-9a44-0c5d1e2f3a4b"
	for _, tt := range []struct {
		name, text string
		id         run.ID
		want       bool
	}{
		{"a run's name", "slug#14", id, true},
		{"the id", string(id), id, true},
		{"the id among blanks", " " + string(id) + "\n", id, true},
		{"the workflow's id", "run-" + string(id), id, true},
		{"the beginning of the id", "01934d2e", id, true},
		{"the beginning of the workflow's id", "run-01934d2e-7f", id, true},
		{"an id that was chosen", "nightly", "nightly", true},
		{"an id with the word of a workflow", "run-nightly", "run-nightly", true},
		{"a beginning that may be a word", "01934d2", id, false},
		{"the beginning of a chosen id that may be a word", "night", "nightly", false},
		{"another id", "01934d2e-8000", id, false},
		{"a longer text", "01934d2e is the commit to take", id, false},
		{"a number that begins the id", "20000000", "20000000-7f1a-7c3b-9a44-0c5d1e2f3a4b", false},
		{"a beginning like a number with an exponent", "01934234e5", "01934234e5-7f1a", true},
		{"a budget in dollars", "2.50", id, false},
		{"a word", "round half up", id, false},
		{"a word of the workflow's id alone", "run-", id, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := namesRun(tt.text, tt.id); got != tt.want {
				t.Errorf("namesRun(%q, %s) is %t", tt.text, tt.id, got)
			}
		})
	}
}
