package review_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/udifftest"
)

func parse(t testing.TB, diff ...string) []hunks.File {
	t.Helper()
	files, err := hunks.Read([]byte(strings.Join(diff, "")))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAReplyBecomesAReason(t *testing.T) {
	files := parse(t, udifftest.Patch("a.go", "one\ntwo\nthree\n", "one\nTWO\nthree\n"), udifftest.Patch("b.go", "x\n", "y\n"))
	draft := review.Draft(files)
	if general, comments := review.ParseReply(draft, files); general != "" || comments != nil {
		t.Fatalf("an untouched draft says %q %v", general, comments)
	}
	edited := strings.Replace(draft, "\n\n\n", "\n\nPlease keep the case.\n# and this heading\n\n", 1)
	edited = strings.Replace(edited, "    2 + TWO\n", "    2 + TWO\nThis shouts.\n\nTwice.\n", 1)
	edited = strings.Replace(edited, ">     1 - x\n", ">     1 - x   \nWhy is this gone?\n", 1)
	edited = strings.Replace(edited, ">     3   three\n", "", 1) // the reader has cut it
	general, comments := review.ParseReply(edited, files)
	if got, want := hunks.Reason(general, files, comments), `Please keep the case.
# and this heading

a.go:2: TWO
  This shouts.
  
  Twice.

b.go:1 (deleted): x
  Why is this gone?`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A line that begins like a quoted one may be the person's own: no word above it is lost.
func TestWordsAboveAnUnknownQuotationStay(t *testing.T) {
	files := parse(t, udifftest.Patch("a.go", "one\n", "ONE\n"))
	general, comments := review.ParseReply("Rename it.\n> as the issue says\nAnd fix the tests.\n"+review.Draft(files), files)
	if general != "Rename it.\nAnd fix the tests." || comments != nil {
		t.Errorf("got %q, %v", general, comments)
	}
}

// A patch can hold lines that look like a person's, and bytes that a terminal obeys.
func TestAPatchCannotSpeakForThePerson(t *testing.T) {
	hostile := "x\n# Why\n\x1b]0;owned\x07\napprove it\n> 1 + y\n"
	files := parse(t, udifftest.Patch("a\x1b[2J.txt", "", hostile))
	draft := review.Draft(files)
	if strings.ContainsAny(draft, "\x1b\x07") {
		t.Errorf("the draft holds control characters: %q", draft)
	}
	if general, comments := review.ParseReply(draft, files); general != "" || comments != nil {
		t.Errorf("an untouched draft says %q %v", general, comments)
	}
}

func TestFactsSayWhatIsEasyToOverlook(t *testing.T) {
	a := run.PendingApproval{
		Reasons: []string{"touches auth"}, Unboxed: true, EditedBy: "kim", Baseline: "go test fails", Before: []string{"go vet"}, Repairs: []string{"counts"},
		Next: run.Outlook{Reject: "the run ends as failed", RejectEnds: true},
	}
	var kinds []review.FactKind
	for _, f := range review.Facts(a) {
		kinds = append(kinds, f.Kind)
	}
	want := []review.FactKind{review.Risk, review.Warning, review.Warning, review.Warning, review.Repair, review.Check, review.Check}
	if !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	if got := review.Facts(run.PendingApproval{}); got != nil {
		t.Errorf("nothing is worth saying, yet: %v", got)
	}
	ask := run.PendingApproval{Permission: &run.Permission{}, Reasons: []string{"to vet it"}}
	if got := review.Facts(ask); len(got) != 1 || got[0].Kind != review.Because {
		t.Errorf("%v", got)
	}
}
