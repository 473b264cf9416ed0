package run_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/golden"
)

// A move is one kind of event, made to fit where the run stands.
type move struct {
	name   string
	person bool // somebody outside makes it
	make   func(*run.Snapshot) run.Payload
}

func always(p run.Payload) func(*run.Snapshot) run.Payload {
	return func(*run.Snapshot) run.Payload { return p }
}

var tool = run.Permission{CallID: "c", Tool: "Bash", Digest: "d"}

// moves are the events of the contract, some in several kinds. RUN_CANCELED is
// left out: it fits everywhere.
var moves = []move{
	{name: "PHASE_STARTED", make: func(s *run.Snapshot) run.Payload {
		p := run.PhaseStarted{Uncounted: s.Next.Uncounted}
		if s.NeedsBaseline() {
			p.Baseline = &run.Baseline{Passed: 1}
		}
		return p
	}},
	{name: "PHASE_STARTED, base unknown", make: always(run.PhaseStarted{Baseline: &unbased})},
	{name: "PHASE_COMPLETED plan", make: always(planned)},
	{name: "PHASE_COMPLETED ask", make: always(askedFor)},
	{name: "PHASE_COMPLETED noop", make: always(noop)},
	{name: "PHASE_COMPLETED as said", make: func(s *run.Snapshot) run.Payload { return run.PhaseCompleted{Result: s.Outcome} }},
	{name: "PHASE_FAILED", make: always(garbled)},
	{name: "PHASE_FAILED and a question", make: always(down)},
	{name: "PHASE_FAILED, base unknown", make: func(s *run.Snapshot) run.Payload {
		p, q, _ := s.BaselineProblem()
		return run.PhaseFailed{Error: p, Question: &q}
	}},
	{name: "PHASE_FAILED over the budget", make: always(run.PhaseFailed{Error: run.Problem{Code: run.CodeBudget}, Question: &run.Question{Question: "raise?"}})},
	{name: "PATCH_PRODUCED", make: always(produced)},
	{name: "PATCH_PRODUCED as a part", make: func(s *run.Snapshot) run.Payload {
		p := produced
		if part := s.PartDue(); part != nil {
			p.PartOf = part.Of.Patch.Digest
		} else {
			p.PartOf = "none is due"
		}
		return p
	}},
	{name: "APPROVAL_REQUESTED for a patch", make: func(s *run.Snapshot) run.Payload {
		if s.Proposal == nil {
			return run.ApprovalRequested{Gate: 1}
		}
		return s.NewApproval()
	}},
	{name: "APPROVAL_REQUESTED for a tool", make: func(s *run.Snapshot) run.Payload { return s.NewPermission(tool) }},
	{name: "APPROVAL_GRANTED", person: true, make: func(s *run.Snapshot) run.Payload {
		return run.ApprovalGranted{ApprovalID: s.State.PendingApprovalID}
	}},
	{name: "APPROVAL_REJECTED", person: true, make: always(run.ApprovalRejected{Reason: "no"})},
	{name: "APPROVAL_REJECTED but for files", person: true, make: always(run.ApprovalRejected{Files: []string{"a"}})},
	{name: "APPROVAL_REJECTED but for files, the rest sent back", person: true, make: always(run.ApprovalRejected{Files: []string{"a"}, Reason: "no"})},
	{name: "APPROVAL_REJECTED for good", person: true, make: always(run.ApprovalRejected{Final: true})},
	{name: "PATCH_APPLIED", make: always(applied)},
	{name: "PATCH_APPLY_FAILED", make: always(refused)},
	{name: "EVALUATION_PASSED", make: always(passed)},
	{name: "EVALUATION_FAILED_FIXABLE", make: always(fixable)},
	{name: "EVALUATION_FAILED_BLOCKED", make: always(blocked)},
	{name: "EVALUATION_FAILED_BLOCKED unjudged", make: always(unjudged)},
	{name: "QUESTION_RAISED", make: func(s *run.Snapshot) run.Payload {
		if s.Question == nil {
			return run.QuestionRaised{}
		}
		return s.NewQuestion()
	}},
	{name: "QUESTION_ANSWERED", person: true, make: always(answered)},
	{name: "QUESTION_ANSWERED fix:", person: true, make: always(run.QuestionAnswered{Text: "fix: x", Fix: true})},
	{name: "QUESTION_ANSWERED without", person: true, make: always(run.QuestionAnswered{Text: "without", Without: true})},
	{name: "QUESTION_ANSWERED stop", person: true, make: always(run.QuestionAnswered{Text: "stop", Stop: true})},
	{name: "RUN_CREATED", make: func(s *run.Snapshot) run.Payload { return run.RunCreated{Input: s.Input, Format: run.Format} }},
	{name: "RUN_COMPLETED", make: always(run.RunCompleted{})},
	{name: "RUN_FAILED", make: always(run.RunFailed{})},
}

