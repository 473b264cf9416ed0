package activities_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// What follows a kept answer does not fit on the disk: the last of such errors tells what the answer was paid.
func TestAnErrorAfterTheAnswerTellsItsUsage(t *testing.T) {
	paid := func(text string) provider.Response {
		return provider.Response{RawText: text, FinishReason: provider.Stop, Usage: &run.Usage{TotalTokens: 1000}}
	}
	for name, act := range map[string]func(*fixture) error{
		"the plan": func(s *fixture) error {
			s.provider.responds(paid("# plan"), nil)
			c := s.call(run.Plan)
			s.block(c.Artifact("md"))
			return fail(s, s.acts.Plan, c)
		},
		"the patch": func(s *fixture) error {
			s.provider.responds(paid(patching(appending)), nil)
			c := s.call(run.Execute)
			s.block(c.Artifact("patch"))
			return fail(s, s.acts.Propose, c)
		},
		"the verdict": func(s *fixture) error {
			s.provider.responds(paid("DECISION: PASS"), nil)
			in := s.judging(1)
			s.block(in.Artifact("judged.json"))
			return fail(s, s.acts.Judge, in)
		},
		"no verdict": func(s *fixture) error {
			s.provider.responds(provider.Response{RawText: "hm", FinishReason: provider.Stop, Usage: &run.Usage{TotalTokens: 500}}, nil)
			in := s.judging(1)
			s.block(in.Artifact("judged.json"))
			return fail(s, s.acts.Judge, in)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			app, ok := errors.AsType[*temporal.ApplicationError](act(s))
			if !ok || app.NonRetryable() {
				t.Fatalf("got %v", app)
			}
			if used := spentOf(t, app); used.TotalTokens != 1000 {
				t.Errorf("%v: it tells %+v", app, used)
			}
		})
	}
}

// What attempts at a call have used is told by the error of the next one, which cannot begin: the phase then makes a
// call that does not find them.
func TestAnAttemptThatCannotBeginTellsWhatOthersUsed(t *testing.T) {
	late := &failure.Error{Code: failure.Timeout, Message: "late", Retriable: true}
	limit := &failure.Limited{Until: time.Now().Add(time.Hour), Cause: &failure.Error{Code: failure.RateLimit, Message: "5 hours"}}
	for name, tc := range map[string]struct {
		spoil func(*fixture, *activities.Call)
		again bool
	}{
		"no such provider":                    {func(s *fixture, _ *activities.Call) { s.opened = errors.New("no key") }, false},
		"no box":                              {func(s *fixture, _ *activities.Call) { s.opened = &activities.NotBoxed{Reason: "no box"} }, false},
		"an object of the repository is gone": {func(s *fixture, c *activities.Call) { c.Head = run.Commit(strings.Repeat("1", 40)) }, false},
		"too little time":                     {func(_ *fixture, c *activities.Call) { c.Timeout = time.Hour }, true},
		"its start cannot be counted":         {func(s *fixture, c *activities.Call) { s.block("../locks/execute-iter-0001.begun") }, true},
		"its lock cannot be had": {func(s *fixture, c *activities.Call) {
			check(s.t, os.Remove(filepath.Join(s.dir().Path(), "locks", "execute-iter-0001.lock")))
			s.block("../locks/execute-iter-0001.lock")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: 1}}, late)
			s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: 1000}}, limit)
			c := s.call(run.Execute)
			callFailure(t, s, c)
			must[activities.ProposeResult](s, s.acts.Propose, c)
			tc.spoil(s, &c)
			app := callFailure(t, s, c)
			if used := spentOf(t, app); app.NonRetryable() == tc.again || used.TotalTokens != 1001 {
				t.Errorf("%v: it tells %+v", app, used)
			}
		})
	}
}

// The answer of an agent is in its note and not yet kept when its worker dies, and the next attempt cannot begin, or its
// answer does not fit on the disk again and again.
func TestTheUsageOfAnAnswerInTheNoteIsToldOnce(t *testing.T) {
	for name, spoil := range map[string]func(*fixture, *activities.Call) (attempts int){
		"it cannot begin": func(_ *fixture, c *activities.Call) int { c.Head = run.Commit(strings.Repeat("1", 40)); return 1 },
		"it is the last":  func(s *fixture, c *activities.Call) int { s.block(c.Artifact("call.json")); return 4 },
		"it was begun too often": func(s *fixture, c *activities.Call) int {
			for range 4 {
				_, err := s.dir().Count(c.Artifact("begun"))
				check(s.t, err)
			}
			return 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			fake := s.employ(writes("log.txt", "two\n") + "[[say:done]][[usage:1000,20]]")
			c := s.developing()
			unblock := s.block(c.Artifact("call.json"))
			callFailure(t, s, c)
			asked := len(fake.Model.Requests())
			unblock()
			spoiled := c
			var app *temporal.ApplicationError
			for range spoil(s, &spoiled) {
				app = callFailure(t, s, spoiled)
			}
			told := spentOf(t, app).TotalTokens
			if want := 1020 * int64(asked); !app.NonRetryable() || told != want || len(fake.Model.Requests()) != asked {
				t.Errorf("%v: it tells %d of %d", app, told, want)
			}
			c.Number = 2
			out := must[activities.ProposeResult](s, s.acts.Propose, c)
			if want := 1020 * int64(len(fake.Model.Requests())); told+out.Usage.TotalTokens != want {
				t.Errorf("%d and %d are told of %d", told, out.Usage.TotalTokens, want)
			}
		})
	}
}

// Both questions of an evaluation share what is left of the budget.
func TestTheSecondQuestionHasTheBudgetThatTheFirstLeft(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	for _, answer := range []string{"hm", "DECISION: PASS"} {
		s.provider.responds(provider.Response{RawText: answer, FinishReason: provider.Stop, Usage: &run.Usage{TotalTokens: 900, Cost: 50}}, nil)
	}
	in := s.judging(0)
	in.Left = provider.Left{Tokens: 1000, Cost: 50}
	must[activities.Judgement](s, s.acts.Judge, in)
	for n, want := range []provider.Left{{Tokens: 1000, Cost: 50}, {Tokens: 100, Cost: -1}} {
		if got := s.provider.asked[n].Work.Left; got != want {
			t.Errorf("question %d has %+v, want %+v", n+1, got, want)
		}
	}
}
