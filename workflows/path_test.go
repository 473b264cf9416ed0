package workflows_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// path is one way that a run may take.
type path struct {
	name           string
	policy         run.Policy
	fakeActivities func() *fakeActivities // nil: all goes well
	input          func(*run.Input)       // changes the usual one
	acts           func(map[string]any)
	doomed         bool           // a first worker is killed while it plans
	play           func(*testRun) // what people and machines do meanwhile
	status         run.Status
	shows          func(*history.HistoryEvent) bool // what some event of its histories must be; nil: anything
}

// paths are those that the replay corpus holds.
var paths = []path{
	{name: "completed", policy: run.Never, status: run.Completed},
	{name: "no-planner", policy: run.Never, status: run.Completed, input: func(in *run.Input) { in.Providers.Planner = run.NoPlanner }},
	{name: "approved", policy: run.Always, status: run.Completed, play: func(p *testRun) { p.decide(run.Approve, false) }},
	{name: "approved-by-update", policy: run.Always, status: run.Completed, shows: is(enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED), play: func(p *testRun) {
		p.update(workflows.ApprovalMessage, run.Decision{ApprovalID: p.approval().ApprovalID, Decision: run.Approve})
	}},
	{name: "notified", policy: run.Always, status: run.Completed, shows: is(enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED),
		input: func(in *run.Input) { in.Name, in.Notify = "slug#14", []run.Channel{run.WebhookChannel} },
		play:  func(p *testRun) { p.decide(run.Reject, false); p.decide(run.Approve, false) }},
	{name: "notified-of-a-cancel", policy: run.Never, status: run.Canceled, shows: is(enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED),
		fakeActivities: asks,
		input:          func(in *run.Input) { in.Notify, in.Timeouts.Answer = []run.Channel{run.CommandChannel}, time.Second }},
	{name: "risky", policy: run.Risky, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{patch("one"), patch("two", "deletes a file")}, verdicts: []activities.Judgement{fixable, pass}}
		},
		play: func(p *testRun) { p.decide(run.Approve, false) }},
	{name: "rejected-fixed", policy: run.Always, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{patch("one"), patch("two")}}
		},
		play: func(p *testRun) { p.decide(run.Reject, false); p.decide(run.Approve, false) }},
	{name: "rejected-finally", policy: run.Always, status: run.Canceled, play: func(p *testRun) { p.decide(run.Reject, true) }},
	{name: "decision-overdue", policy: run.Always, status: run.Canceled, shows: is(enums.EVENT_TYPE_TIMER_FIRED), input: func(in *run.Input) { in.Timeouts.Approval = time.Second }},
	{name: "question-answered", policy: run.Never, status: run.Completed, fakeActivities: asks, play: func(p *testRun) { p.answer("blue") }},
	{name: "answer-overdue", policy: run.Never, status: run.Canceled, fakeActivities: asks, input: func(in *run.Input) { in.Timeouts.Answer = time.Second }},
	{name: "note", policy: run.Never, status: run.Completed, fakeActivities: asks,
		play: func(p *testRun) {
			q := p.question()
			p.signal(workflows.NoteMessage, run.Note{Text: "use tabs", By: "kim"})
			p.update(workflows.AnswerMessage, run.Reply{QuestionID: q.QuestionID, Text: "blue"})
		}},
	{name: "provider-failed", policy: run.Never, status: run.Completed, shows: is(enums.EVENT_TYPE_ACTIVITY_TASK_FAILED),
		fakeActivities: func() *fakeActivities { return &fakeActivities{planErr: []error{errAuth}} },
		play:           func(p *testRun) { p.answer("logged in") }},
	{name: "fixes-used-up", policy: run.Never, status: run.Failed, fakeActivities: func() *fakeActivities { return &fakeActivities{verdicts: []activities.Judgement{fixable}} }},
	{name: "noop", policy: run.Always, status: run.Completed, fakeActivities: func() *fakeActivities { return &fakeActivities{answers: []activities.ProposeResult{noop()}} }},
	{name: "unparseable-fixed", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{garbage(), patch("two")}}
		}},
	{name: "unplaced-fixed", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{unplaced(), patch("two")}}
		}},
	{name: "conflict-fixed", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{refuse: []*run.Problem{{Code: "CONFLICT", Message: "branch moved"}}}
		}},
	{name: "checks-blocked", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities { return &fakeActivities{verdicts: []activities.Judgement{blocked, pass}} },
		play:           func(p *testRun) { p.answer("installed") }},
	{name: "evaluator-asks", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities { return &fakeActivities{judged: []activities.Judgement{blocked, pass}} },
		input:          func(in *run.Input) { in.Providers.Evaluator = "replay:x" },
		play:           func(p *testRun) { p.answer("go on") }},
	{name: "budget-raised", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{costly(patch("one")), patch("two")}, verdicts: []activities.Judgement{fixable, pass}}
		},
		input: func(in *run.Input) { in.MaxTokens = 100 },
		play:  func(p *testRun) { p.answer("5000") }},
	{name: "permission-granted", policy: run.Always, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{asksFor("call-1"), patch("one")}}
		},
		play: func(p *testRun) { p.decide(run.Approve, false); p.decide(run.Approve, false) }},
	{name: "permission-refused", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{asksFor("call-1"), asksFor("call-2"), patch("one")}}
		},
		play: func(p *testRun) { p.decide(run.Reject, false); p.decide(run.Approve, false) }},
	{name: "permission-refused-for-good", policy: run.Never, status: run.Canceled,
		fakeActivities: func() *fakeActivities { return &fakeActivities{answers: []activities.ProposeResult{asksFor("call-1")}} },
		play:           func(p *testRun) { p.decide(run.Reject, true) }},
	{name: "permission-asked-of-a-fixer", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{
				answers:  []activities.ProposeResult{patch("one"), asksFor("call-1"), patch("two")},
				verdicts: []activities.Judgement{fixable, pass},
			}
		},
		play: func(p *testRun) { p.decide(run.Approve, false) }},
	{name: "usage-limit", policy: run.Never, status: run.Completed, shows: is(enums.EVENT_TYPE_TIMER_FIRED),
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{limited(time.Second), patch("one")}}
		}},
	{name: "budget-in-a-call", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{costly(activities.ProposeResult{Halt: &run.Halt{Exhausted: true}}), patch("one")}}
		},
		input: func(in *run.Input) { in.MaxTokens = 100 },
		play:  func(p *testRun) { p.answer("5000") }},
	{name: "budget-not-raised", policy: run.Never, status: run.Canceled,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{costly(patch("one")), patch("two")}, verdicts: []activities.Judgement{fixable, pass}}
		},
		input: func(in *run.Input) { in.MaxTokens = 100 },
		play:  func(p *testRun) { p.answer("stop") }},
	{name: "contest", policy: run.Always, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{rivals: map[int][]activities.ProposeResult{1: sized("long", 30), 2: sized("short", 2), 3: {question("which?")}}}
		},
		input: func(in *run.Input) { in.Candidates = 3 },
		play:  func(p *testRun) { p.decide(run.Approve, false) }},
	{name: "contest-with-evaluator-and-permission", policy: run.Always, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{rivals: map[int][]activities.ProposeResult{
				1: sized("long", 30), 2: {attemptAsks(2, "call-1"), sized("short", 2)[0]},
			}}
		},
		input: func(in *run.Input) { in.Candidates, in.Providers.Evaluator = 2, "replay:x" },
		play:  func(p *testRun) { p.decide(run.Approve, false); p.decide(run.Approve, false) }},
	{name: "session-told", policy: run.Always, status: run.Completed, fakeActivities: asks,
		input: func(in *run.Input) { in.Tell = "s-1" },
		play:  func(p *testRun) { p.answer("blue"); p.decide(run.Approve, false) }},
	{name: "canceled-waiting", policy: run.Always, status: run.Canceled, play: func(p *testRun) { p.approval(); p.cancel() }},
	{name: "canceled-working", policy: run.Always, status: run.Canceled, shows: is(enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED),
		acts: func(acts map[string]any) { acts["Plan"] = untilCanceled },
		play: func(p *testRun) {
			p.until("the planner works", func() bool { return p.works("Plan") })
			p.cancel()
		}},
	{name: "strays", policy: run.Always, status: run.Completed, play: func(p *testRun) {
		a := p.approval()
		p.signal(workflows.ApprovalMessage, "not a decision")
		p.signal(workflows.ApprovalMessage, run.Decision{ApprovalID: "apr-1-0123456789ab", Decision: run.Approve})
		p.signal(workflows.AnswerMessage, run.Reply{QuestionID: "qst-1-1", Text: "nobody asked"})
		for range 2 {
			p.signal(workflows.ApprovalMessage, run.Decision{ApprovalID: a.ApprovalID, Decision: run.Approve})
		}
	}},
	{name: "continued-as-new", policy: run.Always, status: run.Completed, shows: is(enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW), play: continueAsNew},
	{name: "continued-with-refused-signals", policy: run.Always, status: run.Completed, shows: is(enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW), play: continueAsNew},
	{name: "approved-as-the-history-ends", policy: run.Always, status: run.Completed, play: approveAsTheHistoryEnds},
	{name: "reset", policy: run.Always, status: run.Completed, shows: isReset,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{patch("one"), patch("two")}}
		}, play: reset},
	{name: "worker-killed", doomed: true, policy: run.Never, status: run.Completed, shows: isSecondAttempt},
	{name: "record-lost", policy: run.Never, status: run.Completed, shows: isBehind, acts: loseRecord},
	{name: "checks-run-again", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{verdicts: []activities.Judgement{cannotRun, cannotRun, pass}}
		},
		input: noFix,
		play:  func(p *testRun) { p.answer("installed"); p.answer("now really") }},
	{name: "checks-cannot-run-fixed", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities { return &fakeActivities{verdicts: []activities.Judgement{cannotRun, pass}} },
		input:          noFix,
		play:           func(p *testRun) { p.answer("fix: call cargo by its path") }},
	{name: "rejected-again-and-again", policy: run.Always, status: run.Completed,
		play: func(p *testRun) {
			for range run.DefaultMaxFix + 1 {
				p.decide(run.Reject, false)
			}
			p.decide(run.Approve, false)
		}},
	{name: "evaluator-asks-without-fixes", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities { return &fakeActivities{judged: []activities.Judgement{blocked, pass}} },
		input:          func(in *run.Input) { noFix(in); in.Providers.Evaluator = "replay:x" },
		play:           func(p *testRun) { p.answer("blue") }},
	{name: "last-fixer-asks", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{answers: []activities.ProposeResult{patch("one"), question("which?"), patch("two")}, verdicts: []activities.Judgement{fixable, pass}}
		},
		input: func(in *run.Input) { in.MaxFix = new(1) },
		play:  func(p *testRun) { p.answer("blue") }},
	{name: "part-accepted", policy: run.Always, status: run.Completed, play: func(p *testRun) { p.accept("", "a.go") }},
	{name: "part-accepted-rest-sent-back", policy: run.Always, status: run.Completed,
		play: func(p *testRun) {
			p.accept("b.go loses cents", "a.go")
			p.decide(run.Approve, false)
		}},
	{name: "edited", policy: run.Always, status: run.Completed,
		play: func(p *testRun) { p.edit(badEdit); p.edit("diff"); p.decide(run.Approve, false) }},
	{name: "part-cannot-stand-alone", policy: run.Always, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{unfit: []*run.Problem{{Code: "PART", Message: "the patch does not change z.go"}}}
		},
		play: func(p *testRun) { p.accept("", "z.go"); p.answer("all of it"); p.decide(run.Approve, false) }},
	{name: "provider-failed-retried", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities { return &fakeActivities{planErr: []error{errAuth}} },
		play: func(p *testRun) {
			p.update(workflows.AnswerMessage, run.Reply{QuestionID: p.question().QuestionID, Retry: true, By: "kim"})
		}},
	{name: "no-baseline", policy: run.Never, status: run.Completed, input: func(in *run.Input) { in.NoBaseline = true }},
	{name: "baseline-again", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities {
			return &fakeActivities{baselines: []run.Baseline{unknownBase, unknownBase, failsAsExpected}}
		},
		play: func(p *testRun) { p.answer("again"); p.answer("again") }},
	{name: "baseline-without", policy: run.Never, status: run.Completed,
		fakeActivities: func() *fakeActivities { return &fakeActivities{baselines: []run.Baseline{unknownBase}} },
		play:           func(p *testRun) { p.answer("without") }},
	{name: "baseline-stopped", policy: run.Never, status: run.Canceled,
		fakeActivities: func() *fakeActivities { return &fakeActivities{baselines: []run.Baseline{unknownBase}} },
		play:           func(p *testRun) { p.answer("cancel") }},
	{name: "baseline-canceled", policy: run.Never, status: run.Canceled, shows: is(enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED),
		acts: func(acts map[string]any) {
			acts["Check"] = func(ctx context.Context, _ activities.CheckInput) (activities.Judgement, error) {
				return activities.Judgement{}, temporaltest.HeartbeatUntilDone(ctx)
			}
		},
		play: func(p *testRun) {
			p.until("the checks run on the base commit", func() bool { return p.works("Check") })
			p.cancel()
		}},
}

