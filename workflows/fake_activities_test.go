package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/ratchet-dev/ratchet/activities"
	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// fakeActivities stand in for everything that a run touches: providers that answer
// from a script, a branch, a record. It works in memory and keeps the rules
// that the real one keeps.
type fakeActivities struct {
	mu        sync.Mutex
	answers   []activities.ProposeResult         // of developer and fixer, in turn; the last one again and again
	verdicts  []activities.Judgement             // of the checks, likewise; none passes
	judged    []activities.Judgement             // of the evaluator, likewise
	baselines []run.Baseline                     // of the checks on the base commit, likewise; none fails as expected
	planErr   []error                            // of the first calls of the planner
	judgeErr  []error                            // of the first calls of the evaluator
	refuse    []*run.Problem                     // of the applications, in turn
	unfit     []*run.Problem                     // why a part is no patch, in turn; the last one again and again
	rivals    map[int][]activities.ProposeResult // of several attempts, in turn
	failing   map[int]bool                       // attempts whose checks fail
	during    func(activities.Call)              // what happens during each call of a developer
	back      bool                               // a lost proposal is found again
	loseAt    int                                // the application that finds the record empty; 0: none

	ahead  func(activities.Header) bool // the record knows more than the workflow
	doubts bool                         // the record is never what the workflow says
	over   bool                         // a person let the workflow's events replace others

	prepareErr, checkErr, applyErr, branchErr, baselineErr, partErr []error // of the first of each
	moved                                                           string  // where the branch is at the end

	events         []run.Event
	state          run.State
	applied        []activities.ApplyInput
	parts          []activities.PartInput
	calls          []activities.Call
	guidance       [][]run.Guidance // of each call
	checks         int
	checked, based []activities.CheckInput // of evaluations; of baselines
	tried          []activities.TryInput
	cleaned        int
	prepared       int
	ended          []activities.BranchInput
	largest        int // most events that one application brought
	told           []deliveryacts.SendInput
	tellErr        error
}

func next[T any](list *[]T, none T) T {
	if len(*list) == 0 {
		return none
	}
	head := (*list)[0]
	if len(*list) > 1 {
		*list = (*list)[1:]
	}
	return head
}

func (w *fakeActivities) Record(_ context.Context, p activities.Header) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.record(p)
}

// record keeps the rules of the run directory.
func (w *fakeActivities) record(p activities.Header) error {
	if len(p.Entry.Events) == 0 {
		return nil
	}
	if w.ahead != nil && w.ahead(p) && !p.Entry.Over {
		more := rundir.Ahead{Last: "evt-000013", Type: run.RunCompletedEvent, Events: 6}
		return temporal.NewNonRetryableApplicationError("ahead", activities.AheadError, nil, more)
	}
	if w.doubts && p.Entry.Before != "" {
		return temporal.NewNonRetryableApplicationError("behind", activities.BehindError, nil, 0)
	}
	w.over = w.over || p.Entry.Over
	if p.Entry.First() > len(w.events)+1 {
		return temporal.NewNonRetryableApplicationError("behind", activities.BehindError, nil, len(w.events))
	}
	for _, e := range p.Entry.Events {
		if e.Seq() == len(w.events)+1 {
			w.events = append(w.events, e)
		}
	}
	w.state = p.Entry.State
	return nil
}

// brief is what the prompt of the call is made from.
func (w *fakeActivities) brief(c activities.Call) error {
	if err := w.record(c.Header); err != nil {
		return err
	}
	s, err := run.Fold(w.events)
	if err != nil {
		return err
	}
	w.calls, w.guidance = append(w.calls, c), append(w.guidance, s.Guidance)
	return nil
}

func (w *fakeActivities) SendToSession(_ context.Context, in deliveryacts.SendInput) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, in)
	return w.tellErr
}

func (w *fakeActivities) Prepare(context.Context, activities.Header) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepared++
	return take(&w.prepareErr)
}

func (w *fakeActivities) CheckBranch(_ context.Context, in activities.BranchInput) (activities.BranchResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.record(in.Header); err != nil {
		return activities.BranchResult{}, err
	}
	w.ended = append(w.ended, in)
	return activities.BranchResult{Moved: w.moved}, take(&w.branchErr)
}

// take takes the first error of a list, nil when none is left.
func take(list *[]error) error {
	if len(*list) == 0 {
		return nil
	}
	err := (*list)[0]
	*list = (*list)[1:]
	return err
}

func (w *fakeActivities) CleanUp(_ context.Context, p activities.Header) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleaned++
	return w.record(p)
}

func (w *fakeActivities) Plan(_ context.Context, c activities.Call) (activities.PlanResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.brief(c); err != nil {
		return activities.PlanResult{}, err
	}
	if len(w.planErr) > 0 {
		err := w.planErr[0]
		w.planErr = w.planErr[1:]
		return activities.PlanResult{}, err
	}
	return activities.PlanResult{Plan: run.Ref{Name: c.Artifact("md"), Digest: "plan"}, Summary: "the plan"}, nil
}