var unjudged = run.EvaluationFailedBlocked{Question: run.Question{Question: "install cargo?"}, Again: true}

var unbased = run.Baseline{Problem: &run.Problem{Code: run.CodeBaseline, Message: "no cargo"}}

// makes says whether the run itself would make the move here. The fold cannot
// tell how an answer was read, nor what a run that finishes has come to.
func makes(s *run.Snapshot, m move) bool {
	_, _, unknown := s.BaselineProblem()
	failed := func(code string) bool { return s.State.LastError != nil && s.State.LastError.Code == code }
	switch m.name {
	case "PHASE_FAILED, base unknown":
		return unknown
	case "PHASE_FAILED and a question", "PHASE_FAILED over the budget":
		return !unknown || s.Next.Do != run.Work
	case "APPROVAL_REJECTED but for files", "APPROVAL_REJECTED but for files, the rest sent back":
		return s.Approval.Permission == nil
	case "PHASE_FAILED":
		return s.PartDue() == nil && (!unknown || s.Next.Do != run.Work)
	case "QUESTION_ANSWERED without":
		return failed(run.CodeBaseline)
	case "QUESTION_ANSWERED fix:":
		return s.Recheck
	case "QUESTION_ANSWERED stop":
		return failed(run.CodeBudget) || failed(run.CodeBaseline)
	case "RUN_COMPLETED":
		return s.End == run.Completed
	case "RUN_FAILED":
		return s.End == run.Failed
	}
	return true
}