func noFix(in *run.Input) { in.MaxFix = new(int) }

func is(t enums.EventType) func(*history.HistoryEvent) bool {
	return func(e *history.HistoryEvent) bool { return e.GetEventType() == t }
}

func isReset(e *history.HistoryEvent) bool {
	return e.GetWorkflowTaskFailedEventAttributes().GetCause() == enums.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
}

func isSecondAttempt(e *history.HistoryEvent) bool {
	return e.GetActivityTaskStartedEventAttributes().GetAttempt() == 2
}

func isBehind(e *history.HistoryEvent) bool {
	return e.GetActivityTaskFailedEventAttributes().GetFailure().GetApplicationFailureInfo().GetType() == activities.BehindError
}

func asks() *fakeActivities {
	return &fakeActivities{answers: []activities.ProposeResult{question("which name?"), patch("two")}}
}

func costly(r activities.ProposeResult) activities.ProposeResult {
	r.Usage = run.Usage{InputTokens: 900, OutputTokens: 100, TotalTokens: 1000}
	return r
}

// continueAsNew makes history large by notes that are too long to be kept.
func continueAsNew(p *testRun) {
	a := p.approval()
	for first := true; first; {
		p.signal(workflows.NoteMessage, run.Note{Text: strings.Repeat("a", 900<<10)})
		p.until("the note was looked at", func() bool {
			d, err := temporalclient.Describe(p.t.Context(), p.Client, p.id, "")
			first = d.GetWorkflowExecutionInfo().GetExecution().GetRunId() == p.runID
			return err == nil && d.GetPendingWorkflowTask() == nil
		})
	}
	p.signal(workflows.ApprovalMessage, run.Decision{ApprovalID: a.ApprovalID, Decision: run.Approve})
}

