package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

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
	p.responds(provider.Response{}, &provider.Suspended{Tool: "Bash", Input: json.RawMessage(`{}`)})
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
	s.opened = errors.New("no such kind")
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
