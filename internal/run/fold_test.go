package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
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

func TestStandardTransitions(t *testing.T) {
	toExecute := []run.Payload{begin, planned, begin}
	toEvaluate := append(slices.Clone(toExecute), produced, applied, patched, begin)
	for _, tc := range []struct {
		name   string
		given  []run.Payload
		status run.Status
		next   run.Step
		iter   int
	}{
		{"a created run starts with plan", nil, run.Created, run.Step{Do: run.Start, Phase: run.Plan}, 0},
		{"a plan leads to execute", []run.Payload{begin, planned}, run.Running, run.Step{Do: run.Start, Phase: run.Execute}, 1},
		{"a patch goes to the gate", append(toExecute, produced), run.Running, run.Step{Do: run.Gate, Phase: run.Execute}, 1},
		{"a patch that the gate lets through leads to evaluate", append(toExecute, produced, applied, patched), run.Running, run.Step{Do: run.Start, Phase: run.Evaluate}, 1},
		{"a NOOP leads to evaluate", append(toExecute, noop), run.Running, run.Step{Do: run.Start, Phase: run.Evaluate}, 1},
		{"an ASK leads to ask", append(toExecute, askedFor), run.Running, run.Step{Do: run.Start, Phase: run.Ask}, 1},
		{"after its answer execute goes again in the same iteration", append(toExecute, askedFor, begin, run.QuestionRaised{QuestionID: "qst-1-1"}, answered, closed, begin), run.Running, run.Step{Do: run.Work, Phase: run.Execute}, 1},
		{"output that fits no type leads to fix", append(toExecute, garbled), run.Running, run.Step{Do: run.Start, Phase: run.Fix}, 1},
		{"a patch that does not apply fails the phase and leads to fix", append(toExecute, produced, refused, garbled), run.Running, run.Step{Do: run.Start, Phase: run.Fix}, 1},
		{"a provider that needs a person leads to ask", append(toExecute, down), run.Running, run.Step{Do: run.Start, Phase: run.Ask}, 1},
		{"after that answer the same phase goes again", append(toExecute, down, begin, run.QuestionRaised{}, answered, closed), run.Running, run.Step{Do: run.Start, Phase: run.Execute, Again: true}, 1},
		{"a pass leads to the end", append(toEvaluate, passed, run.PhaseCompleted{Result: run.Pass}), run.Running, run.Step{Do: run.Finish}, 1},
		{"a fixable failure leads to fix", append(toEvaluate, fixable, run.PhaseCompleted{Result: run.Fixable}), run.Running, run.Step{Do: run.Start, Phase: run.Fix}, 1},
		{"a fix opens the next iteration", append(toEvaluate, fixable, run.PhaseCompleted{Result: run.Fixable}, begin), run.Running, run.Step{Do: run.Work, Phase: run.Fix}, 2},
		{"a blocked evaluation leads to ask", append(toEvaluate, blocked, run.PhaseCompleted{Result: run.Blocked}), run.Running, run.Step{Do: run.Start, Phase: run.Ask}, 1},
		{"after its answer a fix follows", append(toEvaluate, blocked, run.PhaseCompleted{Result: run.Blocked}, begin, run.QuestionRaised{}, answered, closed), run.Running, run.Step{Do: run.Start, Phase: run.Fix, Uncounted: true}, 1},
		{"a raised question waits for input", append(toExecute, askedFor, begin, run.QuestionRaised{QuestionID: "q"}), run.AwaitingInput, run.Step{Do: run.Await, Phase: run.Ask}, 1},
		{"cancel ends it from anywhere", append(toEvaluate, run.RunCanceled{}), run.Canceled, run.Step{Do: run.Rest}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := fresh(t, 3)
			told(t, s, tc.given...)
			if s.State.Status != tc.status || s.Next != tc.next || s.State.Iteration != tc.iter {
				t.Errorf("got %s, %+v, iteration %d; want %s, %+v, %d",
					s.State.Status, s.Next, s.State.Iteration, tc.status, tc.next, tc.iter)
			}
		})
	}
}

