package review_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/review"
)

func TestTheWordsThatDifferAreMarked(t *testing.T) {
	page := atGate(t, review.Config{}).enter("kim").get("/runs/r1").body
	if got, want := strings.Count(page, `<span class="t-changed">`), 1; got != want {
		t.Errorf("got %d marks, want %d", got, want)
	}
	if want := `Hello</span><span class="t-changed">,</span><span class="t-string">`; !strings.Contains(page, want) {
		t.Errorf("the page has no %s", want)
	}
}
