package run_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// losesPart takes a run to the work that follows the answer about an accepted part that could not be applied. The rest
// of the patch was sent back for the reason, or dropped if there is none.
func losesPart(t *testing.T, reason string) *run.Snapshot {
	t.Helper()
	s := run.New(input(3))
	told(t, s, run.RunCreated{Input: s.Input, Format: run.Format}, begin, planned, begin, produced)
	told(t, s, s.NewApproval())
	told(t, s, run.ApprovalRejected{Files: []string{"a"}, Reason: reason}, accepted)
	told(t, s, s.NewApproval())
	told(t, s, run.ApprovalGranted{}, run.PatchApplyFailed{Error: run.Problem{Code: run.CodeRepository, Message: "an object is missing"}})
	told(t, s, run.PhaseFailed{Error: s.Problem, Question: s.LostQuestion()}, begin)
	told(t, s, s.NewQuestion())
	told(t, s, answered, closed, begin)
	return s
}

// accepted is the accepted part of produced.
var accepted = run.PatchProduced{Proposal: run.Proposal{
	Patch: run.Ref{Digest: "d2"}, Base: "b0", Stat: run.Stat{Files: 1}, PartOf: produced.Patch.Digest,
}}

// A part that was approved and could not be applied is proposed again once it is back; another patch takes its place if it
// is not. What the person said of the rest holds for the part alone.
func TestALostPartIsProposedAgainOrReplaced(t *testing.T) {
	evaluate, fix := run.Step{Do: run.Start, Phase: run.Evaluate}, run.Step{Do: run.Start, Phase: run.Fix, Uncounted: true}
	for _, tc := range []struct {
		name, reason string
		found        run.PatchProduced
		next         run.Step
	}{
		{"the part is back, and the rest goes to the fixer", "no b", accepted, fix},
		{"the part is back, and the rest was dropped", "", accepted, evaluate},
		{"the developer proposes another patch", "no b", produced, evaluate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := losesPart(t, tc.reason)
			if s.PartDue() != nil {
				t.Fatal("the part is to be made once more")
			}
			told(t, s, tc.found)
			told(t, s, s.NewApproval())
			told(t, s, run.ApprovalGranted{}, applied, patched)
			if s.Next != tc.next || s.Part != nil || s.Lost != nil {
				t.Errorf("next is %+v with the part %+v, want %+v", s.Next, s.Part, tc.next)
			}
		})
	}
}

func TestAnAnswerWithoutAPatchEndsALostPart(t *testing.T) {
	for name, p := range map[string]run.Payload{
		"a question": askedFor, "nothing to do": noop, "no answer": garbled, "an error": down,
	} {
		t.Run(name, func(t *testing.T) {
			s := losesPart(t, "no b")
			told(t, s, p)
			if s.Part != nil || s.Lost != nil {
				t.Errorf("the part %+v is left, lost %+v", s.Part, s.Lost)
			}
		})
	}
}

func TestNoOtherPartReplacesALostPart(t *testing.T) {
	s := losesPart(t, "")
	for name, change := range map[string]func(*run.Proposal){
		"of another patch": func(p *run.Proposal) { p.PartOf = "d9" },
		"of other bytes":   func(p *run.Proposal) { p.Patch.Digest = "d9" },
	} {
		p := accepted
		change(&p.Proposal)
		if err := s.Apply(s.Event(start, p)); err == nil {
			t.Errorf("a part %s is taken", name)
		}
	}
}
