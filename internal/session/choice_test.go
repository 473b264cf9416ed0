package session_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// changeTo returns a change of model and mode; - leaves one as it is.
func changeTo(model, mode string) setup.Change {
	var c setup.Change
	if model != "-" {
		c.Model = &model
	}
	if mode != "-" {
		c.Mode = &mode
	}
	return c
}

func TestAChosenModelHoldsFromTheNextTurnOn(t *testing.T) {
	l := atWork(t, func(in *session.Input) { in.Model, in.Setup.Mode = "small", "plan" })
	l.do(session.Chosen{Change: changeTo("large", "-")}).want(session.Working, session.Rest)
	l.end("m1", session.Completed).want(session.Idle, session.Stop)
	l.do(session.ProcessStopping{}).lose(session.Ended).want(session.Asleep, session.Rest)
	if due := l.do(said("m2")).NextProcess().Choice; due != (setup.Choice{Model: "large", Mode: "plan"}) {
		t.Errorf("started with %+v", due)
	}
	l.seat(nil).want(session.Idle, session.Hand)
}

func TestAnIdleAgentOfAnotherChoiceIsEnded(t *testing.T) {
	l := atWork(t).end("m1", session.Completed)
	l.do(session.Chosen{Change: changeTo("-", "plan")}).want(session.Idle, session.Stop)
	l.do(session.Chosen{Change: changeTo("-", "")}).want(session.Idle, session.Rest) // as it was started
}

// TestNoTurnBeginsByAnOldChoice has the choice change while the agent starts: a message, or a delivery, that is handed
// over then would run by what a person has just taken back.
func TestNoTurnBeginsByAnOldChoice(t *testing.T) {
	l := newLife(t).do(said("m1"))
	l.do(l.NextProcess(), session.Chosen{Change: changeTo("-", "plan")}).want(session.Starting, session.Rest)
	l.do(l.report(session.Report{Ready: &session.Ready{Queue: "own", Agent: "a1"}})).want(session.Idle, session.Stop)
	l.do(session.ProcessStopping{}).lose(session.Ended).want(session.Asleep, session.Start)
	if due := l.NextProcess().Choice; due.Mode != "plan" {
		t.Errorf("started with %+v", due)
	}
}

func TestWhenAnAgentLivesByTheChoiceOfAMessage(t *testing.T) {
	l := newLife(t).do(session.Said{Message: session.Message{ID: "m1", Text: "do", Override: setup.Choice{Mode: "plan"}}})
	for _, tt := range []struct {
		step func()
		want bool
	}{
		{func() { l.seat(nil) }, true},
		{func() { l.do(session.HandingBegun{}) }, false},
		{func() { l.end("m1", session.Completed) }, true},
		{func() { l.do(session.ProcessStopping{}) }, false},
		{func() { l.lose(session.Ended).do(said("m2")).seat(nil) }, false},
	} {
		if tt.step(); l.IsOverridden() != tt.want {
			t.Errorf("%+v: %t", l.Process, !tt.want)
		}
	}
}

func TestAChangedChoiceIsTriedAtOnce(t *testing.T) {
	l := newLife(t).do(said("m1"))
	l.do(l.NextProcess()).lose(session.Unstarted).want(session.Unable, session.Pause)
	l.do(session.Chosen{Change: changeTo("-", "plan")}).want(session.Unable, session.Start)
}

func TestChoicesThatAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name, provider, model, mode string
		say                         string // of the error; empty: none
	}{
		{"a model and a mode", "claude", "opus", "plan", ""},
		{"the agent's own", "claude", "", "", ""},
		{"a model with a window", "claude", "sonnet[1m]", "-", ""},
		{"nothing", "claude", "-", "-", "nothing is chosen"},
		{"a model that is a flag", "claude", "--dangerously-skip-permissions", "-", "one word"},
		{"a model of two words", "claude", "opus now", "-", "one word"},
		{"a model that moves the cursor", "claude", "opus\x1b[2J", "-", "one word"},
		{"a model without a bound", "claude", strings.Repeat("x", 129), "-", "at most 128 bytes"},
		{"a mode that is a flag", "claude", "-", "--yolo", "one word"},
		{"a mode that the agent has no place for", "pi:small", "-", "plan", "pi does not support a mode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLife(t, func(in *session.Input) { in.Provider = tt.provider })
			change := changeTo(tt.model, tt.mode)
			errs := []error{l.CheckChange(change)}
			if !change.IsZero() { // the same holds for one message
				errs = append(errs, l.CheckMessage(session.Message{ID: "m1", Text: "do", Override: change.Apply(setup.Choice{})}))
			}
			for _, err := range errs {
				if tt.say == "" && err != nil || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)) {
					t.Errorf("error %v; want one with %q", err, tt.say)
				}
			}
		})
	}
	l := newLife(t).do(session.RetireAsked{})
	if err := l.CheckChange(changeTo("opus", "-")); err != session.ErrRetired {
		t.Errorf("of a retired session: %v", err)
	}
	l.refuse(session.Chosen{Change: changeTo("opus", "-")})
}

// TestNamesThatHistoryCannotCarry sends names that every execution of the session would carry on.
func TestNamesThatHistoryCannotCarry(t *testing.T) {
	l, name := newLife(t), strings.Repeat("x", 201)
	for what, err := range map[string]error{
		"message":  l.CheckMessage(session.Message{ID: "m1", Text: "do", By: name}),
		"stop":     l.CheckSender(name),
		"a limit":  l.CheckSender(name[1:]),
		"override": l.CheckMessage(session.Message{ID: "m1", Text: "do", Override: setup.Choice{Mode: strings.Repeat("x", 1<<20)}}),
	} {
		if refused := err != nil; refused != (what != "a limit") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
