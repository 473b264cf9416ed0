package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/workflows"
)

// The agent behind an evaluator knows a call by its slot, phase, iteration and
// number (session.note). The evaluation of the branch must not be taken for
// that of the first attempt.
func TestJudgesOfAContestShareNoSession(t *testing.T) {
	w := &fakeActivities{rivals: map[int][]activities.ProposeResult{1: sized("long", 30), 2: sized("short", 2)}}
	in := contest(2)
	in.Policy, in.Providers.Evaluator = run.Never, "claude"
	start(env(t, w), in)
	if w.state.Status != run.Completed {
		t.Fatalf("the run is %s", w.state.Status)
	}
	met := map[string]string{}
	for _, c := range w.calls {
		if c.Phase != run.Evaluate {
			continue
		}
		known, what := fmt.Sprintf("%s %s-%d call %d", c.Slot, c.Phase, c.Iteration, c.Number), fmt.Sprintf("attempt %d at %s", c.Candidate, c.Head)
		if other, ok := met[known]; ok {
			t.Errorf("%s is %s and %s", known, other, what)
		}
		met[known] = what
	}
}

func exhausted(used int64) []activities.ProposeResult {
	return []activities.ProposeResult{{Halt: &run.Halt{Exhausted: true}, Usage: run.Usage{TotalTokens: used}}}
}

// waitsWith is what the run asks after a minute.
func waitsWith(t *testing.T, w *fakeActivities, in run.Input) (q run.Pending, used int64) {
	t.Helper()
	e := env(t, w)
	e.RegisterDelayedCallback(func() {
		q = query[run.Pending](t, e, workflows.PendingQuery)
		e.CancelWorkflow()
	}, time.Minute)
	start(e, in)
	s, err := run.Fold(w.events)
	if err != nil {
		t.Fatal(err)
	}
	return q, s.Usage.TotalTokens
}

// What an evaluator used counts, also when it has not judged the attempt.
func TestUsageOfAnEvaluatorThatDoesNotJudgeCounts(t *testing.T) {
	used := run.Usage{TotalTokens: 40}
	for name, w := range map[string]*fakeActivities{
		"it uses up its share": {judged: []activities.Judgement{{Halt: &run.Halt{Exhausted: true}, Usage: &used}}},
		"it fails": {judgeErr: []error{
			temporal.NewNonRetryableApplicationError("401", "AUTH", nil, used, []run.Retry{{Code: "TIMEOUT", Count: 1}}),
			temporal.NewNonRetryableApplicationError("401", "AUTH", nil, used, []run.Retry(nil)),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w.rivals = map[int][]activities.ProposeResult{1: sized("long", 30), 2: sized("short", 2)}
			in := contest(2)
			in.MaxTokens, in.Providers.Evaluator = 1000, "claude"
			if q, used := waitsWith(t, w, in); used != 100 || q.Approval == nil {
				t.Errorf("%d of 100 tokens are counted; %+v", used, q)
			}
		})
	}
}

// What all attempts used counts, also when none came to an end.
func TestUsageOfAttemptsThatRanOutCounts(t *testing.T) {
	for name, rivals := range map[string]map[int][]activities.ProposeResult{
		"all ran out":                 {1: exhausted(50), 2: exhausted(50)},
		"one ran out, the other asks": {1: exhausted(90), 2: {question("which?")}},
	} {
		t.Run(name, func(t *testing.T) {
			in := contest(2)
			in.MaxTokens = 100
			want := int64(0)
			for _, r := range rivals {
				want += r[0].Usage.TotalTokens
			}
			if q, used := waitsWith(t, &fakeActivities{rivals: rivals}, in); used != want {
				t.Errorf("%d of %d tokens are counted; the question is %+v", used, want, q.Question)
			}
		})
	}
}

// The share of an attempt is never "no bound".
func TestSmallRestIsNoUnboundedShare(t *testing.T) {
	w := &fakeActivities{rivals: map[int][]activities.ProposeResult{1: sized("a", 1), 2: sized("b", 1)}}
	in := contest(2)
	in.MaxTokens = 1
	waitsWith(t, w, in)
	for _, c := range w.calls {
		if c.Phase == run.Execute && c.Left.Tokens == 0 {
			t.Errorf("attempt %d has no bound where 1 token is left for two", c.Candidate)
		}
	}
}