func TestApprovalIsPendingUntilItIsSettled(t *testing.T) {
	s := fresh(t, 3)
	told(t, s, begin, planned, begin, produced)
	req := s.NewApproval()
	told(t, s, req)
	if s.State.Status != run.AwaitingApproval || s.State.PendingApprovalID != req.ApprovalID || s.Phase() != run.Execute {
		t.Fatalf("state %+v", s.State)
	}
	told(t, s, run.ApprovalGranted{ApprovalID: req.ApprovalID})
	if s.State.PendingApprovalID != "" || s.Next.Do != run.Apply {
		t.Fatalf("state %+v next %+v", s.State, s.Next)
	}
}

func TestRejectionLeadsToFixOrEnds(t *testing.T) {
	for _, final := range []bool{false, true} {
		s := fresh(t, 3)
		told(t, s, begin, planned, begin, produced)
		told(t, s, s.NewApproval(), run.ApprovalRejected{Reason: "too big", Final: final}, run.PhaseCompleted{Result: run.Rejected})
		want := run.Step{Do: run.Start, Phase: run.Fix, Uncounted: true}
		if final {
			want = run.Step{Do: run.Finish}
		}
		if s.Next != want {
			t.Errorf("final %v: next %+v, want %+v", final, s.Next, want)
		}
		if got := s.Guidance[len(s.Guidance)-1]; got.Kind != run.FromRejection || got.Text != "too big" {
			t.Errorf("guidance %+v", got)
		}
	}
}

func TestFixLimit(t *testing.T) {
	for _, limit := range []int{0, 1, 3} {
		s := fresh(t, limit)
		told(t, s, begin, planned, begin, garbled)
		for range limit {
			told(t, s, begin, garbled)
		}
		if s.Next.Do != run.Finish || s.End != run.Failed {
			t.Errorf("after %d fixes: next %+v end %q", limit, s.Next, s.End)
		}
		told(t, s, run.RunFailed{Error: s.Problem})
		if s.State.Status != run.Failed || s.State.LastError.Code != "FIX_LIMIT" || s.State.Iteration != limit+1 {
			t.Errorf("state %+v", s.State)
		}
	}
}

func TestEventsOutOfTurnChangeNothing(t *testing.T) {
	everything := []run.Payload{
		run.RunCreated{}, begin, planned, garbled, produced, run.ApprovalRequested{}, run.ApprovalGranted{}, run.ApprovalRejected{},
		applied, refused, passed, fixable, blocked, run.QuestionRaised{}, answered, run.RunCompleted{}, run.RunFailed{}, run.RunCanceled{},
	}
	for _, tc := range []struct {
		name  string
		given []run.Payload
		only  []run.EventType
	}{
		{"nothing but a start follows creation", nil, []run.EventType{run.PhaseStartedEvent, run.RunCanceledEvent}},
		{"a patch under approval is not applied", []run.Payload{begin, planned, begin, produced, run.ApprovalRequested{Gate: 1}},
			[]run.EventType{run.ApprovalGrantedEvent, run.ApprovalRejectedEvent, run.RunCanceledEvent}},
		{"nothing follows the end", []run.Payload{run.RunCanceled{}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := fresh(t, 3)
			told(t, s, tc.given...)
			before, _ := json.Marshal(s)
			for _, p := range everything {
				if slices.Contains(tc.only, p.Type()) {
					continue
				}
				if err := s.Apply(s.Event(start, p)); !errors.Is(err, run.ErrTransition) {
					t.Errorf("%s: %v", p.Type(), err)
				}
			}
			if after, _ := json.Marshal(s); string(after) != string(before) {
				t.Errorf("changed from %s\nto %s", before, after)
			}
		})
	}
}

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

func TestSnapshotSurvivesJSON(t *testing.T) {
	s := fresh(t, 3)
	events := told(t, s, begin, planned, begin, askedFor, begin, run.QuestionRaised{QuestionID: "qst-1-1", Asker: run.Execute}, answered, closed, begin, produced, run.ApprovalRequested{ApprovalID: "a", Gate: 1})
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back run.Snapshot
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*s, back) {
		t.Errorf("snapshot differs after JSON:\n%+v\n%+v", *s, back)
	}
	if b, err = json.Marshal(events); err != nil {
		t.Fatal(err)
	}
	var read []run.Event
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(events, read) {
		t.Error("events differ after JSON")
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
