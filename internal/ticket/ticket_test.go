package ticket_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/ticket"
)

func TestDecide(t *testing.T) {
	since := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	bounds := ticket.Bounds{Rounds: 3, Cost: 100, Patience: time.Hour}
	blocked := func(s *ticket.State) { s.Blocked = &ticket.Question{Key: "conflict:head"} }
	for name, tc := range map[string]struct {
		state  func(*ticket.State)
		look   func(*ticket.Look)
		expect ticket.Verdict // of a question the key alone
	}{
		"nothing to do":                        {},
		"merged":                               {look: func(l *ticket.Look) { l.Merged, l.Open = true, false }, expect: ticket.Verdict{End: ticket.Merged}},
		"closed":                               {look: func(l *ticket.Look) { l.Open = false }, expect: ticket.Verdict{End: ticket.Closed}},
		"the issue is closed":                  {look: func(l *ticket.Look) { l.IssueOpen = false }, expect: ticket.Verdict{End: ticket.Closed}},
		"feedback":                             {look: func(l *ticket.Look) { l.Feedback = []string{"a"} }, expect: ticket.Verdict{Fix: true, Again: time.Minute}},
		"feedback while a check runs":          {look: func(l *ticket.Look) { l.Feedback, l.Pending = []string{"a"}, []string{"build"} }},
		"feedback that a run has got":          {state: func(s *ticket.State) { s.Delivered = []string{"a"} }, look: func(l *ticket.Look) { l.Feedback = []string{"a"} }},
		"feedback after the last round":        {state: func(s *ticket.State) { s.Rounds = 3 }, look: func(l *ticket.Look) { l.Feedback = []string{"a"} }, expect: ticket.Verdict{End: ticket.OutOfRounds}},
		"feedback without money":               {state: func(s *ticket.State) { s.Spent = 100 }, look: func(l *ticket.Look) { l.Feedback = []string{"a"} }, expect: ticket.Verdict{End: ticket.OutOfMoney}},
		"a person pushed":                      {look: func(l *ticket.Look) { l.Head = "theirs" }, expect: ticket.Verdict{Question: &ticket.Question{Key: "head:theirs"}}},
		"a person pushed, and it was answered": {state: func(s *ticket.State) { s.Answered = []string{"head:theirs"} }, look: func(l *ticket.Look) { l.Head, l.Feedback = "theirs", []string{"a"} }},
		"another person pushed":                {state: func(s *ticket.State) { s.Answered = []string{"head:theirs"} }, look: func(l *ticket.Look) { l.Head = "others" }, expect: ticket.Verdict{Question: &ticket.Question{Key: "head:others"}}},
		"a conflict":                           {look: func(l *ticket.Look) { l.Conflicts = true }, expect: ticket.Verdict{Merge: true}},
		"a conflict that nobody can resolve":   {state: blocked, look: func(l *ticket.Look) { l.Conflicts = true }, expect: ticket.Verdict{Question: &ticket.Question{Key: "conflict:head"}}},
		"a conflict that is left to people":    {state: func(s *ticket.State) { s.Answered = []string{"conflict:head"} }, look: func(l *ticket.Look) { l.Conflicts = true }},
		"a conflict that is gone":              {state: blocked},
		"behind":                               {look: func(l *ticket.Look) { l.Behind = true }, expect: ticket.Verdict{Merge: true}},
		"behind while a check runs":            {look: func(l *ticket.Look) { l.Behind, l.Pending = true, []string{"build"} }},
		"behind, and feedback":                 {look: func(l *ticket.Look) { l.Behind, l.Feedback = true, []string{"a"} }, expect: ticket.Verdict{Fix: true, Again: time.Minute}},
		"the issue was edited":                 {look: func(l *ticket.Look) { l.Digest = "other" }, expect: ticket.Verdict{Question: &ticket.Question{Key: "issue:other"}}},
		"a check waits for a person":           {look: func(l *ticket.Look) { l.Held = []string{"Actions"} }, expect: ticket.Verdict{Question: &ticket.Question{Key: "held:head"}}},
		"no check yet":                         {look: func(l *ticket.Look) { l.Passed = 0 }, expect: ticket.Verdict{Again: 5 * time.Minute}},
		"no check after ten minutes":           {state: func(s *ticket.State) { s.Since = since.Add(-time.Hour) }, look: func(l *ticket.Look) { l.Passed = 0 }, expect: ticket.Verdict{Question: &ticket.Question{Key: "no-checks"}}},
		"feedback without a check":             {state: func(s *ticket.State) { s.Since = since.Add(-time.Hour) }, look: func(l *ticket.Look) { l.Passed, l.Feedback = 0, []string{"a"} }, expect: ticket.Verdict{Fix: true, Again: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			s := ticket.State{Head: "head", Digest: "digest", Since: since}
			l := ticket.Look{Open: true, IssueOpen: true, Head: "head", Digest: "digest", Passed: 1}
			if tc.state != nil {
				tc.state(&s)
			}
			if tc.look != nil {
				tc.look(&l)
			}
			got := s.Decide(l, bounds, since.Add(5*time.Minute))
			key := func(q *ticket.Question) string {
				if q == nil {
					return ""
				}
				return q.Key
			}
			if got.Fix != tc.expect.Fix || got.Merge != tc.expect.Merge || got.End != tc.expect.End || got.Again != tc.expect.Again || key(got.Question) != key(tc.expect.Question) {
				t.Errorf("got %+v with question %q, want %+v with %q", got, key(got.Question), tc.expect, key(tc.expect.Question))
			}
		})
	}
}

// A goal holds the issue as quoted text, fits into a run whatever the issue has, and says where it was cut.
func TestGoal(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "", "short": "Trim.\r\n\x00Now.", "many lines": strings.Repeat("a\n", 40000), "one line": strings.Repeat("ä", 40000), "no text": "\xff\xfe",
	} {
		got := ticket.Goal(7, "Trim\ntitles\x1b[2J", body)
		if len(got) > run.MaxGoalBytes || !strings.HasPrefix(got, "Resolve issue #7: Trim\n") {
			t.Errorf("%s: got %d bytes that begin %.40q", name, len(got), got)
		}
		if cut := strings.Contains(got, "only its beginning is shown"); cut != (len(body) > 30000) {
			t.Errorf("%s: it was cut: %v", name, cut)
		}
		_, quoted, _ := strings.Cut(got, "permission:\n\n")
		for line := range strings.Lines(quoted) {
			if !strings.HasPrefix(line, "> ") && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "The text is longer") {
				t.Errorf("%s: line %.40q is not quoted", name, line)
			}
		}
	}
}

// What others wrote can mention and link nothing in the comment.
func TestComment(t *testing.T) {
	s := ticket.State{Step: ticket.Waiting, Question: &ticket.Question{Text: "branch `x` @everyone\n# big"}}
	if got := s.Comment(ticket.Bounds{}); !strings.HasPrefix(got, ticket.Marker) || !strings.Contains(got, "`branch 'x' @everyone # big`") {
		t.Errorf("got %q, want the text as code", got)
	}
}
