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

// twoHunks changes long.txt at its beginning and at its end.
const twoHunks = "--- a/long.txt\n+++ b/long.txt\n@@ -1,2 +1,3 @@\n+zero\n 1\n 2\n@@ -19,2 +20,3 @@\n 19\n 20\n+21\n"

func TestHunksAreAPatchOfTheirOwn(t *testing.T) {
	s := newFixture(t)
	s.write("long.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n")
	s.git("add", ".")
	s.git("commit", "-q", "-m", "long")
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
	whole := s.propose(patching(twoHunks)).Proposal
	in := activities.PartInput{Call: s.call(run.Execute), Part: run.Part{Of: *whole, Hunks: []run.HunkChoice{{File: "long.txt", Numbers: []int{2}}}}, Gate: 1}
	part := must[activities.PartResult](s, s.acts.TakePart, in).Proposal
	if part == nil || part.Stat != (run.Stat{Files: 1, Added: 1}) || part.PartOf != whole.Patch.Digest || part.EditedBy != "" || len(part.Repairs) > 0 {
		t.Fatalf("%+v", part)
	}
	if diff, err := s.dir().Load(part.Patch); err != nil || !strings.Contains(string(diff), "+21\n") || strings.Contains(string(diff), "zero") {
		t.Errorf("%q, %v", diff, err)
	}
	in.Part.Hunks[0].Numbers = []int{3}
	if out := must[activities.PartResult](s, s.acts.TakePart, in); out.Refusal == nil || out.Refusal.Message != "long.txt has no hunk 3: the patch has 2 there" {
		t.Errorf("a hunk that is not there: %+v", out.Refusal)
	}
}

// An edit by hand is placed as a model's patch is: its line counts need not fit. It is kept as it would be applied.
func TestAnEditIsPlacedAndKept(t *testing.T) {
	s := newFixture(t)
	whole := s.propose(patching(threeFiles)).Proposal
	edit := func(text string) activities.EditResult {
		return must[activities.EditResult](s, s.acts.KeepEdit, activities.EditInput{Call: s.call(run.Execute), Of: *whole, Patch: text, Gate: 1})
	}
	out := edit("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n one\n+two, by hand\n+three\n")
	if out.Edit == nil {
		t.Fatalf("%+v", out.Refusal)
	}
	in := activities.PartInput{Call: s.call(run.Execute), Part: run.Part{Of: *whole, Edit: out.Edit, By: "kim"}, Gate: 1}
	p := must[activities.PartResult](s, s.acts.TakePart, in).Proposal
	if p == nil || p.EditedBy != "kim" || p.PartOf != whole.Patch.Digest || p.Stat != (run.Stat{Files: 1, Added: 2}) || p.Patch.Digest != out.Edit.Digest {
		t.Fatalf("%+v of %+v", p, out.Edit)
	}
	kept, err := s.dir().Load(whole.Patch)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"the same changes":         string(kept),
		"lines that are not there": "--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n uno\n+two\n",
		"no patch":                 "no\n",
		"a path outside":           "--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+1\n",
	} {
		if out := edit(text); out.Refusal == nil || out.Refusal.Message == "" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