func (w *fakeActivities) Propose(_ context.Context, c activities.Call) (activities.ProposeResult, error) {
	if w.during != nil {
		w.during(c)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.brief(c); err != nil {
		return activities.ProposeResult{}, err
	}
	if c.Lost != nil && w.back {
		return activities.ProposeResult{Raw: c.Lost.Raw, Summary: c.Lost.Summary, Proposal: c.Lost}, nil
	}
	answers := &w.answers
	if c.Candidate > 0 {
		list := w.rivals[c.Candidate]
		answers = &list
		defer func() { w.rivals[c.Candidate] = list }()
	}
	out := next(answers, patch("one"))
	if out.Proposal != nil {
		p := *out.Proposal
		p.Base = c.Head
		out.Proposal = &p
	}
	return out, nil
}

func (w *fakeActivities) TakePart(_ context.Context, in activities.PartInput) (activities.PartResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.record(in.Header); err != nil {
		return activities.PartResult{}, err
	}
	w.parts = append(w.parts, in)
	if err := take(&w.partErr); err != nil {
		return activities.PartResult{}, err
	}
	if problem := next(&w.unfit, nil); problem != nil {
		return activities.PartResult{Refusal: problem}, nil
	}
	name := "part of " + in.Part.Of.Patch.Name
	if in.Part.Edit != nil {
		name = in.Part.Edit.Name
	}
	p := patch(name).Proposal
	p.Base, p.PartOf = in.Part.Of.Base, in.Part.Of.Patch.Digest
	if in.Part.Edit != nil {
		p.EditedBy = in.Part.By
	}
	return activities.PartResult{Proposal: p}, nil
}

// badEdit is an edit that does not apply.
const badEdit = "bad"

func (w *fakeActivities) KeepEdit(_ context.Context, in activities.EditInput) (activities.EditResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.record(in.Header); err != nil {
		return activities.EditResult{}, err
	}
	if in.Patch == badEdit {
		return activities.EditResult{Refusal: &run.Problem{Code: "CONFLICT", Message: "line 3 is not there"}}, nil
	}
	ref := patch("edit of " + in.Of.Patch.Name).Proposal.Patch
	return activities.EditResult{Edit: &ref}, nil
}

func (w *fakeActivities) Apply(_ context.Context, in activities.ApplyInput) (activities.ApplyResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loseAt > 0 && w.loseAt == len(w.applied)+1 {
		w.loseAt, w.events = 0, nil
	}
	if err := w.record(in.Header); err != nil {
		return activities.ApplyResult{}, err
	}
	w.largest = max(w.largest, len(in.Entry.Events))
	if err := take(&w.applyErr); err != nil {
		return activities.ApplyResult{}, err
	}
	if problem := next(&w.refuse, nil); problem != nil {
		w.refuse = w.refuse[min(1, len(w.refuse)):]
		return activities.ApplyResult{Refusal: problem}, nil
	}
	w.applied = append(w.applied, in)
	return activities.ApplyResult{Commit: run.Commit(fmt.Sprintf("c%d", len(w.applied))), Stat: run.Stat{Files: len(w.applied)}}, nil
}

func (w *fakeActivities) Check(_ context.Context, in activities.CheckInput) (activities.Judgement, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.record(in.Header); err != nil {
		return activities.Judgement{}, err
	}
	if in.Baseline {
		if err := take(&w.baselineErr); err != nil {
			return activities.Judgement{}, err
		}
		w.based = append(w.based, in)
		b := next(&w.baselines, failsAsExpected)
		return activities.Judgement{Verdict: run.Fixable, Report: b.Report, Baseline: &b}, nil
	}
	if err := take(&w.checkErr); err != nil {
		return activities.Judgement{}, err
	}
	w.checks++
	w.checked = append(w.checked, in)
	return next(&w.verdicts, activities.Judgement{Verdict: run.Pass, Report: run.Ref{Name: "evaluate"}}), nil
}

func (w *fakeActivities) Try(_ context.Context, in activities.TryInput) (activities.Judgement, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.record(in.Header); err != nil {
		return activities.Judgement{}, err
	}
	w.tried = append(w.tried, in)
	if w.failing[in.Candidate] {
		return fixable, nil
	}
	return pass, nil
}

func (w *fakeActivities) Judge(_ context.Context, in activities.JudgeInput) (activities.Judgement, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.brief(in.Call); err != nil {
		return activities.Judgement{}, err
	}
	if err := take(&w.judgeErr); err != nil {
		return activities.Judgement{}, err
	}
	return next(&w.judged, activities.Judgement{Verdict: run.Pass, Report: run.Ref{Name: "evaluate"}}), nil
}

func (w *fakeActivities) types() []run.EventType {
	w.mu.Lock()
	defer w.mu.Unlock()
	var types []run.EventType
	for _, e := range w.events {
		types = append(types, e.Type)
	}
	return types
}

// Answers of a developer.
func patch(name string, risks ...string) activities.ProposeResult {
	return activities.ProposeResult{Summary: name, Proposal: &run.Proposal{
		Patch: run.Ref{Name: name, Digest: run.DigestOf([]byte(name))}, Summary: name,
		Stat: run.Stat{Files: 1, Added: 1}, Risks: risks, Excerpt: "+" + name,
	}}
}

func question(text string) activities.ProposeResult {
	return activities.ProposeResult{Question: &run.Question{Question: text}}
}

func garbage() activities.ProposeResult {
	return activities.ProposeResult{Violation: &run.Problem{Code: "no_type", Message: "no answer in it"}}
}

// limited is the answer of a provider that is for the time given.
func limited(d time.Duration) activities.ProposeResult {
	return activities.ProposeResult{Halt: &run.Halt{Limited: &run.Limited{Until: time.Now().Add(d), Provider: "replay:x", Reason: "5-hour limit"}}}
}

// asksFor is the answer of an agent that waits for a permission.
func asksFor(call string) activities.ProposeResult {
	return activities.ProposeResult{Halt: &run.Halt{Permission: &run.Permission{
		CallID: call, Tool: "Bash", Digest: run.DigestOf([]byte(call)), Title: "go test ./...",
		Input: run.Ref{Name: "execute/iter-0001.permission.json", Digest: run.DigestOf([]byte(call)), Bytes: 9}, Excerpt: `{"a": 1}`,
	}}}
}

func attemptAsks(attempt int, call string) activities.ProposeResult {
	r := asksFor(call)
	r.Halt.Permission.Candidate = attempt
	return r
}

func noop() activities.ProposeResult { return activities.ProposeResult{Summary: "already done"} }

// failsAsExpected is the baseline of a run whose goal is to mend it.
var failsAsExpected = run.Baseline{
	Report: run.Ref{Name: "evaluate/iter-0000.json", Digest: run.DigestOf([]byte("base"))}, Millis: 2100,
	Failed: []run.BaselineCheck{{Command: "go test", ExitCode: 1, Failed: 1, Cases: 3}},
}

// unknownBase is the baseline of a worker without cargo.
var unknownBase = run.Baseline{
	Report:  run.Ref{Name: "evaluate/iter-0000.json", Digest: run.DigestOf([]byte("none"))},
	Problem: &run.Problem{Code: run.CodeBaseline, Message: "cargo test cannot run: a program is missing (exit code 127)"},
}

var (
	pass    = activities.Judgement{Verdict: run.Pass, Report: run.Ref{Name: "evaluate"}}
	fixable = activities.Judgement{Verdict: run.Fixable, Report: run.Ref{Name: "evaluate"}, Reasons: []string{"go test failed"}, Failed: []string{"go test"}}
	blocked = activities.Judgement{Verdict: run.Blocked, Report: run.Ref{Name: "evaluate"}, Question: &run.Question{Question: "install cargo?"}}
)

func input(policy run.Policy, maxFix int) run.Input {
	return run.Input{
		RunID: "r1", Goal: "make it work", Policy: policy, MaxFix: &maxFix, Checks: []string{"go test"},
		Repository: run.Repository{Path: "/repo", Base: "b0"},
		Providers:  run.Providers{Planner: "replay:x", Developer: "replay:x", Fixer: "replay:x"},
	}
}

// env is a test environment with the fake activities, in a suite that set has changed.
func env(t testing.TB, w *fakeActivities, set ...func(*testsuite.WorkflowTestSuite)) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	e := temporaltest.Environment(set...)
	e.RegisterWorkflow(workflows.Run)
	for name, f := range activitiesByName(w) {
		e.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	return e
}

// query asks the workflow.
func query[T any](t testing.TB, e *testsuite.TestWorkflowEnvironment, name string, args ...any) T {
	t.Helper()
	var out T
	v, err := e.QueryWorkflow(name, args...)
	if err == nil {
		err = v.Get(&out)
	}
	if err != nil {
		t.Fatalf("query %s: %v", name, err)
	}
	return out
}

// approveAll approves whatever is pending, for as long as the run lives.
func approveAll(t testing.TB, e *testsuite.TestWorkflowEnvironment) {
	var again func()
	again = func() {
		if p := query[run.Pending](t, e, workflows.PendingQuery); p.Approval != nil {
			e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: p.Approval.ApprovalID, Decision: run.Approve, By: "test"})
		}
		if !e.IsWorkflowCompleted() {
			e.RegisterDelayedCallback(again, time.Second)
		}
	}
	e.RegisterDelayedCallback(again, time.Second)
}

func checkFold(t testing.TB, w *fakeActivities) {
	t.Helper()
	s, err := run.Fold(w.events)
	if err != nil {
		t.Fatalf("the record does not fold: %v", err)
	}
	if got, want := s.State.Status, w.state.Status; got != want {
		t.Errorf("events fold to %s, the state says %s", got, want)
	}
	if *w.state.LastEventID != w.events[len(w.events)-1].ID {
		t.Errorf("state ends at %s, the events at %s", *w.state.LastEventID, w.events[len(w.events)-1].ID)
	}
}

func contains(types []run.EventType, want ...run.EventType) bool {
	for _, t := range want {
		i := slices.Index(types, t)
		if i < 0 {
			return false
		}
		types = types[i+1:]
	}
	return true
}

var errAuth = temporal.NewNonRetryableApplicationError("401 unauthorized", "AUTH", nil)
