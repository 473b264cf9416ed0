package delivery_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// A closed batch keeps the beginning of its words, and is told from every other batch with its id.
func TestAClosedBatchIsKnownByItsWords(t *testing.T) {
	h := fresh(t, delivery.StrictSafe)
	long := batch("b9")
	long.Jobs[0].Summary = "four tests fail:\n" + strings.Repeat("é<\n", 1000)
	long.Jobs = append(long.Jobs, delivery.Job{ID: "more", State: delivery.JobFailed, Reason: "no", Artifacts: []delivery.Artifact{{Name: "log"}}})
	h.do(delivery.Enqueued{Batch: long}, delivery.Closed{Batch: "b9", Reason: delivery.Cancelled, By: "ann", Note: "not needed"})
	kept := copied(t, h.s).Known("b9") // a continued workflow has it, too
	if kept == nil || kept.Close != delivery.Cancelled || kept.By != "ann" || kept.Note != "not needed" {
		t.Fatalf("kept %+v", kept)
	}
	if j := kept.Batch.Jobs; len(j) != 2 || !strings.HasPrefix(j[0].Summary, "four tests fail") || len(j[0].Summary) > 200 || j[1].ID != "more" || j[1].State != delivery.JobFailed {
		t.Errorf("kept of its words %+v", j)
	}
	if !kept.SameContent(long) {
		t.Error("the same batch is another one")
	}
	other := long
	other.Jobs = append([]delivery.Job(nil), long.Jobs...)
	other.Jobs[1].Reason = "yes"
	if kept.SameContent(other) {
		t.Error("a batch with another word is the same")
	}
	h.refuses(delivery.Enqueued{Batch: long})
}
