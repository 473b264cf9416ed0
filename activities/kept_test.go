package activities_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Finding D4: text that was paid for is kept when the call is cut off.
func TestTextOfACallThatIsCutOffIsKept(t *testing.T) {
	for name, cause := range map[string]error{
		"by the budget":    provider.Exhaust(),
		"by a usage limit": &failure.Limited{Until: time.Now().Add(time.Hour), Cause: &failure.Error{Code: failure.RateLimit, Message: "5 hours"}},
		"by a broken line": &failure.Error{Code: failure.Unknown, Message: "broke off", Retriable: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			for _, text := range []string{"half of it " + secret, "another half"} {
				s.provider.responds(provider.Response{RawText: text}, cause)
			}
			c := s.call(run.Execute)
			for n, want := range []string{"half of it [redacted:MODEL_KEY]", "another half"} {
				out, err := do[activities.ProposeResult](s, s.acts.Propose, c)
				name := []string{"execute/iter-0001.cut-1.raw.txt", "execute/iter-0001.cut-2.raw.txt"}[n]
				if err != nil {
					name = []string{"execute/iter-0001.attempt-1.raw.txt", "execute/iter-0001.attempt-2.raw.txt"}[n]
				} else if out.Halt == nil || out.Halt.Cut == nil || out.Halt.Cut.Name != name {
					t.Errorf("%+v", out.Halt)
				}
				if b, _, err := s.dir().Find(name); err != nil || string(b) != want {
					t.Errorf("%s is %q, %v", name, b, err)
				}
			}
		})
	}
}

// Finding D6: the errors that a retry made good are counted in the result.
func TestRetriedErrorsAreCounted(t *testing.T) {
	s := newFixture(t)
	for _, code := range []failure.Code{failure.Timeout, failure.RateLimit, failure.Timeout} {
		s.provider.fails("", failure.Error{Code: code, Message: "later", Retriable: true})
	}
	c := s.call(run.Execute)
	for range 3 {
		callFailure(t, s, c)
	}
	s.provider.responds(provider.Response{RawText: result("type: NOOP\nreason: done"), FinishReason: provider.Stop}, nil)
	s.provider.acts = s.provider.acts[1:]
	want := []run.Retry{{Code: "TIMEOUT", Count: 2}, {Code: "RATE_LIMIT", Count: 1}}
	for range 2 { // the second finds the stored answer
		if out := must[activities.ProposeResult](s, s.acts.Propose, c); !reflect.DeepEqual(out.Retries, want) {
			t.Errorf("retries %+v", out.Retries)
		}
	}
	s = newFixture(t)
	s.provider.fails("", failure.Error{Code: failure.Timeout, Message: "later", Retriable: true})
	s.provider.fails("", failure.Error{Code: failure.Auth, Message: "401"})
	callFailure(t, s, s.call(run.Execute))
	var used run.Usage
	var before []run.Retry
	if err := callFailure(t, s, s.call(run.Execute)).Details(&used, &before); err != nil || !reflect.DeepEqual(before, want[:0:0]) && before[0].Count != 1 {
		t.Errorf("details %+v, %v", before, err)
	}
}

// Finding D7: the patch of an iteration has one name, whatever number the answer
// has that it was read from.
func TestPatchHasOneNameAnIteration(t *testing.T) {
	s := newFixture(t)
	s.provider.says(patching(appending))
	for _, tc := range []struct {
		number, attempt int
		want            string
	}{{1, 0, "execute/iter-0001.patch"}, {2, 0, "execute/iter-0001.patch"}, {2, 3, "execute/iter-0001.try-3.patch"}} {
		c := s.call(run.Execute)
		c.Number, c.Candidate = tc.number, tc.attempt
		if out := must[activities.ProposeResult](s, s.acts.Propose, c); out.Proposal == nil || out.Proposal.Patch.Name != tc.want {
			t.Errorf("call %d, attempt %d: %+v", tc.number, tc.attempt, out.Proposal)
		}
	}
}

// A usage limit, or a permission, does not end a call: each halt tells what all of it has used so far, and so does the answer.
func TestUsageBeforeAHaltIsToldByTheAnswer(t *testing.T) {
	s := newFixture(t)
	limit := func() error {
		return &failure.Limited{Until: time.Now().Add(time.Hour), Cause: &failure.Error{Code: failure.RateLimit, Message: "5 hours"}}
	}
	late := &failure.Error{Code: failure.Timeout, Message: "late", Retriable: true}
	s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: 1}}, late)
	for range 7 { // more than a call may fail
		s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: 10}}, limit())
	}
	s.provider.responds(provider.Response{}, limit())
	s.provider.asks()
	s.provider.responds(provider.Response{RawText: result("type: NOOP\nreason: done"), FinishReason: provider.Stop, Usage: &run.Usage{TotalTokens: 100}}, nil)
	c := s.call(run.Execute)
	callFailure(t, s, c)
	for n := range 8 {
		out := must[activities.ProposeResult](s, s.acts.Propose, c)
		if want := int64(1 + 10*min(n+1, 7)); out.Halt == nil || out.Halt.Limited == nil || out.Usage.TotalTokens != want {
			t.Errorf("at the limit: %+v, usage %+v, want %d", out.Halt, out.Usage, want)
		}
	}
	if out := must[activities.ProposeResult](s, s.acts.Propose, c); out.Halt == nil || out.Halt.Permission == nil || out.Usage.TotalTokens != 71 {
		t.Errorf("%+v", out)
	}
	if out := must[activities.ProposeResult](s, s.acts.Propose, c); out.Usage.TotalTokens != 171 {
		t.Errorf("the answer tells %+v", out.Usage)
	}
}

