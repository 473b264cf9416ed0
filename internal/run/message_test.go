package run_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Whatever a message says goes into an event, so each of its texts is bounded.
func TestARetryIsBoundedLikeAnAnswer(t *testing.T) {
	s := fresh(t, 3)
	told(t, s, begin, planned, begin, down, begin)
	told(t, s, s.NewQuestion())
	for name, tc := range map[string]struct {
		by   string
		want error
	}{
		"of somebody":        {"kim", nil},
		"of nobody":          {"", nil},
		"of an endless name": {strings.Repeat("x", 129), run.ErrTooLong},
	} {
		if err := s.CheckReply(run.Reply{QuestionID: s.State.PendingQuestionID, Retry: true, By: tc.by}); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
