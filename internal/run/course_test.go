package run_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// settled is where a move leads once the phase is closed that it ends.
func settled(t testing.TB, s *run.Snapshot, m move) (*run.Snapshot, bool) {
	t.Helper()
	next, err := tried(t, s, m)
	if err != nil || !makes(s, m) {
		return nil, false
	}
	if next.Next.Do == run.Close && s.Next.Do != run.Close {
		closed, err := tried(t, next, moveCalled("PHASE_COMPLETED as said"))
		if err != nil {
			t.Fatal(err)
		}
		return closed, true
	}
	return next, true
}

func moveCalled(name string) move {
	return moves[slices.IndexFunc(moves, func(m move) bool { return m.name == name })]
}

// Finding D3. Wherever a person may say no, a no that is not final leads on.
func TestANoEndsNoRun(t *testing.T) {
	tested := 0
	for _, maxFix := range []int{0, 1} {
		for at, s := range explored(t, based(maxFix)) {
			if s.Next.Do != run.Decide {
				continue
			}
			tested++
			if next, _ := settled(t, s, moveCalled("APPROVAL_REJECTED")); next.Next.Do == run.Finish {
				t.Errorf("%v: the run ends as %s", at, next.End)
			}
		}
	}
	if tested < 6 {
		t.Errorf("only %d places", tested)
	}
}

// Finding D3. Wherever a person is asked, some answer leads on.
func TestSomeAnswerHelps(t *testing.T) {
	tested := 0
	for _, maxFix := range []int{0, 1} {
		for at, s := range explored(t, based(maxFix)) {
			if s.Next.Do != run.Await {
				continue
			}
			tested++
			if !slices.ContainsFunc(moves, func(m move) bool {
				next, ok := settled(t, s, m)
				return ok && next.Next.Do != run.Finish
			}) {
				t.Errorf("%v: every answer ends the run", at)
			}
		}
	}
	if tested < 15 {
		t.Errorf("only %d places", tested)
	}
}

// From wherever a run stands, it comes to an end or to a person by itself: what
// nobody asked for has no circle.
func TestNothingGoesOnForEverByItself(t *testing.T) {
	found := explored(t, based(3))
	const open = -1
	lengths := map[standing]int{} // of the longest way on
	var visit func(at standing, way []string) int
	visit = func(at standing, way []string) int {
		if n, seen := lengths[at]; seen {
			if n == open {
				t.Fatalf("a circle: %s", strings.Join(way, ", "))
			}
			return n
		}
		lengths[at] = open
		longest := 0
		for _, m := range moves {
			if next, err := tried(t, found[at], m); err == nil && !m.person && makes(found[at], m) {
				longest = max(longest, 1+visit(where(next), append(way[:len(way):len(way)], m.name)))
			}
		}
		lengths[at] = longest
		return longest
	}
	longest := 0
	for at := range found {
		longest = max(longest, visit(at, nil))
	}
	if longest < 30 || longest > 60 {
		t.Errorf("the longest way has %d moves", longest)
	}
}

// A cancellation ends a run from wherever it stands, and nothing follows the
// end.
func TestCancelFitsEverywhere(t *testing.T) {
	for at, s := range explored(t, based(1)) {
		next := copied(t, s)
		err := next.Apply(next.Event(start, run.RunCanceled{}))
		if over := s.Next.Do == run.Rest; (err != nil) != over || next.Next.Do != run.Rest || !over && next.State.Status != run.Canceled {
			t.Errorf("%v: %v, then %v", at, err, where(next))
		}
	}
}

