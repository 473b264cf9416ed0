package follow

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
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
	"github.com/ratchet-dev/ratchet/starter/internal/runtest"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

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
		runtest.Is(run.PhaseStarted{Role: run.Planner}), runtest.Is(run.PhaseCompleted{Result: run.Planned}),
		runtest.Is(run.PhaseStarted{Role: run.Developer}), runtest.Is(run.PatchProduced{Proposal: run.Proposal{Base: "b", Summary: "s"}}),
		func(s *run.Snapshot) run.Payload { return s.NewApproval() },
	}
	toEnd = []func(*run.Snapshot) run.Payload{
		runtest.Is(run.PatchApplied{Commit: "c"}), runtest.Is(run.PhaseCompleted{Result: run.Patched}), runtest.Is(run.PhaseStarted{Role: run.Evaluator}),
		runtest.Is(run.EvaluationPassed{}), runtest.Is(run.PhaseCompleted{Result: run.Pass}), runtest.Is(run.RunCompleted{Commits: 1}),
	}
	toReject = []func(*run.Snapshot) run.Payload{runtest.Is(run.PhaseCompleted{Result: run.Rejected}), runtest.Is(run.RunCanceled{Reason: "no"})}
)

func TestFollow(t *testing.T) {
	for _, tt := range []struct {
		name    string
		run     *runtest.Run
		decider decider
		change  func(*runtest.Run)
		want    run.Status
		says    string
		err     string
	}{
		{name: "to the end", run: runtest.Play(slices.Concat(toPatch, toEnd)...), decider: approves{verdict: run.Approve}, want: run.Completed},
		{name: "to a final no", run: runtest.Play(slices.Concat(toPatch, toReject)...), decider: approves{verdict: run.Reject}, want: run.Canceled},
		{name: "to an approval that nobody is there for", run: runtest.Play(toPatch...), want: run.AwaitingApproval},
		{name: "to an approval that the person leaves", run: runtest.Play(toPatch...), decider: approves{err: ErrUnanswered}, want: run.AwaitingApproval},
		{name: "past an approval that is settled elsewhere", run: runtest.Play(slices.Concat(toPatch, toEnd)...), decider: approves{}, want: run.Completed, says: "decided elsewhere",
			change: func(f *runtest.Run) { f.Elsewhere, f.Unpolled = &run.Decision{Decision: run.Approve}, 1 }},
		{name: "past one that nobody is there for and that is settled elsewhere", run: runtest.Play(slices.Concat(toPatch, toEnd)...), want: run.Completed,
			change: func(f *runtest.Run) { f.Elsewhere = &run.Decision{Decision: run.Approve} }},
		{name: "past a decision that is refused", run: runtest.Play(slices.Concat(toPatch, toEnd)...), decider: approves{verdict: run.Approve}, want: run.Completed, says: "decided already",
			change: func(f *runtest.Run) { f.Refuse = &runs.RefusedError{Reason: "it has been decided already"} }},
		{name: "through an engine that is away for a moment", run: runtest.Play(slices.Concat(toPatch[:4])...), want: "", err: "ended from", says: "engine does not answer",
			change: func(f *runtest.Run) {
				f.Troubles = []error{serviceerror.NewUnavailable("down"), serviceerror.NewUnavailable("down")}
				f.Execution = runs.Execution{Open: false}
				f.Execution.Outcome = "ended from outside"
			}},
		{name: "until the engine is lost", run: runtest.Play(), err: "engine was lost",
			change: func(f *runtest.Run) { f.Troubles = slices.Repeat([]error{serviceerror.NewUnavailable("down")}, 40) }},
		{name: "of a run that nobody serves and that is over", run: runtest.Play(), err: "no worker answers",
			change: func(f *runtest.Run) {
				f.Troubles = []error{runs.ErrNoWorker}
				f.Execution = runs.Execution{Listed: runs.Listed{Status: run.Failed}}
			}},
		{name: "past an activity that fails", run: runtest.Play(slices.Concat(toPatch, toEnd)...), decider: approves{verdict: run.Approve}, want: run.Completed, says: "attempt 2 at the plan follows: no <U+001B> luck",
			change: func(f *runtest.Run) {
				f.Describing = []runs.Activity{{Name: "Plan", Attempt: 2, Failure: "no \x1b luck"}}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.change != nil {
				tt.change(tt.run)
			}
			var out captured.Output
			var told []string
			f := &Follower{
				Watched: tt.run, ID: "r1", Decider: tt.decider, Now: (&clock{step: 2 * time.Second}).now, Poll: time.Millisecond,
				Screen: terminal.NewScreen(&out, terminal.Options{}),
				Print:  func(e run.Event) error { told = append(told, e.ID); return nil },
			}
			status, err := f.Follow(t.Context())
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
	f := &Follower{
		Watched: runtest.Play(toPatch[:1]...), ID: "r1", Now: time.Now, Poll: time.Millisecond, Screen: terminal.NewScreen(io.Discard, terminal.Options{}),
		Print: func(e run.Event) error {
			if e.Type == run.PhaseStartedEvent {
				cancel()
			}
			return nil
		},
	}
	if _, err := f.Follow(ctx); !errors.Is(err, context.Canceled) {
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
	if got := ActivityText(e, now); !strings.HasPrefix(got, "waits: process 4711 holds the answer · ") || !strings.Contains(got, "attempt 2") {
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
func noting(t *testing.T, r *runtest.Run, lines ...string) (f *Follower, said *captured.Output) {
	t.Helper()
	notes := make(chan string, len(lines))
	for _, line := range lines {
		notes <- line
	}
	said = &captured.Output{}
	return &Follower{
		Watched: r, ID: "r1", Now: time.Now, Poll: 5 * time.Millisecond, Notes: notes, by: "ada",
		Screen: terminal.NewScreen(said, terminal.Options{}), Print: func(run.Event) error { return nil },
	}, said
}

// A line that is typed while the agent works is a note, and is acknowledged; a key that came too late or too
// early is none.
func TestATypedLineIsANote(t *testing.T) {
	r := runtest.Play(toPatch...)
	f, out := noting(t, r, "y", "please use a table \x1b[2Jtest", " ")
	if status, err := f.Follow(t.Context()); status != run.AwaitingApproval || err != nil {
		t.Fatalf("%s, %v", status, err)
	}
	if len(r.Noted) != 1 || r.Noted[0].By != "ada" || !strings.HasPrefix(r.Noted[0].Text, "please use") {
		t.Errorf("noted %+v", r.Noted)
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
		{notesLeft{}, run.Execute, "the next attempt reads it; if the checks pass, there is no further attempt"},
		{notesLeft{evaluate: true}, run.Fix, "the evaluator reads it next, and a fix would"},
		{notesLeft{evaluate: true}, run.Evaluate, "the next attempt reads it; if the checks pass, there is no further attempt"},
		{notesLeft{steers: true}, run.Execute, "the agent gets it now, and the next prompt carries it as well"},
	} {
		if got := tt.n.findReader(tt.phase); got != tt.want {
			t.Errorf("%+v in %q: %s", tt.n, tt.phase, got)
		}
	}
}

// A note that was left too late, or that no model read before the run ended, is told at the end.
func TestANoteThatNoModelReadIsTold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begin func(*Follower)
		told  bool
	}{
		{"left after the last prompt", func(f *Follower) { f.typed.unread = []string{"late"} }, true},
		{"carried by a phase without a model", func(f *Follower) { f.typed.unread = []string{"carried"} }, true},
		{"read by the agent in its turn", func(f *Follower) {
			f.typed.unread = []string{"late"}
			f.tools, f.showTool = func() []rundir.ToolCall { return []rundir.ToolCall{{Note: true, Target: "late"}} }, func(rundir.ToolCall) {}
		}, false},
		{"carried by the first prompt", func(f *Follower) { f.typed.unread = []string{"planned"} }, false},
	} {
		r := runtest.Play(slices.Concat([]func(*run.Snapshot) run.Payload{runtest.Is(run.PhaseStarted{Role: run.Planner, Notes: []run.Note{{Text: "planned"}}})}, toPatch[1:], toEnd)...)
		r.Snapshot.AddNote(run.Note{Text: "planned"})
		f, out := noting(t, r)
		next := f.Print
		f.Print = func(e run.Event) error {
			if e.Phase == run.Evaluate {
				f.typed.noteCarried([]run.Note{{Text: "carried"}})
			}
			return next(e)
		}
		f.Decider = approves{verdict: run.Approve}
		tt.begin(f)
		if status, err := f.Follow(t.Context()); status != run.Completed || err != nil {
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
	r := runtest.Play(runtest.Is(run.PhaseStarted{Role: run.Planner}), runtest.Is(run.PhaseFailed{Error: run.Problem{Code: "AUTH"}, Question: &run.Question{Question: "no key"}}),
		runtest.Is(run.PhaseStarted{}), func(s *run.Snapshot) run.Payload { return s.NewQuestion() })
	f := &Follower{
		Watched: r, ID: "r1", Now: time.Now, Poll: time.Millisecond, Decider: cancels{},
		Screen: terminal.NewScreen(io.Discard, terminal.Options{}), Print: func(run.Event) error { return nil },
	}
	if status, err := f.Follow(t.Context()); status != run.Canceled || err != nil {
		t.Errorf("%s, %v", status, err)
	}
}

// Tool calls stand between the events that came before and after them.
func TestToolCallsStandBetweenTheEvents(t *testing.T) {
	r := runtest.Play(toPatch...)
	var told []string
	given := false
	f := &Follower{
		Watched: r, ID: "r1", Now: func() time.Time { return time.Unix(100, 0) }, Poll: time.Millisecond,
		Screen: terminal.NewScreen(io.Discard, terminal.Options{}),
		Print:  func(e run.Event) error { told = append(told, string(e.Type)); return nil },
		tools: func() []rundir.ToolCall {
			if given {
				return nil
			}
			given = true
			return []rundir.ToolCall{{Tool: "early", Time: time.Unix(2, 5)}, {Tool: "late", Time: time.Unix(4, 5)}}
		},
		showTool: func(c rundir.ToolCall) { told = append(told, c.Tool) },
	}
	for len(r.Script) > 0 { // all has happened: the follower replays it
		r.Add(r.Script[0](r.Snapshot))
		r.Script = r.Script[1:]
	}
	if _, err := f.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"RUN_CREATED", "PHASE_STARTED", "PHASE_COMPLETED", "early", "PHASE_STARTED", "PATCH_PRODUCED", "late", "APPROVAL_REQUESTED"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// lateRun shows for a few looks after a decision what it showed before.
type lateRun struct {
	*runtest.Run
	before run.Pending
	looks  int
}

func (r *lateRun) Decide(ctx context.Context, id run.ID, d run.Decision) error {
	r.before, _ = r.Run.Pending(ctx, id)
	err := r.Run.Decide(ctx, id, d)
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
	return r.Run.Pending(ctx, id)
}

func (r *lateRun) Events(ctx context.Context, id run.ID, after string) ([]run.Event, error) {
	if r.looks > 0 {
		r.looks--
		return nil, nil
	}
	return r.Run.Events(ctx, id, after)
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
	f := &Follower{
		Watched: &lateRun{Run: runtest.Play(slices.Concat(toPatch, toEnd)...)}, ID: "r1", Now: (&clock{time.Unix(0, 0), 200 * time.Millisecond}).now, Poll: time.Millisecond,
		Decider: countedApprovals{approves{verdict: run.Approve}, &asked},
		Screen:  terminal.NewScreen(io.Discard, terminal.Options{}), Print: func(run.Event) error { return nil },
	}
	if status, err := f.Follow(t.Context()); status != run.Completed || err != nil || asked != 1 {
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
	r := runtest.Play(slices.Concat(toPatch, toEnd)...)
	refused := &runs.RefusedError{Reason: "it has been decided already"}
	r.Refuse = refused
	f := &Follower{
		Watched: r, ID: "r1", Now: (&clock{step: 2 * time.Second}).now, Poll: time.Millisecond, Decider: informedPerson{approves{verdict: run.Approve}, &told},
		Screen: terminal.NewScreen(io.Discard, terminal.Options{}), Print: func(run.Event) error { return nil },
	}
	if status, err := f.Follow(t.Context()); status != run.Completed || err != nil || !slices.Equal(told, []error{refused, nil}) {
		t.Errorf("%s, %v, told %v", status, err, told)
	}
}

// disputedRun asks about its record, without an event, until it is answered.
type disputedRun struct {
	*runtest.Run
	answered atomic.Bool
}

func (r *disputedRun) Events(ctx context.Context, id run.ID, after string) ([]run.Event, error) {
	if after != "" && !r.answered.Load() {
		return nil, nil
	}
	return r.Run.Events(ctx, id, after)
}

func (r *disputedRun) Pending(ctx context.Context, id run.ID) (run.Pending, error) {
	if r.answered.Load() {
		return r.Run.Pending(ctx, id)
	}
	return run.Pending{RunID: id, Status: run.AwaitingInput, Question: &run.PendingQuestion{
		QuestionID: "qst-record-6", Kind: run.RecordQuestion, Question: run.Question{Question: "How should the run continue?", Reason: run.CodeAhead},
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
			f := &Follower{
				Watched: &disputedRun{Run: runtest.Play(slices.Concat(toPatch, toEnd)...)}, ID: "r1", Decider: tt.decider, Now: time.Now, Poll: time.Millisecond,
				Screen: terminal.NewScreen(&out, terminal.Options{}), Print: func(run.Event) error { return nil },
			}
			if status, err := f.Follow(ctx); status != tt.want || err != nil {
				t.Errorf("%q, %v", status, err)
			}
			if n := strings.Count(out.String(), "How should the run continue?"); n != 1 {
				t.Errorf("%d times the question in: %s", n, out.String())
			}
		})
	}
}
