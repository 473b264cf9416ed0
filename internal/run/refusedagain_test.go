package run_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestRefusedAgain(t *testing.T) {
	refusal, note := func(text string) run.Guidance { return run.Guidance{Kind: run.FromRefusal, Text: text} }, run.Guidance{Kind: run.FromAnswer, Text: "a"}
	for name, tt := range map[string]struct {
		guidance []run.Guidance
		want     bool
	}{
		"none":              {nil, false},
		"one":               {[]run.Guidance{refusal("a")}, false},
		"two":               {[]run.Guidance{note, refusal("a"), refusal("a")}, true},
		"two reasons":       {[]run.Guidance{refusal("a"), refusal("b")}, false},
		"an answer between": {[]run.Guidance{refusal("a"), note, refusal("a")}, false},
		"two answers":       {[]run.Guidance{note, note}, false},
	} {
		s := run.Snapshot{Guidance: tt.guidance}
		if got := s.RefusedAgain(); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
