package workflows_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

func payload(err *workflow.ContinueAsNewError, in *workflows.RunInput) error {
	return converter.GetDefaultDataConverter().FromPayloads(err.Input, in)
}

// moves are what may happen to a run under approval, in any order. Each gets
// the ids that were ever pending, the current one last.
var moves = map[string]func(e approver, ids []string){
	"approve": func(e approver, ids []string) { e.decide(last(ids), run.Approve, false) },
	"approve twice": func(e approver, ids []string) {
		e.decide(last(ids), run.Approve, false)
		e.decide(last(ids), run.Approve, false)
	},
	"approve then no": func(e approver, ids []string) {
		e.decide(last(ids), run.Approve, false)
		e.decide(last(ids), run.Reject, false)
	},
	"approve an old id": func(e approver, ids []string) { e.decide(ids[0], run.Approve, false) },
	"approve another":   func(e approver, _ []string) { e.decide("apr-1-0123456789ab", run.Approve, false) },
	"approve no id":     func(e approver, _ []string) { e.decide("", run.Approve, false) },
	"no decision":       func(e approver, ids []string) { e.decide(last(ids), "", false) },
	"reject":            func(e approver, ids []string) { e.decide(last(ids), run.Reject, false) },
	"accept a file": func(e approver, ids []string) {
		e.signal(map[string]any{"approvalId": last(ids), "decision": run.Approve, "files": []string{"a.go"}, "reason": "not b.go"})
	},
	"accept no file's name": func(e approver, ids []string) {
		e.signal(map[string]any{"approvalId": last(ids), "decision": run.Approve, "files": []string{""}})
	},
	"reject a file": func(e approver, ids []string) {
		e.signal(map[string]any{"approvalId": last(ids), "decision": run.Reject, "files": []string{"a.go"}})
	},
	"reject for good": func(e approver, ids []string) { e.decide(last(ids), run.Reject, true) },
	"final approval":  func(e approver, ids []string) { e.decide(last(ids), run.Approve, true) },
	"malformed":       func(e approver, _ []string) { e.signal("not a decision") },
	"unknown word": func(e approver, ids []string) {
		e.signal(map[string]any{"approvalId": last(ids), "decision": "APPROVE"})
	},
	"cancel":  func(e approver, _ []string) { e.cancel() },
	"nothing": func(approver, []string) {},
}

type approver struct {
	signal func(any)
	cancel func()
}

func (a approver) decide(id string, v run.Verdict, final bool) {
	a.signal(map[string]any{"approvalId": id, "decision": v, "final": final})
}

func last(ids []string) string { return ids[len(ids)-1] }

// TestOnlyApprovedPatchesAreApplied plays random sequences of decisions: right,
// wrong, double, late, malformed, none at all, and the end of patience.
// Whatever comes, each patch on the branch has exactly one approval before
// it, of exactly that patch on that commit.
func TestOnlyApprovedPatchesAreApplied(t *testing.T) {
	need.Checks(t, 30, 2000)
	names := slices.Sorted(maps.Keys(moves))
	applied := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := &fakeActivities{verdicts: []activities.Judgement{fixable}}
		for i := range rapid.IntRange(1, 4).Draw(rt, "patches") {
			w.answers = append(w.answers, patch(fmt.Sprint("patch ", rapid.IntRange(0, i).Draw(rt, "name"))))
		}
		play(rt, t, w, rapid.SliceOfN(rapid.SampledFrom(names), 1, 12).Draw(rt, "moves"))
		if err := approvedOnce(w); err != nil {
			rt.Fatal(err)
		}
		applied += len(w.applied)
	})
	if applied == 0 {
		t.Error("no patch was applied in any sequence: the test proves nothing")
	}
}

func play(rt *rapid.T, t *testing.T, w *fakeActivities, sequence []string) {
	e := env(t, w)
	var ids []string
	a := approver{func(v any) { e.SignalWorkflow(workflows.ApprovalMessage, v) }, e.CancelWorkflow}
	for i, name := range sequence {
		e.RegisterDelayedCallback(func() {
			if id := query[run.State](t, e, workflows.StateQuery).PendingApprovalID; id != "" {
				ids = append(ids, id)
			}
			if len(ids) > 0 {
				moves[name](a, ids)
			}
		}, time.Duration(i+1)*time.Minute)
	}
	in := input(run.Always, 3)
	in.Timeouts.Approval = time.Hour // the end of patience
	start(e, in)
	if !e.IsWorkflowCompleted() {
		rt.Fatal("the run did not end")
	}
}

// approvedOnce walks the record: a patch is applied only after one grant of
// the approval that was asked for it.
func approvedOnce(w *fakeActivities) error {
	var asked *run.ApprovalRequested
	grants := 0
	n := 0
	for _, e := range w.events {
		switch p := e.Payload.(type) {
		case run.ApprovalRequested:
			asked, grants = &p, 0
		case run.ApprovalGranted:
			if asked == nil || p.ApprovalID != asked.ApprovalID {
				return fmt.Errorf("%s grants %s, which nobody asked for", e.ID, p.ApprovalID)
			}
			grants++
		case run.PatchApplied:
			if asked == nil || grants != 1 || p.Patch != asked.Patch || p.Base != asked.Base {
				return fmt.Errorf("%s applies %s on %s after %d grants of %+v", e.ID, p.Patch, p.Base, grants, asked)
			}
			if got := w.applied[n]; got.Patch.Digest != p.Patch {
				return fmt.Errorf("%s says %s, applied was %s", e.ID, p.Patch, got.Patch.Digest)
			}
			n++
			asked = nil
		}
	}
	if n != len(w.applied) {
		return fmt.Errorf("%d patches on the branch, %d in the record", len(w.applied), n)
	}
	return nil
}
