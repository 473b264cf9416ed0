package workflows_test

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// A session is told of each wait and of the end, in batches that differ and that a session takes.
func TestASessionIsToldOfWaitsAndOfTheEnd(t *testing.T) {
	w := &fakeActivities{}
	e := env(t, w)
	approveAll(t, e)
	in := input(run.Always, 3)
	in.Tell = "s-1"
	start(e, in)
	if len(w.told) != 2 {
		t.Fatalf("told %d times: %+v", len(w.told), w.told)
	}
	seen := map[string]bool{}
	for i, want := range []string{"needs approval of: ", "status: completed"} {
		told := w.told[i]
		b := delivery.Batch{ID: told.Batch.ID, Thread: "thread", Jobs: told.Batch.Jobs, Profile: told.Batch.Profile}
		if err := b.Validate(); err != nil || told.Session != "s-1" || seen[b.ID] || !strings.HasPrefix(b.ID, "r1.evt-") {
			t.Errorf("batch %s for %s: %v", b.ID, told.Session, err)
		}
		seen[b.ID] = true
		if !b.Profile.Safe() || b.NeedsArtifact() || b.Bytes() > delivery.MaxSteerBytes {
			t.Errorf("batch %s is not to be steered: %+v", b.ID, b)
		}
		if j := b.Jobs[0]; j.ID != "r1" || j.State != delivery.JobReady || !strings.Contains(j.Summary, want) {
			t.Errorf("job %+v, want %q", j, want)
		}
	}
}

func TestAFailedRunIsToldAsFailed(t *testing.T) {
	w := &fakeActivities{verdicts: []activities.Judgement{fixable}}
	e := env(t, w)
	in := input(run.Never, 0)
	in.Tell = "s-1"
	in.Goal = strings.Repeat("long ", 2000)
	start(e, in)
	if len(w.told) != 1 {
		t.Fatalf("told %+v", w.told)
	}
	j := w.told[0].Batch.Jobs[0]
	if j.State != delivery.JobFailed || j.Reason == "" || len(j.Summary) > 3100 {
		t.Errorf("job %+v", j)
	}
}

// A run ends as it would without a session, and tells nobody unless it is asked to.
func TestARunDependsOnNoSession(t *testing.T) {
	for _, tell := range []string{"", "s-1"} {
		w := &fakeActivities{tellErr: temporal.NewNonRetryableApplicationError("session_unknown", deliveryacts.UnknownSessionError, nil)}
		e := env(t, w)
		in := input(run.Never, 3)
		in.Tell = tell
		start(e, in)
		if got := query[run.State](t, e, workflows.StateQuery).Status; got != run.Completed || (len(w.told) > 0) != (tell != "") {
			t.Errorf("tell %q: %s, told %d times", tell, got, len(w.told))
		}
	}
	in := input(run.Never, 3)
	in.Tell = "../s"
	if err := in.Validate(); err == nil || !strings.Contains(err.Error(), "session id") {
		t.Errorf("a session id that is none: %v", err)
	}
}
