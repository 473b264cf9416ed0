package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// fakeRun is a run in memory: the contract's own snapshot, moved by a script
// of payloads of which each poll lets one happen.
type fakeRun struct {
	mu         sync.Mutex
	s          *run.Snapshot
	script     []func(*run.Snapshot) run.Payload
	events     []run.Event
	execution  runs.Execution
	troubles   []error // of the next polls
	refuse     error   // of the next decision
	elsewhere  *run.Decision
	unpolled   int // pendings until elsewhere decides
	describing []runs.Activity
	noted      []run.Note
}

func play(script ...func(*run.Snapshot) run.Payload) *fakeRun {
	in := run.Input{RunID: "r1", Goal: "g", Repository: run.Repository{Path: "/r", Base: "b"}, Policy: run.Always}
	f := &fakeRun{s: run.New(in), script: script, execution: runs.Execution{Open: true}}
	f.add(run.RunCreated{Input: in, Format: run.Format})
	return f
}

func is(p run.Payload) func(*run.Snapshot) run.Payload {
	return func(*run.Snapshot) run.Payload { return p }
}

func (f *fakeRun) add(p run.Payload) {
	e := f.s.Event(time.Unix(int64(f.s.Seq), 0), p)
	if err := f.s.Apply(e); err != nil {
		panic(err)
	}
	f.events = append(f.events, e)
}

func (f *fakeRun) Events(_ context.Context, _ run.ID, after string) ([]run.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.troubles) > 0 {
		err := f.troubles[0]
		f.troubles = f.troubles[1:]
		return nil, err
	}
	if len(f.script) > 0 && f.s.Next.Do != run.Decide && f.s.Next.Do != run.Await {
		f.add(f.script[0](f.s))
		f.script = f.script[1:]
	}
	return slices.Clone(f.events[run.Event{ID: after}.Seq():]), nil
}

// Describe returns an open execution until the run is over: nothing is left to clean up then.
func (f *fakeRun) Describe(context.Context, run.ID) (runs.Execution, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.execution
	e.Open = e.Open && !f.s.State.Status.Terminal()
	e.Activities = f.describing
	return e, nil
}

func (f *fakeRun) Pending(context.Context, run.ID) (run.Pending, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.elsewhere != nil {
		if f.unpolled--; f.unpolled < 0 {
			f.settle(*f.elsewhere)
			f.elsewhere = nil
		}
	}
	return f.s.Pending(), nil
}

func (f *fakeRun) Decide(_ context.Context, _ run.ID, d run.Decision) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refuse; err != nil {
		f.refuse = nil
		return err
	}
	if err := f.s.CheckDecision(d); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	f.settle(d)
	return nil
}

func (f *fakeRun) settle(d run.Decision) {
	id := f.s.State.PendingApprovalID
	if d.Decision == run.Approve {
		f.add(run.ApprovalGranted{ApprovalID: id, By: d.By})
		return
	}
	f.add(run.ApprovalRejected{ApprovalID: id, By: d.By, Reason: d.Reason, Final: d.Final})
}

func (f *fakeRun) Reply(_ context.Context, _ run.ID, r run.Reply) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.s.CheckReply(r); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	f.add(run.QuestionAnswered{QuestionID: r.QuestionID, Text: r.Text})
	return nil
}

func (f *fakeRun) Note(_ context.Context, _ run.ID, n run.Note) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.s.CheckNote(n); err != nil {
		return &runs.RefusedError{Reason: err.Error()}
	}
	f.noted = append(f.noted, n)
	return nil
}

func (f *fakeRun) Cancel(context.Context, run.ID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(run.RunCanceled{Reason: "a cancellation was requested"})
	return nil
}

// approves decides at once, or waits for ever.
type approves struct {
	verdict run.Verdict // empty: waits for ever
	err     error
}

func (a approves) Approve(ctx context.Context, p run.PendingApproval) (run.Decision, error) {
	if a.verdict == "" && a.err == nil {
		<-ctx.Done()
		return run.Decision{}, context.Cause(ctx)
	}
	return run.Decision{ApprovalID: p.ApprovalID, Decision: a.verdict, Final: a.verdict == run.Reject}, a.err
}

func (a approves) Answer(_ context.Context, q run.PendingQuestion) (run.Reply, error) {
	return run.Reply{QuestionID: q.QuestionID, Text: "yes"}, a.err
}

