package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// Ways in which a call that was begun ends without an answer. What a panic leaves
// on disk is what the death of a worker leaves: that it was begun.
func (p *scriptedProvider) dies() {
	p.then(func(context.Context, func(provider.Progress)) (provider.Response, error) { panic("the worker is gone") })
}

func (p *scriptedProvider) errs() {
	p.fails("half", failure.Error{Code: failure.Timeout, Message: "too slow", Retriable: true})
}

func (p *scriptedProvider) asks() {
	p.responds(provider.Response{}, provider.Suspend(run.Permission{Tool: "Bash"}, json.RawMessage(`{}`)))
}

// Finding H1: a call is paid five times at most, whatever the cause.
func TestAProviderIsStartedFiveTimesForOneAnswer(t *testing.T) {
	for name, play := range map[string]func(*scriptedProvider){
		"its worker dies each time": func(p *scriptedProvider) { p.dies() },
		"it fails each time":        func(p *scriptedProvider) { p.errs() },
		"now this and now that": func(p *scriptedProvider) {
			p.dies()
			p.errs()
			p.dies()
			p.errs()
			p.dies()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			play(s.provider)
			for n := 1; n <= 5; n++ {
				if _, err := do[activities.ProposeResult](s, s.acts.Propose, s.call(run.Execute)); err == nil {
					t.Fatalf("time %d: no error", n)
				}
			}
			if app := callFailure(t, s, s.call(run.Execute)); !app.NonRetryable() || app.Type() == "PanicError" {
				t.Errorf("the sixth: %s, final %v: %s", app.Type(), app.NonRetryable(), app.Message())
			}
			if n := s.provider.calls(); n != 5 {
				t.Errorf("it was started %d times", n)
			}
			other := s.call(run.Execute)
			other.Number = 2
			s.provider.says(result("type: NOOP\nreason: done"))
			if out := must[activities.ProposeResult](s, s.acts.Propose, other); out.Summary != "done" {
				t.Errorf("another call: %+v", out)
			}
		})
	}
}

// A call that waits for somebody has not failed: what came before counts no more.
func TestACallThatWaitsForSomebodyIsCountedAnew(t *testing.T) {
	s := newFixture(t)
	for range 4 {
		s.provider.dies()
	}
	s.provider.asks()
	for range 4 {
		s.provider.dies()
	}
	s.provider.responds(provider.Response{RawText: result("type: NOOP\nreason: done"), FinishReason: provider.Stop}, nil)
	for range 9 {
		_, _ = do[activities.ProposeResult](s, s.acts.Propose, s.call(run.Execute)) // a panic, or what it waits for
	}
	if out := must[activities.ProposeResult](s, s.acts.Propose, s.call(run.Execute)); out.Summary != "done" {
		t.Errorf("%+v", out)
	}
}

func TestAProviderThatWasNotStartedIsNotPaid(t *testing.T) {
	s := newFixture(t)
	s.opened = errors.New("unknown kind")
	for range 6 {
		_ = callFailure(t, s, s.call(run.Execute))
	}
	s.opened = nil
	if out := s.propose(result("type: NOOP\nreason: done")); out.Summary != "done" {
		t.Errorf("%+v", out)
	}
}

// An attempt that has waited for another for too long gives way to the next, which
// has all of its time.
func TestAnAttemptThatIsTooLateIsNotPaid(t *testing.T) {
	s := newFixture(t)
	s.provider.says(result("type: NOOP\nreason: done"))
	c := s.call(run.Execute)
	c.Timeout = time.Hour // more than the environment gives
	if app := callFailure(t, s, c); app.Type() != activities.LateError || app.NonRetryable() || s.provider.calls() != 0 {
		t.Errorf("%s, final %v, %d calls", app.Type(), app.NonRetryable(), s.provider.calls())
	}
}

