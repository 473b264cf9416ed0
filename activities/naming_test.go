package activities_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// TestACommitIsKnownWhateverItsMessageSays applies a patch on a branch of another name with a message by a
// template, and again with another date, as a worker does after the engine's database was restored: the commit
// of the first is found by its tree and its trailers.
func TestACommitIsKnownWhateverItsMessageSays(t *testing.T) {
	s := newFixture(t)
	s.branch = "agents/mend-it-r1"
	h := s.place()
	s.prepare()
	in := s.applying(s.propose(patching(appending)).Proposal)
	input := run.Input{RunID: h.RunID, Goal: "Mend it", Naming: run.Naming{Message: "SHOP: {summary}\n\nGoal: {goal}\n\nRefs: {slug}"}}
	in.Message = input.CommitMessage(1, in.Message)
	first := must[activities.ApplyResult](s, s.acts.Apply, in)
	later := in
	later.Time = noon.Add(time.Hour)
	if second := must[activities.ApplyResult](s, s.acts.Apply, later); first.Refusal != nil || !reflect.DeepEqual(first, second) {
		t.Fatalf("%+v\n%+v", first, second)
	}
	if got := s.git("rev-parse", h.Branch); got != string(first.Commit) || s.git("for-each-ref", "refs/heads/ratchet/") != "" {
		t.Errorf("%s is at %s, not at %s, or there is another branch", h.Branch, got, first.Commit)
	}
	message := s.git("log", "-1", "--format=%B", h.Branch)
	if !strings.HasPrefix(message, "SHOP: append a line\n\nGoal: Mend it\n\nRefs: mend-it\n\nRatchet-Run: r1\nRatchet-Iteration: 1\nRatchet-Patch: ") {
		t.Errorf("%q", message)
	}
	if got := s.git("log", "-1", "--format=%(trailers:key=Ratchet-Run,valueonly)", h.Branch); strings.TrimSpace(got) != "r1" {
		t.Errorf("git reads the trailer as %q", got)
	}
}