// clock moves by a step each time it is read.
type clock struct {
	at   time.Time
	step time.Duration
}

func (c *clock) now() time.Time {
	c.at = c.at.Add(c.step)
	return c.at
}

var (
	toPatch = []func(*run.Snapshot) run.Payload{
		is(run.PhaseStarted{Role: run.Planner}), is(run.PhaseCompleted{Result: run.Planned}),
		is(run.PhaseStarted{Role: run.Developer}), is(run.PatchProduced{Proposal: run.Proposal{Base: "b", Summary: "s"}}),
		func(s *run.Snapshot) run.Payload { return s.NewApproval() },
	}
	toEnd = []func(*run.Snapshot) run.Payload{
		is(run.PatchApplied{Commit: "c"}), is(run.PhaseCompleted{Result: run.Patched}), is(run.PhaseStarted{Role: run.Evaluator}),
		is(run.EvaluationPassed{}), is(run.PhaseCompleted{Result: run.Pass}), is(run.RunCompleted{Commits: 1}),
	}
	toReject = []func(*run.Snapshot) run.Payload{is(run.PhaseCompleted{Result: run.Rejected}), is(run.RunCanceled{Reason: "no"})}
)

func TestFollow(t *testing.T) {
	for _, tt := range []struct {
		name    string
		run     *fakeRun
		decider decider
		change  func(*fakeRun)
		want    run.Status
		says    string
		err     string
	}{
		{name: "to the end", run: play(slices.Concat(toPatch, toEnd)...), decider: approves{verdict: run.Approve}, want: run.Completed},
		{name: "to a final no", run: play(slices.Concat(toPatch, toReject)...), decider: approves{verdict: run.Reject}, want: run.Canceled},
		{name: "to an approval that nobody is there for", run: play(toPatch...), want: run.AwaitingApproval},
		{name: "to an approval that the person leaves", run: play(toPatch...), decider: approves{err: errUnanswered}, want: run.AwaitingApproval},
		{name: "past an approval that is settled elsewhere", run: play(slices.Concat(toPatch, toEnd)...), decider: approves{}, want: run.Completed, says: "settled elsewhere",
			change: func(f *fakeRun) { f.elsewhere, f.unpolled = &run.Decision{Decision: run.Approve}, 1 }},
		{name: "past one that nobody is there for and that is settled elsewhere", run: play(slices.Concat(toPatch, toEnd)...), want: run.Completed,
			change: func(f *fakeRun) { f.elsewhere = &run.Decision{Decision: run.Approve} }},
		{name: "past a decision that is refused", run: play(slices.Concat(toPatch, toEnd)...), decider: approves{verdict: run.Approve}, want: run.Completed, says: "decided already",
			change: func(f *fakeRun) { f.refuse = &runs.RefusedError{Reason: "it has been decided already"} }},
		{name: "through an engine that is away for a moment", run: play(slices.Concat(toPatch[:4])...), want: "", err: "ended from", says: "engine does not answer",
			change: func(f *fakeRun) {
				f.troubles = []error{serviceerror.NewUnavailable("down"), serviceerror.NewUnavailable("down")}
				f.execution = runs.Execution{Open: false}
				f.execution.Outcome = "ended from outside"
			}},
		{name: "until the engine is lost", run: play(), err: "engine was lost",
			change: func(f *fakeRun) { f.troubles = slices.Repeat([]error{serviceerror.NewUnavailable("down")}, 40) }},
		{name: "of a run that nobody serves and that is over", run: play(), err: "no worker answers",
			change: func(f *fakeRun) {
				f.troubles = []error{runs.ErrNoWorker}
				f.execution = runs.Execution{Listed: runs.Listed{Status: run.Failed}}
			}},
		{name: "past an activity that fails", run: play(slices.Concat(toPatch, toEnd)...), decider: approves{verdict: run.Approve}, want: run.Completed, says: "attempt 2 at the plan follows: no <U+001B> luck",
			change: func(f *fakeRun) {
				f.describing = []runs.Activity{{Name: "Plan", Attempt: 2, Failure: "no \x1b luck"}}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.change != nil {
				tt.change(tt.run)
			}
			var out captured.Output
			var told []string
			f := &follower{
				watched: tt.run, id: "r1", decider: tt.decider, now: (&clock{step: 2 * time.Second}).now, poll: time.Millisecond,
				screen: terminal.NewScreen(&out, terminal.Options{}),
				tell:   func(e run.Event) error { told = append(told, e.ID); return nil },
			}
			status, err := f.follow(t.Context())
			if status != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v", status, err)
			}
			if n := strings.Count(out.String(), tt.says); tt.says != "" && n != 1 {
				t.Errorf("%d times %q in: %s", n, tt.says, out.String())
			}
			for i, id := range told {
				if id != run.EventID(i+1) {
					t.Fatalf("told %v", told)
				}
			}
		})
	}
}

func TestInterruptLeavesTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{
		watched: play(toPatch[:1]...), id: "r1", now: time.Now, poll: time.Millisecond, screen: terminal.NewScreen(io.Discard, terminal.Options{}),
		tell: func(e run.Event) error {
			if e.Type == run.PhaseStartedEvent {
				cancel()
			}
			return nil
		},
	}
	if _, err := f.follow(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Finding B12.
func TestTheMovingLineSaysForWhomAStepWaits(t *testing.T) {
	now := time.Now()
	e := runs.Execution{Activities: []runs.Activity{
		{Name: "Prepare", Running: true, Attempt: 1, Since: now},
		{Name: "Propose", Running: true, Attempt: 2, Since: now.Add(-time.Minute), Beat: report.Progress{Doing: "waits: process 4711 holds the answer"}},
	}}
	if got := activityText(e, now); !strings.HasPrefix(got, "waits: process 4711 holds the answer · ") || !strings.Contains(got, "attempt 2") {
		t.Errorf("says %q", got)
	}
}

func TestNewestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"I look":                         "I look",
		"I looked. Now I change slug.go": "Now I change slug.go",
		"First. Then this one.":          "Then this one.",
		strings.Repeat("x", 100) + "off in mid word " + strings.Repeat("and on ", 20): strings.TrimSpace("in mid word " + strings.Repeat("and on ", 20)),
	} {
		if got := newestSentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// noting follows a run in which a person types lines while nothing is asked.
func noting(t *testing.T, r *fakeRun, lines ...string) (f *follower, said *captured.Output) {
	t.Helper()
	notes := make(chan string, len(lines))
	for _, line := range lines {
		notes <- line
	}
	said = &captured.Output{}
	return &follower{
		watched: r, id: "r1", now: time.Now, poll: 5 * time.Millisecond, notes: notes, by: "ada",
		screen: terminal.NewScreen(said, terminal.Options{}), tell: func(run.Event) error { return nil },
	}, said
}

// A line that is typed while the agent works is a note, and is acknowledged; a key that came too late or too
// early is none.
func TestATypedLineIsANote(t *testing.T) {
	r := play(toPatch...)
	f, out := noting(t, r, "y", "please use a table \x1b[2Jtest", " ")
	if status, err := f.follow(t.Context()); status != run.AwaitingApproval || err != nil {
		t.Fatalf("%s, %v", status, err)
	}
	if len(r.noted) != 1 || r.noted[0].By != "ada" || !strings.HasPrefix(r.noted[0].Text, "please use") {
		t.Errorf("noted %+v", r.noted)
	}
	if said := out.String(); strings.Contains(said, "\x1b") || strings.Count(said, "noted: ") != 1 || !strings.Contains(said, "nothing waits for a decision") {
		t.Errorf("said %q", said)
	}
}

func TestANoteSaysWhoReadsIt(t *testing.T) {
	for _, tt := range []struct {
		n     notesLeft
		phase run.Phase
		want  string
	}{
		{notesLeft{}, "", "the planner reads it"},
		{notesLeft{}, run.Plan, "the developer reads it, with the plan"},
		{notesLeft{}, run.Execute, "a fix reads it, if there is one: where the checks pass, no model reads any more"},
		{notesLeft{evaluate: true}, run.Fix, "the evaluator reads it next, and a fix would"},
		{notesLeft{evaluate: true}, run.Evaluate, "a fix reads it, if there is one: where the checks pass, no model reads any more"},
		{notesLeft{steers: true}, run.Execute, "the agent is told now, and the next prompt carries it as well"},
	} {
		if got := tt.n.reader(tt.phase); got != tt.want {
			t.Errorf("%+v in %q: %s", tt.n, tt.phase, got)
		}
	}
}

// A note that was left too late, or that no model read before the run ended, is told at the end.
func TestANoteThatNoModelReadIsTold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begin func(*follower)
		told  bool
	}{
		{"left after the last prompt", func(f *follower) { f.typed.unread = []string{"late"} }, true},
		{"carried by a phase without a model", func(f *follower) { f.typed.unread = []string{"carried"} }, true},
		{"read by the agent in its turn", func(f *follower) {
			f.typed.unread = []string{"late"}
			f.tools, f.showTool = func() []rundir.ToolCall { return []rundir.ToolCall{{Note: true, Target: "late"}} }, func(rundir.ToolCall) {}
		}, false},
		{"carried by the first prompt", func(f *follower) { f.typed.unread = []string{"planned"} }, false},
	} {
		r := play(slices.Concat([]func(*run.Snapshot) run.Payload{is(run.PhaseStarted{Role: run.Planner, Notes: []run.Note{{Text: "planned"}}})}, toPatch[1:], toEnd)...)
		r.s.AddNote(run.Note{Text: "planned"})
		f, out := noting(t, r)
		tell := f.tell
		f.tell = func(e run.Event) error {
			if e.Phase == run.Evaluate {
				f.typed.carry([]run.Note{{Text: "carried"}})
			}
			return tell(e)
		}
		f.decider = approves{verdict: run.Approve}
		tt.begin(f)
		if status, err := f.follow(t.Context()); status != run.Completed || err != nil {
			t.Fatalf("%s: %s, %v", tt.name, status, err)
		}
		if said := out.String(); strings.Contains(said, "the run ended before a model read your note") != tt.told {
			t.Errorf("%s: said %q", tt.name, said)
		}
	}
}

