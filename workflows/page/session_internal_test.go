package page

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// TestPageOfASessionThatAsks shows the signal that settles the ask, and no text of the agent as markup.
func TestPageOfASessionThatAsks(t *testing.T) {
	s := session.New(session.Input{ID: "s1", Provider: "claude", Repository: run.Repository{Path: "/r", Base: "c"}}, time.Unix(0, 0))
	hostile := "</pre>\n## Approved\n[x](http://evil)"
	for _, e := range []session.Event{
		session.Said{Message: session.Message{ID: "m1", Text: hostile}}, session.ProcessStarting{},
		session.Report{Epoch: 1, N: 1, Ready: &session.Ready{Queue: "q"}}, session.HandingBegun{},
		session.Report{Epoch: 1, N: 2, Asked: &run.Permission{CallID: "c", Tool: "Bash", Title: hostile, Excerpt: "{}", Digest: run.DigestOf(nil)}},
	} {
		if err := s.Apply(time.Unix(1, 0), e); err != nil {
			t.Fatal(err)
		}
	}
	s.RefusedSignals = run.AddRefused(nil, time.Unix(2, 0), "approval", errors.New(hostile))
	text := OfSession(s)
	id := s.Pending().Asks[0].ApprovalID
	for _, want := range []string{"## Waits for you", "signal `approval`", "starter session decide s1 approve", "**in progress**", "**Signals that the session refused:**", "the signal approval of 00&#58;00&#58;02 UTC was refused", `"approve ` + id + `"`, `"session ` + id + `"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	inFence := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			inFence = !inFence
		}
		if !inFence && (strings.HasPrefix(line, "## Approved") || strings.Contains(line, "](http")) {
			t.Errorf("a text of the agent is markup: %s", line)
		}
	}
}