func copied(t testing.TB, s *run.Snapshot) *run.Snapshot {
	t.Helper()
	c := new(run.Snapshot)
	if err := json.Unmarshal([]byte(text(t, s)), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// tried is where the move leads from the snapshot, which stays as it is.
func tried(t testing.TB, s *run.Snapshot, m move) (*run.Snapshot, error) {
	t.Helper()
	next := copied(t, s)
	return next, next.Apply(next.Event(start.Add(time.Duration(s.Seq)*time.Second), m.make(next)))
}

func named(t run.Step) string {
	words := []string{string(t.Do)}
	if t.Phase != "" {
		words = append(words, string(t.Phase))
	}
	if t.Again {
		words = append(words, "again")
	}
	if t.Uncounted {
		words = append(words, "uncounted")
	}
	return strings.Join(words, " ")
}

// place names where the run stands by all that decides what follows, but for
// the fixes that are left.
func place(s *run.Snapshot) string {
	words := []string{named(s.Next)}
	add := func(when bool, text string) {
		if when {
			words = append(words, text)
		}
	}
	ask := s.Next.Phase == run.Ask
	switch s.Next.Do {
	case run.Decide:
		add(s.Approval.Permission != nil, "on a tool")
		add(s.Approval.Permission == nil, "on a patch")
	case run.Close:
		add(true, "as "+cmp.Or(string(s.Outcome), "failed")+", then "+named(s.After))
	case run.Finish:
		add(true, "as "+string(s.End))
	default:
		add(ask && s.After.Do != "", "then "+named(s.After))
	}
	add(s.Part != nil && s.Part.Reason == "", "(a part)")
	add(s.Part != nil && s.Part.Reason != "", "(a part, the rest sent back)")
	add(s.Uncounted && s.Next.Phase == run.Fix && s.Next.Do != run.Start, "(uncounted)")
	add(s.Recheck, "(unjudged)")
	add(ask && s.State.LastError != nil && s.State.LastError.Code == run.CodeBudget, "(over the budget)")
	_, _, unknown := s.BaselineProblem()
	add(s.NeedsBaseline() && !unknown, "(base unchecked)")
	add(unknown, "(base unknown)")
	add((s.Next.Phase == run.Plan || ask && s.After.Phase == run.Plan) && s.Unbased, "(without a base)")
	return strings.Join(words, " ")
}

// standing is where a run stands: the place, and how many fixes are left.
type standing struct {
	place string
	left  int
}

func where(s *run.Snapshot) standing { return standing{place(s), s.Input.Fixes() - s.Fixes} }

// explored is every standing that a run with the input can come to, with a
// snapshot of it. Two snapshots of one standing must decide alike, so what is
// true of the one that is kept is true of all.
func explored(t testing.TB, in run.Input) map[standing]*run.Snapshot {
	t.Helper()
	s := run.New(in)
	if err := s.Apply(s.Event(start, run.RunCreated{Input: s.Input, Format: run.Format})); err != nil {
		t.Fatal(err)
	}
	found, ways := map[standing]*run.Snapshot{where(s): s}, map[standing]string{}
	for todo := []*run.Snapshot{s}; len(todo) > 0; todo = todo[1:] {
		for _, m := range moves {
			next, err := tried(t, todo[0], m)
			if err != nil || !makes(todo[0], m) {
				continue
			}
			at := where(next)
			if at.left < 0 {
				t.Fatalf("%s leads to %v: more fixes than are allowed", m.name, at)
			}
			first := found[at]
			if first == nil {
				found[at] = next
				todo = append(todo, next)
				continue
			}
			if ways[at] == "" {
				ways[at] = follows(t, first)
			}
			if a, b := ways[at], follows(t, next); a != b {
				t.Fatalf("two ways to %v differ:\n%s\n%s", at, a, b)
			}
		}
	}
	return found
}

// follows says where all moves lead from the snapshot.
func follows(t testing.TB, s *run.Snapshot) string {
	var lines []string
	for _, m := range moves {
		if next, err := tried(t, s, m); err == nil && makes(s, m) {
			lines = append(lines, fmt.Sprint(m.name, where(next)))
		}
	}
	return strings.Join(lines, "\n")
}

// A row is one decision: where a move leads.
type row struct {
	place, move, to string
	left            int // fixes
}

// decisions are those of all standings of a run with the input. Every other move must
// be refused and change nothing.
func decisions(t *testing.T, in run.Input) (rows []row) {
	for at, s := range explored(t, in) {
		for _, m := range moves {
			next, err := tried(t, s, m)
			switch {
			case err == nil && makes(s, m):
				rows = append(rows, row{at.place, m.name, place(next), at.left})
			case err != nil && (!errors.Is(err, run.ErrTransition) || text(t, next) != text(t, s)):
				t.Errorf("%v: %s is refused with %v, and leads to %v", at, m.name, err, where(next))
			}
		}
	}
	return rows
}

// TestDecisions compares where each move leads, from every place that a run
// can come to, with testdata/decisions.txt.
func TestDecisions(t *testing.T) {
	rows := map[string]map[string][]row{}
	for _, in := range []run.Input{input(0), input(1), based(0), based(1)} {
		for _, r := range decisions(t, in) {
			if rows[r.place] == nil {
				rows[r.place] = map[string][]row{}
			}
			rows[r.place][r.move] = append(rows[r.place][r.move], r)
		}
	}
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintln(&b, at)
		for _, m := range moves {
			for _, line := range brief(rows[at][m.name]) {
				fmt.Fprintf(&b, "  %-36s %s\n", m.name, line)
			}
		}
	}
	golden.Compare(t, "testdata/decisions.txt", b.String())
}

// brief says of the rows of one move where they lead, and, where they do not
// all lead to the same place, with how many fixes left.
func brief(rows []row) []string {
	var lines []string
	for _, when := range []func(row) string{
		func(row) string { return "" },
		func(r row) string { return fmt.Sprintf("   (%d left)", r.left) },
	} {
		leads := map[string]string{}
		lines = nil
		for _, r := range rows {
			leads[when(r)] = r.to
			lines = append(lines, "-> "+r.to+when(r))
		}
		slices.Sort(lines)
		if lines = slices.Compact(lines); len(lines) == len(leads) {
			break
		}
	}
	return lines
}

func text(t testing.TB, s *run.Snapshot) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