// cancels ends the run at its first question.
type cancels struct{ approves }

func (cancels) Answer(context.Context, run.PendingQuestion) (run.Reply, error) {
	return run.Reply{}, dialog.ErrCancel
}

func TestAPersonEndsTheRunAtAQuestion(t *testing.T) {
	r := play(is(run.PhaseStarted{Role: run.Planner}), is(run.PhaseFailed{Error: run.Problem{Code: "AUTH"}, Question: &run.Question{Question: "no key"}}),
		is(run.PhaseStarted{}), func(s *run.Snapshot) run.Payload { return s.NewQuestion() })
	f := &follower{
		watched: r, id: "r1", now: time.Now, poll: time.Millisecond, decider: cancels{},
		screen: terminal.NewScreen(io.Discard, terminal.Options{}), tell: func(run.Event) error { return nil },
	}
	if status, err := f.follow(t.Context()); status != run.Canceled || err != nil {
		t.Errorf("%s, %v", status, err)
	}
}

// Tool calls stand between the events that came before and after them.
func TestToolCallsStandBetweenTheEvents(t *testing.T) {
	r := play(toPatch...)
	var told []string
	given := false
	f := &follower{
		watched: r, id: "r1", now: func() time.Time { return time.Unix(100, 0) }, poll: time.Millisecond,
		screen: terminal.NewScreen(io.Discard, terminal.Options{}),
		tell:   func(e run.Event) error { told = append(told, string(e.Type)); return nil },
		tools: func() []rundir.ToolCall {
			if given {
				return nil
			}
			given = true
			return []rundir.ToolCall{{Tool: "early", Time: time.Unix(2, 5)}, {Tool: "late", Time: time.Unix(4, 5)}}
		},
		showTool: func(c rundir.ToolCall) { told = append(told, c.Tool) },
	}
	for len(r.script) > 0 { // all has happened: the follower replays it
		r.add(r.script[0](r.s))
		r.script = r.script[1:]
	}
	if _, err := f.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"RUN_CREATED", "PHASE_STARTED", "PHASE_COMPLETED", "early", "PHASE_STARTED", "PATCH_PRODUCED", "late", "APPROVAL_REQUESTED"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// lateRun shows for a few looks after a decision what it showed before.
type lateRun struct {
	*fakeRun
	before run.Pending
	looks  int
}

func (r *lateRun) Decide(ctx context.Context, id run.ID, d run.Decision) error {
	r.before, _ = r.fakeRun.Pending(ctx, id)
	err := r.fakeRun.Decide(ctx, id, d)
	if err == nil {
		r.looks = 5
	}
	return err
}

func (r *lateRun) Pending(ctx context.Context, id run.ID) (run.Pending, error) {
	if r.looks > 0 {
		r.looks--
		return r.before, nil
	}
	return r.fakeRun.Pending(ctx, id)
}

func (r *lateRun) Events(ctx context.Context, id run.ID, after string) ([]run.Event, error) {
	if r.looks > 0 {
		r.looks--
		return nil, nil
	}
	return r.fakeRun.Events(ctx, id, after)
}

// countedApprovals counts how often the person is asked.
type countedApprovals struct {
	approves
	asked *int
}

func (c countedApprovals) Approve(ctx context.Context, p run.PendingApproval) (run.Decision, error) {
	*c.asked++
	return c.approves.Approve(ctx, p)
}

func TestAPersonIsAskedOnceForADecision(t *testing.T) {
	asked := 0
	f := &follower{
		watched: &lateRun{fakeRun: play(slices.Concat(toPatch, toEnd)...)}, id: "r1", now: (&clock{time.Unix(0, 0), 200 * time.Millisecond}).now, poll: time.Millisecond,
		decider: countedApprovals{approves{verdict: run.Approve}, &asked},
		screen:  terminal.NewScreen(io.Discard, terminal.Options{}), tell: func(run.Event) error { return nil },
	}
	if status, err := f.follow(t.Context()); status != run.Completed || err != nil || asked != 1 {
		t.Errorf("%s, %v, asked %d times", status, err, asked)
	}
}

// informedPerson notes what it is told of its decisions.
type informedPerson struct {
	approves
	told *[]error
}

func (p informedPerson) Sent(err error) { *p.told = append(*p.told, err) }

func TestAPersonIsToldWhatBecameOfADecision(t *testing.T) {
	var told []error
	r := play(slices.Concat(toPatch, toEnd)...)
	refused := &runs.RefusedError{Reason: "it has been decided already"}
	r.refuse = refused
	f := &follower{
		watched: r, id: "r1", now: (&clock{step: 2 * time.Second}).now, poll: time.Millisecond, decider: informedPerson{approves{verdict: run.Approve}, &told},
		screen: terminal.NewScreen(io.Discard, terminal.Options{}), tell: func(run.Event) error { return nil },
	}
	if status, err := f.follow(t.Context()); status != run.Completed || err != nil || !slices.Equal(told, []error{refused, nil}) {
		t.Errorf("%s, %v, told %v", status, err, told)
	}
}

// disputedRun asks about its record, without an event, until it is answered.
type disputedRun struct {
	*fakeRun
	answered atomic.Bool
}

func (r *disputedRun) Events(ctx context.Context, id run.ID, after string) ([]run.Event, error) {
	if after != "" && !r.answered.Load() {
		return nil, nil
	}
	return r.fakeRun.Events(ctx, id, after)
}

func (r *disputedRun) Pending(ctx context.Context, id run.ID) (run.Pending, error) {
	if r.answered.Load() {
		return r.fakeRun.Pending(ctx, id)
	}
	return run.Pending{RunID: id, Status: run.AwaitingInput, Question: &run.PendingQuestion{
		QuestionID: "qst-record-6", Kind: run.RecordQuestion, Question: run.Question{Question: "How shall the run go on?", Reason: run.CodeAhead},
	}}, nil
}

func (r *disputedRun) Reply(_ context.Context, _ run.ID, a run.Reply) error {
	if a.QuestionID != "qst-record-6" || r.answered.Swap(true) {
		return &runs.RefusedError{Reason: "nothing is asked"}
	}
	return nil
}

func TestFollowARunThatAsksAboutItsRecord(t *testing.T) {
	for name, tt := range map[string]struct {
		decider decider
		want    run.Status
	}{
		"without a person": {want: run.AwaitingInput},
		"with a person":    {decider: approves{verdict: run.Approve}, want: run.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var out captured.Output
			f := &follower{
				watched: &disputedRun{fakeRun: play(slices.Concat(toPatch, toEnd)...)}, id: "r1", decider: tt.decider, now: time.Now, poll: time.Millisecond,
				screen: terminal.NewScreen(&out, terminal.Options{}), tell: func(run.Event) error { return nil },
			}
			if status, err := f.follow(ctx); status != tt.want || err != nil {
				t.Errorf("%q, %v", status, err)
			}
			if n := strings.Count(out.String(), "How shall the run go on?"); n != 1 {
				t.Errorf("%d times the question in: %s", n, out.String())
			}
		})
	}
}