// TestCourse takes random courses through the contract, with any number of
// fixes, with a baseline and without, and holds at every step what must hold at all of them.
func TestCourse(t *testing.T) {
	open := map[string][]move{} // the moves that fit, by place
	rapid.Check(t, func(rt *rapid.T) {
		in := input(rapid.IntRange(0, 3).Draw(rt, "fixes"))
		in.NoBaseline = rapid.Bool().Draw(rt, "no baseline")
		s := run.New(in)
		events := told(t, s, run.RunCreated{Input: s.Input, Format: run.Format})
		for range rapid.IntRange(1, 60).Draw(rt, "length") {
			at := place(s)
			if open[at] == nil {
				open[at] = fitting(t, s)
			}
			if len(open[at]) == 0 {
				break
			}
			m := rapid.SampledFrom(open[at]).Draw(rt, "move")
			before := *s
			events = append(events, told(t, s, m.make(s))...)
			holds(rt, t, before, s, m)
		}
		folded, err := run.Fold(events)
		if err != nil || text(t, folded) != text(t, s) || text(t, copied(t, s)) != text(t, s) {
			rt.Fatalf("the events fold to something else, or it does not survive JSON: %v", err)
		}
	})
}

func fitting(t testing.TB, s *run.Snapshot) []move {
	return slices.DeleteFunc(slices.Clone(moves), func(m move) bool {
		_, err := tried(t, s, m)
		return err != nil || !makes(s, m)
	})
}

// holds compares a snapshot with the one before the move.
func holds(rt *rapid.T, t testing.TB, before run.Snapshot, s *run.Snapshot, m move) {
	fix := m.name == "PHASE_STARTED" && before.Next.Phase == run.Fix && !before.Next.Again
	counted := 0
	if fix && !before.Next.Uncounted {
		counted = 1
	}
	iteration := max(before.State.Iteration, 1)
	if fix {
		iteration++
	}
	status := s.State.Status
	switch {
	case s.Fixes != before.Fixes+counted || s.Fixes > s.Input.Fixes():
		rt.Fatalf("%s: %d fixes after %d", m.name, s.Fixes, before.Fixes)
	case m.name == "PHASE_STARTED" && s.State.Iteration != iteration:
		rt.Fatalf("%s: iteration %d after %d", m.name, s.State.Iteration, before.State.Iteration)
	case (s.Next.Do == run.Decide) != (status == run.AwaitingApproval) || (s.Next.Do == run.Await) != (status == run.AwaitingInput):
		rt.Fatalf("%s: %s while the next step is to %s", m.name, status, s.Next.Do)
	case (s.State.PendingApprovalID != "") != (s.Next.Do == run.Decide) || (s.State.PendingQuestionID != "") != (s.Next.Do == run.Await):
		rt.Fatalf("%s: pending %q %q while the next step is to %s", m.name, s.State.PendingApprovalID, s.State.PendingQuestionID, s.Next.Do)
	}
	foretold(rt, t, s)
}

// foretold holds what is said beside a question against what then happens.
func foretold(rt *rapid.T, t testing.TB, s *run.Snapshot) {
	var o run.Outlook
	switch p := s.Pending(); {
	case p.Approval != nil:
		o = p.Approval.Next
	case p.Question != nil:
		o = p.Question.Next
	}
	for said, name := range map[string]string{
		o.Approve: "APPROVAL_GRANTED", o.Reject: "APPROVAL_REJECTED", o.Final: "APPROVAL_REJECTED for good",
		o.Answer: "QUESTION_ANSWERED", o.Fix: "QUESTION_ANSWERED fix:", o.Stop: "QUESTION_ANSWERED stop",
		o.Again: "QUESTION_ANSWERED", o.Without: "QUESTION_ANSWERED without",
	} {
		if said == "" {
			continue
		}
		next, ok := settled(t, s, moveCalled(name))
		if !ok {
			rt.Fatalf("%q is said, and %s does not fit", said, name)
		}
		ends, counts := next.Next.Do == run.Finish, next.Next == run.Step{Do: run.Start, Phase: run.Fix}
		if strings.Contains(said, "the run ends") != ends || strings.Contains(said, ", fix ") != counts ||
			strings.Contains(said, "uses up no fix") != (next.Next.Uncounted && !next.Next.Again) {
			rt.Fatalf("%q is said, and %s leads to %s", said, name, place(next))
		}
	}
}