// After a budget the phase begins another call, which does not find what this one has used.
func TestUsageBeforeAUsedUpBudgetIsToldByTheHalt(t *testing.T) {
	s := newFixture(t)
	late := &failure.Error{Code: failure.Timeout, Message: "late", Retriable: true}
	s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: 1000}}, late)
	s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: 5}}, provider.Exhaust())
	c := s.call(run.Execute)
	callFailure(t, s, c)
	if out := must[activities.ProposeResult](s, s.acts.Propose, c); out.Halt == nil || !out.Halt.Exhausted || out.Usage.TotalTokens != 1005 {
		t.Errorf("%+v, usage %+v", out.Halt, out.Usage)
	}
}

// A worker that stops in order, or a cancellation, is no failure of the attempt: the next one tells what it had used.
func TestUsageBeforeAStopIsToldByTheAnswer(t *testing.T) {
	s := newFixture(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.provider.then(func(ctx context.Context, _ func(provider.Progress)) (provider.Response, error) {
		stop()
		<-ctx.Done()
		return provider.Response{RawText: "so far", FinishReason: provider.Failed, Usage: &run.Usage{TotalTokens: 1000}}, ctx.Err()
	})
	s.provider.responds(provider.Response{RawText: result("type: NOOP\nreason: done"), FinishReason: provider.Stop, Usage: &run.Usage{TotalTokens: 5}}, nil)
	c := s.call(run.Execute)
	if _, err := s.environmentOf(ctx).ExecuteActivity(s.acts.Propose, c); err == nil {
		t.Error("it was not stopped")
	}
	out := must[activities.ProposeResult](s, s.acts.Propose, c)
	if out.Usage.TotalTokens != 1005 || len(out.Retries) != 0 {
		t.Errorf("usage %+v, retries %+v", out.Usage, out.Retries)
	}
}

// All attempts at a call share its budget.
func TestAnAttemptHasTheBudgetThatEarlierOnesLeft(t *testing.T) {
	s := newFixture(t)
	late := &failure.Error{Code: failure.Timeout, Message: "late", Retriable: true}
	s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: 300, Cost: 25}}, late)
	c := s.call(run.Execute)
	c.Left = provider.Left{Tokens: 1000, Cost: 50}
	for range 3 {
		callFailure(t, s, c)
	}
	for n, want := range []provider.Left{{Tokens: 1000, Cost: 50}, {Tokens: 700, Cost: 25}, {Tokens: 400, Cost: -1}} {
		if got := s.provider.asked[n].Work.Left; got != want {
			t.Errorf("attempt %d has %+v, want %+v", n+1, got, want)
		}
	}
	c.Number, c.Left = 2, provider.Left{}
	for range 2 {
		callFailure(t, s, c)
	}
	if got := s.provider.asked[4].Work.Left; got != (provider.Left{}) {
		t.Errorf("without a bound it has %+v", got)
	}
}

// The result of a call that has used up its budget is lost with its worker: the next attempt has no rest, and tells all.
func TestAUsedUpBudgetIsNotPaidTwice(t *testing.T) {
	s := newFixture(t)
	late := &failure.Error{Code: failure.Timeout, Message: "late", Retriable: true}
	s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: 10}}, late)
	s.provider.responds(provider.Response{RawText: "x", Usage: &run.Usage{TotalTokens: 1000}}, provider.Exhaust())
	s.provider.responds(provider.Response{}, provider.Exhaust())
	c := s.call(run.Execute)
	c.Left = provider.Left{Tokens: 1000}
	callFailure(t, s, c)
	for n := 2; n <= 3; n++ {
		if out := must[activities.ProposeResult](s, s.acts.Propose, c); out.Halt == nil || !out.Halt.Exhausted || out.Usage.TotalTokens != 1010 {
			t.Errorf("attempt %d: %+v, usage %+v", n, out.Halt, out.Usage)
		}
	}
	if left := s.provider.asked[2].Work.Left; left.Tokens >= 0 {
		t.Errorf("the last attempt has %+v", left)
	}
}