// approveAsTheHistoryEnds has no worker when the approval comes, and with it so much that the run looks for a new
// history in the same workflow task.
func approveAsTheHistoryEnds(p *testRun) {
	p.approval()
	p.stop()
	p.settle(run.Approve, false)
	for range 5 {
		p.signal(workflows.NoteMessage, run.Note{Text: strings.Repeat("a", 900<<10)})
	}
	p.again()
	p.until("the approval is carried out", func() bool {
		d, err := temporalclient.Describe(p.t.Context(), p.Client, p.id, "")
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
}

// reset lets the run begin again once it is over. The engine delivers the old
// approval again; the developer says something else.
func reset(p *testRun) {
	p.decide(run.Approve, false)
	p.status()
	first := slices.IndexFunc(p.History(p.t, p.id, p.runID).Events, func(e *history.HistoryEvent) bool {
		return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	})
	r, err := p.Client.ResetWorkflowExecution(p.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:         client.DefaultNamespace,
		WorkflowExecution: &common.WorkflowExecution{WorkflowId: p.id, RunId: p.runID},
		Reason:            "test", RequestId: p.id, WorkflowTaskFinishEventId: int64(first) + 1,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.runID = r.GetRunId()
	p.decide(run.Approve, false)
}

// loseRecord lets the first application find a record that has lost all but
// two lines, so that the workflow gives the others again.
func loseRecord(acts map[string]any) {
	apply := acts["Apply"].(func(context.Context, activities.ApplyInput) (activities.ApplyResult, error))
	var lost atomic.Bool
	acts["Apply"] = func(ctx context.Context, in activities.ApplyInput) (activities.ApplyResult, error) {
		if lost.CompareAndSwap(false, true) {
			return activities.ApplyResult{}, temporal.NewNonRetryableApplicationError("behind", activities.BehindError, nil, 2)
		}
		return apply(ctx, in)
	}
}

// take plays the path to its end and returns the histories of its executions.
func (way path) take(p *testRun) []*history.History {
	w := &fakeActivities{}
	if way.fakeActivities != nil {
		w = way.fakeActivities()
	}
	acts := activitiesByName(w)
	if way.acts != nil {
		way.acts(acts)
	}
	if way.doomed {
		p.serveAndDie()
	}
	p.serve(func(w worker.Registry) { register(w, acts) })
	if way.play != nil {
		way.play(p)
	}
	if got := p.status(); got != way.status {
		p.t.Errorf("the run is %s, want %s", got, way.status)
	}
	executions := p.histories()
	if way.shows != nil && !slices.ContainsFunc(executions, func(h *history.History) bool { return slices.ContainsFunc(h.Events, way.shows) }) {
		p.t.Error("the history lacks what the path is about")
	}
	return executions
}

func (way path) inputOf() run.Input {
	in := input(way.policy, 3)
	in.RunID = run.ID(way.name)
	if way.input != nil {
		way.input(&in)
	}
	return in
}
