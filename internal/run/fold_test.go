package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

var start = time.Date(2026, 2, 14, 12, 34, 56, 0, time.UTC)

// input is the input of a run whose checks do not run on the base commit.
func input(maxFix int) run.Input {
	return run.Input{
		RunID: "r1", Goal: "make it work", Policy: run.Always, MaxFix: &maxFix, Checks: []string{"true"}, NoBaseline: true,
		Repository: run.Repository{Path: "/repo", Base: "b0"},
		Providers:  run.Providers{Planner: "replay:x", Developer: "replay:x", Fixer: "replay:x"},
	}
}

// based is the input of a run whose checks run on the base commit first.
func based(maxFix int) run.Input {
	in := input(maxFix)
	in.NoBaseline = false
	return in
}

// told applies the payloads one after the other.
func told(t *testing.T, s *run.Snapshot, payloads ...run.Payload) []run.Event {
	t.Helper()
	var events []run.Event
	for i, p := range payloads {
		e := s.Event(start.Add(time.Duration(s.Seq)*time.Second), p)
		if err := s.Apply(e); err != nil {
			t.Fatalf("payload %d: %v", i, err)
		}
		events = append(events, e)
	}
	return events
}

func fresh(t *testing.T, maxFix int) *run.Snapshot {
	t.Helper()
	s := run.New(input(maxFix))
	told(t, s, run.RunCreated{Input: s.Input, Branch: "ratchet/r1", Format: run.Format})
	return s
}

var (
	begin    = run.PhaseStarted{Role: run.Developer}
	planned  = run.PhaseCompleted{Result: run.Planned, Artifact: &run.Ref{Name: "plan/iter-0001.md"}}
	produced = run.PatchProduced{Proposal: run.Proposal{Patch: run.Ref{Digest: "d1"}, Base: "b0", Stat: run.Stat{Files: 1}}}
	applied  = run.PatchApplied{Patch: "d1", Base: "b0", Commit: "c1", After: run.Stat{Files: 1}}
	patched  = run.PhaseCompleted{Result: run.Patched}
	passed   = run.EvaluationPassed{}
	fixable  = run.EvaluationFailedFixable{Evaluation: run.Evaluation{Reasons: []string{"go test failed"}}}
	blocked  = run.EvaluationFailedBlocked{Question: run.Question{Question: "which port?"}}
	askedFor = run.PhaseCompleted{Result: run.Asked, Question: &run.Question{Question: "which name?"}}
	noop     = run.PhaseCompleted{Result: run.Noop}
	garbled  = run.PhaseFailed{Error: run.Problem{Code: "no_type", Message: "no answer in it"}}
	refused  = run.PatchApplyFailed{Error: run.Problem{Code: "context_not_found", Message: "hunk 1"}}
	down     = run.PhaseFailed{Error: run.Problem{Code: "AUTH", Message: "401"}, Question: &run.Question{Question: "log in?"}}
	answered = run.QuestionAnswered{Text: "blue"}
	closed   = run.PhaseCompleted{Result: run.Answered}
)

func TestAnotherFormatIsRefused(t *testing.T) {
	for _, format := range []int{0, 1, run.Format + 1} {
		_, err := run.Fold([]run.Event{run.New(input(3)).Event(start, run.RunCreated{Input: input(3), Format: format})})
		want := fmt.Sprintf("the run was recorded in format %d, but this build reads format 3: finish it with the build that recorded it", format)
		if err == nil || err.Error() != want {
			t.Errorf("format %d: got %v, want %s", format, err, want)
		}
	}
	b, err := json.Marshal(run.RunCreated{Input: input(3), Format: run.Format})
	if err != nil || !strings.Contains(string(b), `"rules":3`) {
		t.Errorf("got %s, %v, want a member rules with the value 2", b, err)
	}
}

func TestSnapshotStaysSmall(t *testing.T) {
	in := input(1000)
	in.Goal = strings.Repeat("g", run.MaxGoalBytes)
	s := run.New(in)
	told(t, s, run.RunCreated{Input: in, Format: run.Format}, begin, planned, begin)
	for range 300 {
		told(t, s, run.PhaseFailed{Error: run.Problem{Code: "x", Message: strings.Repeat("m", run.MaxTextBytes)}}, begin)
	}
	for s.CheckNote(run.Note{Text: strings.Repeat("n", 1000)}) == nil {
		s.AddNote(run.Note{Text: strings.Repeat("n", 1000)})
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 64<<10 {
		t.Errorf("snapshot has %d bytes", len(b))
	}
}

func TestUnknownWordsAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		into       any
	}{
		{"an event type", `{"type":"RUN_PAUSED","payload":{}}`, new(run.Event)},
		{"a phase", `{"type":"RUN_CREATED","phase":"deploy","payload":{}}`, new(run.Event)},
		{"a decision", `{"approvalId":"a","decision":"APPROVE"}`, new(run.Decision)},
		{"a policy", `{"approvalPolicy":"sometimes"}`, new(run.Input)},
		{"a missing payload", `{"type":"RUN_FAILED"}`, new(run.Event)},
	} {
		if err := json.Unmarshal([]byte(tc.text), tc.into); err == nil {
			t.Errorf("%s was accepted: %s", tc.name, tc.text)
		}
	}
}

func TestBudgetQuestionIsAnsweredByANumber(t *testing.T) {
	s := fresh(t, 3)
	told(t, s, begin, planned, begin,
		run.PhaseFailed{Error: run.Problem{Code: run.CodeBudget}, Usage: &run.Usage{TotalTokens: 500}, Question: &run.Question{Question: "raise?"}},
		begin, run.QuestionRaised{QuestionID: "qst-1-1"})
	for text, ok := range map[string]bool{"yes": false, "500": false, "-1": false, " 900 ": true} {
		if err := s.CheckReply(run.Reply{QuestionID: "qst-1-1", Text: text}); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	told(t, s, run.QuestionAnswered{Text: "900", MaxTokens: 900})
	if s.Input.MaxTokens != 900 {
		t.Errorf("budget %d", s.Input.MaxTokens)
	}
}
