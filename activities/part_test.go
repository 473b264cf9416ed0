package activities_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// threeFiles changes log.txt, makes a directory, and renames nothing.
const threeFiles = appending + "--- /dev/null\n+++ b/new/one.txt\n@@ -0,0 +1 @@\n+1\n--- /dev/null\n+++ b/secrets/two.txt\n@@ -0,0 +1 @@\n+2\n"

func (s *fixture) takePart(of *run.Proposal, files ...string) activities.PartResult {
	s.t.Helper()
	in := activities.PartInput{Call: s.call(run.Execute), Part: run.Part{Of: *of, Files: files}, Gate: 1}
	return must[activities.PartResult](s, s.acts.TakePart, in)
}

func TestAPartIsAPatchOfItsOwn(t *testing.T) {
	s := newFixture(t)
	whole := s.propose(patching(threeFiles)).Proposal
	if len(whole.Risks) == 0 {
		t.Fatalf("the whole patch has no risk: %+v", whole)
	}
	part := s.takePart(whole, "log.txt", "new/one.txt").Proposal
	if part == nil || part.PartOf != whole.Patch.Digest || part.Patch.Digest == whole.Patch.Digest || part.Base != whole.Base || part.Summary != whole.Summary {
		t.Fatalf("%+v of %+v", part, whole)
	}
	if part.Stat != (run.Stat{Files: 2, Added: 2}) || len(part.Risks) != 0 {
		t.Errorf("stat %v, risks %q", part.Stat, part.Risks)
	}
	diff, err := s.dir().Load(part.Patch)
	if err != nil || !strings.Contains(string(diff), "+two\n") || strings.Contains(string(diff), "secrets") {
		t.Errorf("%q, %v", diff, err)
	}
	if again := s.takePart(whole, "log.txt", "new/one.txt").Proposal; again.Patch != part.Patch {
		t.Errorf("the second call made %+v, the first %+v", again.Patch, part.Patch)
	}
	if kept, err := s.dir().Load(whole.Patch); err != nil || !strings.Contains(string(kept), "secrets") {
		t.Errorf("the whole patch was lost: %q, %v", kept, err)
	}
	if got := s.git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("taking a part made %s", got)
	}
}

func TestAPartThatIsNone(t *testing.T) {
	s := newFixture(t)
	whole := s.propose(patching(threeFiles)).Proposal
	for name, files := range map[string][]string{
		"a file that the patch leaves alone": {"log.txt", "other.txt"},
		"a path that leads outside":          {"../log.txt"},
		"a directory":                        {"new"},
	} {
		if out := s.takePart(whole, files...); out.Proposal != nil || out.Refusal == nil || out.Refusal.Code != activities.PartError {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// A part is taken from the recorded bytes. Bytes that were changed since are not.
func TestAPartIsTakenFromTheRecordedPatch(t *testing.T) {
	s := newFixture(t)
	whole := s.propose(patching(threeFiles)).Proposal
	s.leave()
	if out := s.takePart(whole, "log.txt"); out.Proposal != nil || out.Refusal == nil || out.Refusal.Code != activities.ArtifactError {
		t.Errorf("%+v", out)
	}
}