// The evaluator of an attempt has what the developer left of its share.
func TestShareOfAnAttemptIsOfAllItsCalls(t *testing.T) {
	first, second := sized("long", 30), sized("short", 2)
	first[0].Usage.TotalTokens, second[0].Usage.TotalTokens = 45, 45
	w := &fakeActivities{rivals: map[int][]activities.ProposeResult{1: first, 2: second}}
	in := contest(2)
	in.MaxTokens, in.Providers.Evaluator = 100, "claude"
	decideAll(t, w, in, run.Decision{Decision: run.Approve})
	for _, c := range w.calls {
		if c.Phase == run.Evaluate && c.Candidate > 0 && c.Left.Tokens > 5 {
			t.Errorf("attempt %d: 45 tokens of its 50 are used, and its evaluator may use %d more", c.Candidate, c.Left.Tokens)
		}
	}
}

// Attempts that have ended are not tried again for each permission of another.
func TestChecksOfAnAttemptRunOnce(t *testing.T) {
	w := &fakeActivities{rivals: map[int][]activities.ProposeResult{
		1: sized("long", 30),
		2: {attemptAsks(2, "call-1"), attemptAsks(2, "call-2"), attemptAsks(2, "call-3"), sized("short", 2)[0]},
	}}
	yes := run.Decision{Decision: run.Approve}
	decideAll(t, w, contest(2), yes, yes, yes, yes)
	n := 0
	for _, in := range w.tried {
		if in.Candidate == 1 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the checks of attempt 1 ran %d times", n)
	}
}

// bothAsk is a contest of two attempts that each ask for a permission before they propose.
func bothAsk() *fakeActivities {
	return &fakeActivities{rivals: map[int][]activities.ProposeResult{
		1: {attemptAsks(1, "call-1"), sized("long", 30)[0]},
		2: {attemptAsks(2, "call-2"), sized("short", 2)[0]},
	}}
}

// asked returns the ids of the approvals that were asked for.
func (w *fakeActivities) asked() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if p, ok := e.Payload.(run.ApprovalRequested); ok {
			ids = append(ids, p.ApprovalID)
		}
	}
	return ids
}

// checkBothAsked fails unless each attempt was asked about once, and was continued once with its own permit.
func (w *fakeActivities) checkBothAsked(t *testing.T) {
	t.Helper()
	if n := len(w.asked()); w.state.Status != run.Completed || n != 3 {
		t.Fatalf("the run is %s, and %d decisions were asked for", w.state.Status, n)
	}
	calls := map[int]string{}
	for _, c := range w.calls {
		calls[c.Candidate] += fmt.Sprintf(" with %d", len(c.Permits))
	}
	if calls[1] != " with 0 with 1" || calls[2] != " with 0 with 1" {
		t.Errorf("calls, with permits: %v", calls)
	}
}

// The first attempt asks while a person decides about the second one.
func TestAnAttemptAsksBeforeTheDecisionOnAnother(t *testing.T) {
	w := bothAsk()
	w.during = func(c activities.Call) {
		if c.Candidate == 1 && len(c.Permits) == 0 {
			eventually.Holds(t, "the permission of attempt 2 is asked for", func() bool { return len(w.asked()) >= 1 })
		}
	}
	yes := run.Decision{Decision: run.Approve}
	decideAll(t, w, contest(2), yes, yes, yes)
	w.checkBothAsked(t)
}

// The second attempt asks while the first one continues after its decision.
func TestAnAttemptAsksWhileAnotherContinues(t *testing.T) {
	w := bothAsk()
	e, continues := env(t, w), make(chan struct{}, 2)
	w.during = func(c activities.Call) {
		switch {
		case c.Candidate == 1 && len(c.Permits) > 0:
			continues <- struct{}{}
			eventually.Holds(t, "the permission of attempt 2 is asked for", func() bool { return len(w.asked()) >= 2 })
		case c.Candidate == 2 && len(c.Permits) == 0:
			eventually.Holds(t, "the permission of attempt 1 is asked for", func() bool { return len(w.asked()) >= 1 })
			e.SignalWorkflow(workflows.ApprovalMessage, run.Decision{ApprovalID: w.asked()[0], Decision: run.Approve})
			<-continues
		}
	}
	approveAll(t, e)
	start(e, contest(2))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	checkFold(t, w)
	w.checkBothAsked(t)
}

// What a person may choose has its risks shown.
func TestChoicesShowTheirRisks(t *testing.T) {
	risky := patch("risky", "changes .github/workflows/ci.yml")
	risky.Proposal.Stat.Added = 30
	w := &fakeActivities{rivals: map[int][]activities.ProposeResult{1: {risky}, 2: sized("short", 2)}}
	met := decideAll(t, w, contest(2), run.Decision{Decision: run.Approve})
	a := met[0].Approval
	if len(a.Choices) != 1 {
		t.Fatalf("choices %+v", a.Choices)
	}
	if c := fmt.Sprintf("%+v", a.Choices[0]); !strings.Contains(c, "ci.yml") {
		t.Errorf("nothing says that the choice changes CI: %s", c)
	}
}