// block makes the disk refuse an artifact: a directory has its name. The result ends that.
func (s *fixture) block(name string) (unblock func()) {
	s.t.Helper()
	at := filepath.Join(s.dir().Path(), "artifacts", name)
	if err := os.MkdirAll(filepath.Join(at, "x"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(at); err != nil {
			s.t.Error(err)
		}
	}
}

// spentOf returns the usage that an activity's error tells.
func spentOf(t *testing.T, app *temporal.ApplicationError) (used run.Usage) {
	t.Helper()
	var before []run.Retry
	if !app.HasDetails() {
		return used
	}
	if err := app.Details(&used, &before); err != nil {
		t.Error(err)
	}
	return used
}

// A call that was paid is not made again by itself because the disk did not take what came of it.
func TestWhatTheDiskDoesNotTakeIsPaidOnceAndCounted(t *testing.T) {
	used := &run.Usage{TotalTokens: 1000}
	late := &failure.Error{Code: failure.Timeout, Message: "late", Retriable: true}
	limit := &failure.Limited{Until: time.Now().Add(time.Hour), Cause: &failure.Error{Code: failure.RateLimit, Message: "5 hours"}}
	var cuts []string
	for n := 1; n <= 20; n++ {
		cuts = append(cuts, fmt.Sprintf("cut-%d.raw.txt", n))
	}
	for name, tc := range map[string]struct {
		blocked []string
		resp    provider.Response
		err     error
	}{
		"the answer":                {[]string{"call.json"}, provider.Response{RawText: "x", FinishReason: provider.Stop, Usage: used}, nil},
		"the usage of an error":     {[]string{"attempt-1.usage.json"}, provider.Response{Usage: used}, late},
		"the text before an error":  {[]string{"attempt-1.error.json"}, provider.Response{RawText: "x", Usage: used}, late},
		"the text before a budget":  {cuts, provider.Response{RawText: "x", Usage: used}, provider.Exhaust()},
		"the text before its limit": {cuts, provider.Response{RawText: "x", Usage: used}, limit},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.provider.responds(tc.resp, tc.err)
			c := s.call(run.Execute)
			for _, name := range tc.blocked {
				s.block(c.Artifact(name))
			}
			app := callFailure(t, s, c)
			if !app.NonRetryable() || !strings.Contains(app.Message(), "could not be saved") || spentOf(t, app) != *used {
				t.Errorf("final %v, %q, used %+v", app.NonRetryable(), app.Message(), spentOf(t, app))
			}
		})
	}
}

// The answer of an agent is in its note: a repetition finds it there and pays nothing.
func TestAnAgentsAnswerOutlivesADiskWithoutRoom(t *testing.T) {
	s := newFixture(t)
	fake := s.employ("[[say:" + result("type: NOOP\nreason: done") + "]][[usage:1000,20]]")
	c := s.developing()
	unblock := s.block(c.Artifact("call.json"))
	if app := callFailure(t, s, c); app.NonRetryable() {
		t.Errorf("it is not tried again: %v", app)
	}
	asked := len(fake.Model.Requests())
	unblock()
	out := must[activities.ProposeResult](s, s.acts.Propose, c)
	if out.Usage.TotalTokens != 1020*int64(asked) || len(fake.Model.Requests()) != asked {
		t.Errorf("usage %+v of %d requests, then %d", out.Usage, asked, len(fake.Model.Requests()))
	}
	c.Number = 2
	s.block(c.Artifact("call.json"))
	for range 4 {
		callFailure(t, s, c)
	}
	app := callFailure(t, s, c)
	if !app.NonRetryable() || spentOf(t, app).TotalTokens == 0 || len(fake.Model.Requests()) != 2*asked {
		t.Errorf("the fifth: final %v, used %+v, %d requests", app.NonRetryable(), spentOf(t, app), len(fake.Model.Requests()))
	}
}

// An error that ends the phase tells what the answers before it were paid, for the next call does not find them.
func TestAPaidAnswerThatLeadsToAnErrorIsCounted(t *testing.T) {
	paid := func(text string, finish provider.FinishReason) provider.Response {
		return provider.Response{RawText: text, FinishReason: finish, Usage: &run.Usage{TotalTokens: 1000}}
	}
	for name, act := range map[string]func(*fixture) error{
		"half a plan": func(s *fixture) error {
			s.provider.responds(paid("# half", provider.Length), nil)
			_, err := do[activities.PlanResult](s, s.acts.Plan, s.call(run.Plan))
			return err
		},
		"a patch of a file that is gone meanwhile": func(s *fixture) error {
			s.provider.then(func(context.Context, func(provider.Progress)) (provider.Response, error) {
				id := s.git("rev-parse", "HEAD:log.txt")
				check(s.t, os.Remove(filepath.Join(s.repo, ".git", "objects", id[:2], id[2:])))
				return paid(patching(appending), provider.Stop), nil
			})
			_, err := do[activities.ProposeResult](s, s.acts.Propose, s.call(run.Execute))
			return err
		},
		"no decision, and then an error": func(s *fixture) error {
			s.provider.responds(paid("hm", provider.Stop), nil)
			s.provider.fails("", failure.Error{Code: failure.Auth, Message: "401"})
			_, err := do[activities.Judgement](s, s.acts.Judge, activities.JudgeInput{Call: s.call(run.Evaluate), Report: s.check("true").Report})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			app, ok := errors.AsType[*temporal.ApplicationError](act(s))
			if !ok || !app.NonRetryable() {
				t.Fatalf("%v", app)
			}
			if used := spentOf(t, app); used.TotalTokens != 1000 {
				t.Errorf("%v: it tells %+v", app, used)
			}
		})
	}
}
