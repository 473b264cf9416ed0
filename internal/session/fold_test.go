package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

var noon = time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)

// life drives a snapshot as a workflow does.
type life struct {
	t *testing.T
	*session.Snapshot
	now time.Time
	n   int // reports of the process
}

func newLife(t *testing.T, change ...func(*session.Input)) *life {
	in := session.Input{ID: "s1", Provider: "claude", Repository: run.Repository{Path: "/r", Base: "c"}}
	for _, c := range change {
		c(&in)
	}
	if err := in.Validate(); err != nil {
		t.Fatal(err)
	}
	return &life{t: t, Snapshot: session.New(in, noon), now: noon}
}

// do applies events that must be in turn.
func (l *life) do(events ...session.Event) *life {
	l.t.Helper()
	for _, e := range events {
		if err := l.Apply(l.now, e); err != nil {
			l.t.Fatalf("%T: %v", e, err)
		}
		if _, begins := e.(session.ProcessStarting); begins {
			l.n = 0
		}
	}
	return l
}

// refuse applies an event that must be out of turn and change nothing.
func (l *life) refuse(e session.Event) {
	l.t.Helper()
	before, _ := json.Marshal(l.Snapshot)
	if err := l.Apply(l.now, e); !errors.Is(err, session.ErrTransition) {
		l.t.Errorf("%T: error %v", e, err)
	}
	if after, _ := json.Marshal(l.Snapshot); string(after) != string(before) {
		l.t.Errorf("%T changed\n%s\nto\n%s", e, before, after)
	}
}

func (l *life) want(state session.State, next session.Do) *life {
	l.t.Helper()
	if got := l.Next(l.now); l.State != state || got != next {
		l.t.Errorf("%s, next %s; want %s, next %s", l.State, got, state, next)
	}
	return l
}

// report returns the next report of the process.
func (l *life) report(r session.Report) session.Report {
	l.n++
	r.Epoch, r.N = l.Epochs, l.n
	return r
}

// seat begins a process whose note says found.
func (l *life) seat(found *session.Handed) *life {
	l.t.Helper()
	l.do(l.NextProcess())
	return l.do(l.report(session.Report{Ready: &session.Ready{Queue: "own", Agent: "a1", Found: found}}))
}

func (l *life) end(id string, o session.Outcome) *life {
	l.t.Helper()
	return l.do(l.report(session.Report{Ended: &session.TurnEnded{ID: id, Outcome: o, Usage: run.Usage{TotalTokens: 10}}}))
}

func (l *life) lose(end session.End) *life {
	l.t.Helper()
	return l.do(session.ProcessEnded{Epoch: l.Epochs, End: end, Reason: "because"})
}

func said(id string) session.Said {
	return session.Said{Message: session.Message{ID: id, Text: "do " + id}}
}

func ask(call string) *run.Permission {
	return &run.Permission{CallID: call, Tool: "Bash", Digest: run.DigestOf([]byte(call))}
}

// atWork is a session whose first message has been handed over.
func atWork(t *testing.T, change ...func(*session.Input)) *life {
	return newLife(t, change...).do(said("m1")).seat(nil).do(session.HandingBegun{}).want(session.Working, session.Rest)
}

func TestAMessageWakesTheAgentAndIsAnswered(t *testing.T) {
	l := newLife(t).want(session.Asleep, session.Rest)
	l.do(said("m1")).want(session.Asleep, session.Start)
	l.do(l.NextProcess()).want(session.Starting, session.Rest)
	l.do(l.report(session.Report{Ready: &session.Ready{Queue: "own", Agent: "a1"}})).want(session.Idle, session.Hand)
	l.do(session.HandingBegun{}).want(session.Working, session.Rest)
	l.end("m1", session.Completed).want(session.Idle, session.Rest)
	if l.Agent != "a1" || len(l.Past) != 1 || l.Past[0].Outcome != session.Completed || l.Usage.TotalTokens != 10 {
		t.Errorf("%+v", l.Snapshot)
	}
	l.lose(session.Slept).want(session.Asleep, session.Rest)
}

func TestAMessageThatIsSaidTwiceIsSaidOnce(t *testing.T) {
	l := newLife(t).do(said("m1"), said("m1"))
	if len(l.Queue) != 1 {
		t.Errorf("%d wait", len(l.Queue))
	}
	l.seat(nil).do(session.HandingBegun{}, said("m1"))
	l.end("m1", session.Completed).do(said("m1")).want(session.Idle, session.Rest)
}

// TestHowFarAMessageCame is the table of what follows from the note after a loss.
func TestHowFarAMessageCame(t *testing.T) {
	for _, tt := range []struct {
		name    string
		found   *session.Handed
		next    session.Do
		outcome session.Outcome // of the message; empty: it has not ended
		queued  int
	}{
		{"the note knows nothing: it was not given", nil, session.Hand, "", 1},
		{"the note knows another message: it was not given", &session.Handed{ID: "m0", Stage: session.Closed}, session.Hand, "", 1},
		{"about to be given: nobody knows", &session.Handed{ID: "m1", Stage: session.Begun}, session.Rest, session.Unknown, 0},
		{"heard: the agent goes on", &session.Handed{ID: "m1", Stage: session.Heard}, session.Hand, "", 0},
		{"ended: its end counts", &session.Handed{ID: "m1", Stage: session.Closed, End: &session.TurnEnded{ID: "m1", Outcome: session.Failed}}, session.Rest, session.Failed, 0},
	} {
		for _, end := range []session.End{session.WasLost, session.Died, session.Slept} {
			t.Run(tt.name+", "+string(end), func(t *testing.T) {
				l := atWork(t).lose(end)
				if l.Next(noon) != session.Start {
					t.Fatalf("next %s", l.Next(noon))
				}
				l.seat(tt.found).want(session.Idle, tt.next)
				if len(l.Queue) != tt.queued {
					t.Errorf("%d wait", len(l.Queue))
				}
				if tt.outcome != "" && (len(l.Past) != 1 || l.Past[0].Outcome != tt.outcome) {
					t.Errorf("%+v", l.Past)
				}
			})
		}
	}
}

func TestATurnIsGoneOnWithTwiceAtMost(t *testing.T) {
	l := atWork(t)
	heard := &session.Handed{ID: "m1", Stage: session.Heard, Used: run.Usage{TotalTokens: 7}}
	for part := 1; part <= 2; part++ {
		l.lose(session.Died).want(session.Dead, session.Start)
		l.seat(heard).do(session.HandingBegun{}).want(session.Working, session.Rest)
		if l.Turn.Parts != part {
			t.Errorf("part %d; want %d", l.Turn.Parts, part)
		}
	}
	l.lose(session.Died).seat(heard).want(session.Idle, session.Rest)
	if p := l.Past[0]; p.Outcome != session.CutOff || p.Usage.TotalTokens != 7 || p.Resumes != 2 {
		t.Errorf("%+v", p)
	}
}

func TestAnIdleAgentThatIsLostIsResumedAndOneThatDiedIsNot(t *testing.T) {
	for end, next := range map[session.End]session.Do{session.WasLost: session.Start, session.Died: session.Rest, session.Slept: session.Rest, session.Ended: session.Rest} {
		l := newLife(t).do(session.WakeAsked{}).seat(nil).want(session.Idle, session.Rest).lose(end)
		if got := l.Next(noon); got != next {
			t.Errorf("%s: next %s; want %s", end, got, next)
		}
		if l.Reason != "because" {
			t.Errorf("%s: reason %q", end, l.Reason)
		}
	}
}

func TestWhyAProcessEnded(t *testing.T) {
	for end, state := range map[session.End]session.State{
		session.Slept: session.Asleep, session.Ended: session.Asleep, session.Died: session.Dead, session.WasLost: session.Lost,
		session.Held: session.Foreign, session.Unstarted: session.Unable, session.Forgotten: session.Unable,
	} {
		if l := newLife(t).do(session.WakeAsked{}).do(session.ProcessStarting{}).lose(end); l.State != state {
			t.Errorf("%s: %s; want %s", end, l.State, state)
		}
	}
}

func TestTheNextTryWaitsLongerAndLonger(t *testing.T) {
	l := newLife(t).do(said("m1"))
	var waits []time.Duration
	for range 9 {
		l.do(l.NextProcess()).lose(session.Held).want(session.Foreign, session.Pause)
		waits = append(waits, l.NotBefore.Sub(l.now))
		l.now = l.NotBefore
		l.want(session.Foreign, session.Start)
	}
	if !slices.IsSorted(waits) || waits[0] != 5*time.Second || waits[8] != 5*time.Minute {
		t.Errorf("%v", waits)
	}
	l.do(l.NextProcess()).lose(session.Unstarted).do(said("m2")).want(session.Unable, session.Start) // a person may have mended it
}

func TestAForgottenSessionIsBegunAnewOnlyOnRequest(t *testing.T) {
	l := atWork(t).do(said("m2")).lose(session.WasLost)
	l.do(l.NextProcess()).lose(session.Forgotten).want(session.Unable, session.Rest)
	if len(l.Past) != 2 || l.Past[0].Outcome != session.CutOff || l.Past[1].Outcome != session.Failed {
		t.Fatalf("%+v", l.Past)
	}
	fresh := session.Said{Message: session.Message{ID: "m3", Text: "t", Fresh: true}}
	l.do(fresh)
	if due := l.NextProcess(); !due.Fresh {
		t.Errorf("%+v", due)
	}
	l.seat(nil).do(session.HandingBegun{}).end("m3", session.Completed)
	fresh.Message.ID = "m4"
	l.do(fresh).want(session.Idle, session.Stop) // another one needs another start
}

func TestAnOverrideHoldsForOneMessage(t *testing.T) {
	l := newLife(t, func(in *session.Input) { in.Model, in.Setup.Mode = "small", "plan" })
	other := session.Said{Message: session.Message{ID: "m1", Text: "t", Override: setup.Choice{Model: "large"}}}
	l.do(other)
	if got := l.NextProcess().Choice; got != (setup.Choice{Model: "large", Mode: "plan"}) {
		t.Errorf("%+v", got)
	}
	l.seat(nil).want(session.Idle, session.Hand).do(session.HandingBegun{}).end("m1", session.Completed)
	l.want(session.Idle, session.Rest).do(said("m2")).want(session.Idle, session.Stop) // respawn
	l.do(session.ProcessStopping{}).want(session.Starting, session.Rest).lose(session.Ended).want(session.Asleep, session.Start)
	if got := l.NextProcess().Choice; got != (setup.Choice{Model: "small", Mode: "plan"}) {
		t.Errorf("%+v", got)
	}
	l.seat(nil).want(session.Idle, session.Hand)
}

func TestAPersonDecides(t *testing.T) {
	l := atWork(t)
	l.do(l.report(session.Report{Asked: ask("c1")}), l.report(session.Report{Asked: ask("c2")})).want(session.Asking, session.Rest)
	first := l.Pending().Asks[0]
	if len(l.Pending().Asks) != 2 || first.ApprovalID == l.Pending().Asks[1].ApprovalID || !strings.Contains(first.Commands[0], first.ApprovalID) {
		t.Fatalf("%+v", l.Pending())
	}
	for _, bad := range []run.Decision{
		{}, {ApprovalID: first.ApprovalID}, {ApprovalID: "apr-1-0", Decision: run.Approve},
		{ApprovalID: first.ApprovalID, Decision: run.Approve, Final: true}, {ApprovalID: first.ApprovalID, Decision: run.Reject, Session: true},
		{ApprovalID: first.ApprovalID, Decision: run.Reject, Reason: strings.Repeat("x", run.MaxTextBytes+1)},
		{ApprovalID: first.ApprovalID, Decision: run.Approve, Files: []string{"a.go"}},
	} {
		l.refuse(session.Decided{Decision: bad})
	}
	yes := session.Decided{Decision: run.Decision{ApprovalID: first.ApprovalID, Decision: run.Approve, Session: true}}
	l.do(yes).want(session.Asking, session.Decide)
	l.refuse(yes)
	if p := l.Permit(); p == nil || !p.Allow || !p.Session || p.CallID != "c1" {
		t.Errorf("permit %+v", p)
	}
	l.do(session.DecisionSent{ApprovalID: first.ApprovalID}).want(session.Asking, session.Rest)
	l.do(l.report(session.Report{Withdrawn: &session.Withdrew{CallID: "c2"}})).want(session.Working, session.Rest)
	if l.end("m1", session.Completed); len(l.Permits) != 1 {
		t.Errorf("the permit for the session is gone: %+v", l.Permits)
	}
}

// However many approvals hold for the session, the agent is told the last decision.
func TestADecisionAfterManyForTheSessionIsTold(t *testing.T) {
	l := atWork(t)
	for n := range 60 {
		l.do(l.report(session.Report{Asked: ask(fmt.Sprintf("c%d", n))}))
		id := l.Asks[0].ApprovalID
		l.do(session.Decided{Decision: run.Decision{ApprovalID: id, Decision: run.Approve, Session: n < 55}})
		if p := l.Permit(); p == nil || !p.Allow || p.Session != (n < 55) {
			t.Fatalf("decision %d: permit %+v", n, p)
		}
		l.do(session.DecisionSent{ApprovalID: id})
	}
}

func TestADecisionWaitsWithoutAProcessAndResumesTheAgent(t *testing.T) {
	l := atWork(t)
	l.do(l.report(session.Report{Asked: ask("c1")}), l.report(session.Report{Asked: ask("c2")}))
	l.lose(session.WasLost).want(session.Asking, session.Rest)
	if len(l.Asks) != 1 {
		t.Errorf("%d asks are left", len(l.Asks))
	}
	l.do(session.Decided{Decision: run.Decision{ApprovalID: l.Asks[0].ApprovalID, Decision: run.Reject, Reason: "no"}}).want(session.Asleep, session.Start)
	l.seat(&session.Handed{ID: "m1", Stage: session.Heard}).want(session.Idle, session.Hand)
	if p := l.Permit(); p == nil || p.Allow || p.Reason != "no" {
		t.Errorf("permit %+v", p)
	}
	l.do(session.HandingBegun{}).want(session.Working, session.Rest)
}

func TestABudgetIsAskedAboutAndRaised(t *testing.T) {
	l := atWork(t, func(in *session.Input) { in.MaxTokens = 10 }).do(said("m2"))
	l.do(l.report(session.Report{Ended: &session.TurnEnded{ID: "m1", Outcome: session.Interrupted, Exhausted: true, Usage: run.Usage{TotalTokens: 12}}}))
	l.want(session.Asking, session.Rest)
	for _, text := range []string{"", "5", "12", "many"} {
		l.refuse(session.Answered{Reply: run.Reply{QuestionID: l.Question.ID, Text: text}})
	}
	l.refuse(session.Answered{Reply: run.Reply{QuestionID: "qst-9", Text: "100"}})
	l.do(session.Answered{Reply: run.Reply{QuestionID: l.Question.ID, Text: "30"}}).want(session.Idle, session.Hand)
	l.do(session.HandingBegun{})
	if l.Turn.Parts != 1 || l.Turn.Resumes != 0 || l.Turn.ID != "m1" {
		t.Errorf("%+v", l.Turn)
	}
	if tokens, cost := l.Left(); tokens != 18 || cost != 0 {
		t.Errorf("left %d, %d", tokens, cost)
	}
	l.end("m1", session.Completed).want(session.Idle, session.Hand).do(session.HandingBegun{})
	l.end("m2", session.Completed).want(session.Asking, session.Rest)
	l.do(said("m3"), session.Answered{Reply: run.Reply{QuestionID: l.Question.ID, Text: "stop"}}).want(session.Idle, session.Stop)
	if p := l.Past[len(l.Past)-1]; p.ID != "m3" || p.Outcome != session.Withdrawn {
		t.Errorf("%+v", p)
	}
}

// The note of an agent that sleeps until the person answers tells once more of the end that the session has counted.
func TestAUsedUpBudgetIsChargedOnce(t *testing.T) {
	end := session.TurnEnded{
		ID: "m1", Outcome: session.Interrupted, Exhausted: true, Answer: run.Ref{Name: "turns/0001.1.md"}, Usage: run.Usage{TotalTokens: 12},
	}
	note := &session.Handed{ID: "m1", Stage: session.Closed, End: &end}
	answer := func(l *life) { l.do(session.Answered{Reply: run.Reply{QuestionID: l.Question.ID, Text: "20"}}) }
	for _, tt := range []struct {
		name string
		live func(*life)
		used int64
		next session.Do
	}{
		{"it sleeps, and the person answers", func(l *life) { l.do(l.report(session.Report{Ended: &end})).lose(session.Slept); answer(l) }, 12, session.Hand},
		{"its worker dies before the next part is in the note", func(l *life) {
			l.do(l.report(session.Report{Ended: &end}))
			answer(l)
			l.do(session.HandingBegun{}).lose(session.WasLost)
		}, 12, session.Hand},
		{"its worker dies before it tells", func(l *life) { l.lose(session.WasLost) }, 12, session.Rest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := atWork(t, func(in *session.Input) { in.MaxTokens = 10 })
			tt.live(l)
			l.do(session.WakeAsked{}).seat(note)
			if next := l.Next(noon); next != tt.next || l.Usage.TotalTokens != tt.used || !l.Turn.Due || l.Turn.Parts != 0 || l.Turn.Resumes != -1 {
				t.Errorf("used %d, next %s, %+v", l.Usage.TotalTokens, next, l.Turn)
			}
		})
	}
}

func TestStopEndsTheProcessAndRetireTheSession(t *testing.T) {
	l := atWork(t).do(said("m2"), session.StopAsked{By: "ann"}).want(session.Idle, session.Stop)
	if len(l.Past) != 2 || l.Past[0].Outcome != session.Withdrawn || l.Past[1].Outcome != session.Interrupted {
		t.Errorf("%+v", l.Past)
	}
	l.refuse(l.report(session.Report{Ended: &session.TurnEnded{ID: "m1", Outcome: session.Completed}}))
	l.do(session.ProcessStopping{}).lose(session.Ended).want(session.Asleep, session.Rest)
	l.do(said("m3")).want(session.Asleep, session.Start).seat(&session.Handed{ID: "m1", Stage: session.Heard}).want(session.Idle, session.Hand)
	l.do(session.RetireAsked{}).refuse(said("m4"))
	l.refuse(session.Retirement{})
	l.want(session.Idle, session.Stop).do(session.ProcessStopping{}).lose(session.Ended).want(session.Asleep, session.Close)
	l.do(session.Retirement{}).want(session.Retired, session.Rest)
	l.refuse(session.WakeAsked{})
}

// A turn that a person or its client ends is closed before its process tells what it used.
func TestTheUsageOfATurnThatWasGivenUpCounts(t *testing.T) {
	heard := &session.Handed{ID: "m1", Stage: session.Heard, Used: run.Usage{TotalTokens: 90}}
	spent := &session.Handed{ID: "m1", Stage: session.Heard, Used: run.Usage{TotalTokens: 40}}
	again := &session.Handed{ID: "m1", Stage: session.Begun, Used: spent.Used}
	over := session.TurnEnded{ID: "m1", Outcome: session.Interrupted, Exhausted: true, Answer: run.Ref{Name: "turns/0001.1.md"}, Usage: run.Usage{TotalTokens: 90}}
	closed := &session.Handed{ID: "m1", Stage: session.Closed, End: &over}
	stop := func(l *life) { l.do(session.StopAsked{By: "ann"}) }
	ends := func(found *session.Handed) func(*life) {
		return func(l *life) { l.do(session.ProcessEnded{Epoch: l.Epochs, End: session.Ended, Found: found}) }
	}
	seats := func(found *session.Handed) func(*life) {
		return func(l *life) { l.do(said("m2")).seat(found) }
	}
	overrun := func(l *life) { l.do(l.report(session.Report{Ended: &over})) }
	for _, tt := range []struct {
		name string
		live []func(*life)
		used int64
	}{
		{"the end of the process tells it", []func(*life){stop, ends(heard), seats(heard)}, 90},
		{"the turn has ended meanwhile", []func(*life){stop, ends(closed), seats(closed)}, 90},
		{"the next process tells it", []func(*life){stop, ends(nil), seats(heard)}, 90},
		{"no message came to the agent", []func(*life){stop, ends(&session.Handed{ID: "m0", Stage: session.Closed, End: &over}), seats(nil)}, 0},
		{"a part before counts", []func(*life){ends(spent), func(l *life) { l.seat(spent).do(session.HandingBegun{}) }, stop, ends(heard), seats(heard)}, 90},
		{"a later part that may not have come", []func(*life){ends(spent), func(l *life) { l.seat(spent).do(session.HandingBegun{}) }, ends(nil), seats(again)}, 40},
		{"a part that used up the budget counts", []func(*life){overrun, stop, ends(closed), seats(closed)}, 90},
		{"the next part did not come to the agent", []func(*life){overrun, func(l *life) {
			l.do(session.Answered{Reply: run.Reply{QuestionID: l.Question.ID, Text: "200"}}, session.HandingBegun{})
		}, stop, ends(closed), seats(closed)}, 90},
		{"interrupted while it is lost", []func(*life){ends(nil), func(l *life) { l.do(session.TurnDropped{}) }, seats(heard)}, 90},
		{"the client has forgotten the session", []func(*life){ends(nil), func(l *life) {
			l.do(l.NextProcess()).do(session.ProcessEnded{Epoch: l.Epochs, End: session.Forgotten, Found: heard})
		}}, 90},
		{"retired", []func(*life){func(l *life) { l.do(session.RetireAsked{}) }, ends(heard)}, 90},
		{"retired without an agent", []func(*life){ends(nil), func(l *life) { l.do(session.RetireAsked{}, session.Retirement{Found: heard}) }}, 90},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := atWork(t, func(in *session.Input) { in.MaxTokens = 60 })
			for _, step := range tt.live {
				step(l)
			}
			if l.Usage.TotalTokens != tt.used || l.Unseen != "" || len(l.Past) != 1 {
				t.Errorf("used %d, waits for the usage of %q, %+v", l.Usage.TotalTokens, l.Unseen, l.Past)
			}
			if p := l.Past[0]; p.Usage != l.Usage && !strings.Contains(tt.name, "part") {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestATurnThatWasCutOffCanBeDropped(t *testing.T) {
	l := atWork(t).lose(session.Held)
	l.do(session.TurnDropped{}).want(session.Asleep, session.Rest)
	if l.Past[0].Outcome != session.Interrupted {
		t.Errorf("%+v", l.Past)
	}
	atWork(t).refuse(session.TurnDropped{})
}

func TestReportsOfAnotherProcessAndRepeatedOnesChangeNothing(t *testing.T) {
	l := atWork(t)
	named := l.report(session.Report{Named: &session.Named{Agent: "a2"}})
	l.do(named).refuse(named)
	l.refuse(session.Report{Epoch: l.Epochs - 1, N: 9, Named: &session.Named{Agent: "a3"}})
	l.refuse(session.Report{Epoch: l.Epochs, N: 9})
	l.refuse(session.Report{Epoch: l.Epochs, N: 9, Ready: &session.Ready{Queue: "other"}})
	l.refuse(session.Report{Epoch: l.Epochs, N: 9, Ended: &session.TurnEnded{ID: "m9", Outcome: session.Completed}})
	l.refuse(session.ProcessEnded{Epoch: l.Epochs - 1, End: session.Died})
	l.refuse(session.ProcessStarting{})
	l.refuse(session.HandingBegun{})
	l.lose(session.WasLost).refuse(l.report(session.Report{Named: &session.Named{Agent: "a4"}}))
	l.refuse(session.ProcessStopping{})
}

func TestADeliverysTurnIsNoMessage(t *testing.T) {
	l := newLife(t).do(session.WakeAsked{}).seat(nil).do(session.DeliveryBegun{ID: "d1"}).want(session.Working, session.Rest)
	l.do(said("m1")).want(session.Working, session.Rest)
	l.end("d1", session.Completed).want(session.Idle, session.Hand)
	l.do(session.HandingBegun{}).end("m1", session.Completed).do(session.DeliveryBegun{ID: "d2"}).lose(session.WasLost).want(session.Lost, session.Start)
	if len(l.Past) != 1 || l.Turn != nil || l.Usage.TotalTokens != 20 {
		t.Errorf("%+v", l.Snapshot)
	}
	l.refuse(session.DeliveryBegun{ID: "d3"})
}

// A delivery's turn that its process did not end is counted as the note tells.
func TestTheUsageOfADeliveryCounts(t *testing.T) {
	heard := &session.Handed{ID: "d1", Stage: session.Heard, Used: run.Usage{TotalTokens: 90}}
	for _, tt := range []struct {
		name    string
		end     session.ProcessEnded
		ready   *session.Handed
		used    int64
		retires bool
	}{
		{"the end of the process tells it", session.ProcessEnded{End: session.Ended, Found: heard}, heard, 90, false},
		{"the next process tells it", session.ProcessEnded{End: session.WasLost}, heard, 90, false},
		{"it did not come to the agent", session.ProcessEnded{End: session.WasLost}, nil, 0, false},
		{"the retirement tells it", session.ProcessEnded{End: session.Died}, heard, 90, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLife(t).do(session.WakeAsked{}).seat(nil).do(session.DeliveryBegun{ID: "d1"})
			tt.end.Epoch = l.Epochs
			l.do(tt.end)
			if tt.retires {
				l.do(session.RetireAsked{}, session.Retirement{Found: tt.ready})
			} else {
				l.do(said("m1")).seat(tt.ready)
			}
			if l.Usage.TotalTokens != tt.used || l.Unseen != "" {
				t.Errorf("used %d, waits for the usage of %q", l.Usage.TotalTokens, l.Unseen)
			}
		})
	}
}

// A used-up budget holds deliveries until it is raised. A person who answered with stop is not asked again by the session
// itself.
func TestADeliveryKeepsToTheBudget(t *testing.T) {
	l := newLife(t, func(in *session.Input) { in.MaxTokens = 15 }).do(session.WakeAsked{}).seat(nil)
	l.do(session.DeliveryBegun{ID: "d1"}).end("d1", session.Completed).refuse(session.BudgetAsked{})
	if err := l.CheckBudget(); err != nil {
		t.Error(err)
	}
	l.do(session.DeliveryBegun{ID: "d2"}).end("d2", session.Interrupted)
	if err := l.CheckBudget(); err == nil || !l.OwesQuestion() {
		t.Errorf("another may begin: %v", err)
	}
	l.do(session.BudgetAsked{}).want(session.Asking, session.Rest).refuse(session.BudgetAsked{})
	l.do(session.Answered{Reply: run.Reply{QuestionID: l.Question.ID, Text: "stop"}})
	if err := l.CheckBudget(); err == nil || !strings.Contains(err.Error(), "send a message") {
		t.Errorf("after stop: %v", err)
	}
	l.do(session.BudgetAsked{}, session.Answered{Reply: run.Reply{QuestionID: "qst-2", Text: "100"}})
	if err := l.CheckBudget(); err != nil || l.OwesQuestion() {
		t.Errorf("after the raise: %v", err)
	}
}

func TestMessagesThatCannotBeTaken(t *testing.T) {
	l := newLife(t)
	for name, m := range map[string]session.Message{
		"no id": {Text: "t"}, "no text": {ID: "a", Text: " \n"}, "too long": {ID: "a", Text: strings.Repeat("x", session.MaxMessage+1)},
		"a long id": {ID: strings.Repeat("x", 129), Text: "t"},
	} {
		if l.CheckMessage(m) == nil {
			t.Errorf("%s is taken", name)
		}
		l.refuse(session.Said{Message: m})
	}
	for i := range session.MaxQueue {
		l.do(said(fmt.Sprint("m", i)))
	}
	l.refuse(said("one too many"))
}

func TestWordsThatAreUnknownAreRefused(t *testing.T) {
	for _, text := range []string{`{"state":"x"}`, `{"past":[{"outcome":"x"}]}`} {
		if json.Unmarshal([]byte(text), new(session.Snapshot)) == nil {
			t.Errorf("%s is taken", text)
		}
	}
	for _, text := range []string{`{"ready":{"found":{"stage":"x"}}}`, `{"observation":{"what":"x"}}`} {
		if json.Unmarshal([]byte(text), new(session.Report)) == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if id, ok := session.IDOf("session-s1"); !ok || id != "s1" || id.WorkflowID() != "session-s1" {
		t.Error(id, ok)
	}
	for _, id := range []string{"run-s1", "session-", "session-../x"} {
		if _, ok := session.IDOf(id); ok {
			t.Errorf("%s is a session", id)
		}
	}
}

// TestNoMessageIsHandedOverTwice plays random lives with a note on disk that a killed worker leaves at
// any stage. A message is given again only where the note shows that it was not given.
func TestNoMessageIsHandedOverTwice(t *testing.T) {
	ended := 0
	for seed := range uint64(400) {
		ended += playLife(t, rand.New(rand.NewPCG(seed, 1)))
	}
	if ended < 1000 {
		t.Errorf("only %d messages ended: the lives say little", ended)
	}
}

func playLife(t *testing.T, r *rand.Rand) (endedMessages int) {
	l := newLife(t)
	var note *session.Handed
	given := map[string]int{}  // first parts that the agent got, by message
	began := map[string]bool{} // by message and part
	for step := range 120 {
		l.now = l.now.Add(time.Minute)
		if r.IntN(3) == 0 && len(l.Queue) < 3 {
			l.do(said(fmt.Sprint("m", step)))
		}
		switch l.Next(l.now) {
		case session.Start:
			l.do(l.NextProcess())
			if r.IntN(4) == 0 {
				l.lose([]session.End{session.WasLost, session.Held, session.Unstarted}[r.IntN(3)])
				continue
			}
			l.do(l.report(session.Report{Ready: &session.Ready{Queue: "own", Found: note}}))
		case session.Hand:
			l.do(session.HandingBegun{})
			key := fmt.Sprint(l.Turn.ID, l.Turn.Parts)
			if began[key] {
				t.Fatalf("%s is handed over again after the note said that it was", key)
			}
			if r.IntN(4) == 0 { // the worker died before the note
				if l.Turn.Parts == 0 || r.IntN(2) == 0 {
					l.lose(session.WasLost)
				} else {
					l.do(session.NotHanded{ID: l.Turn.ID})
				}
				continue
			}
			note = &session.Handed{ID: l.Turn.ID, Stage: session.Begun}
			began[key] = true
			if r.IntN(4) > 0 {
				if l.Turn.Parts == 0 {
					given[l.Turn.ID]++
				}
				note = &session.Handed{ID: l.Turn.ID, Stage: session.Heard}
			}
			if r.IntN(3) == 0 {
				l.lose([]session.End{session.WasLost, session.Died, session.Slept}[r.IntN(3)])
			}
		case session.Rest:
			if l.Turn == nil || l.Turn.Cut {
				continue
			}
			end := session.TurnEnded{ID: l.Turn.ID, Outcome: session.Completed}
			note = &session.Handed{ID: l.Turn.ID, Stage: session.Closed, End: &end}
			if r.IntN(3) == 0 { // the worker died before it told
				l.lose(session.WasLost)
				continue
			}
			l.end(end.ID, end.Outcome)
		}
	}
	for id, n := range given {
		if n > 1 {
			t.Fatalf("the agent got %s %d times", id, n)
		}
	}
	return len(l.Past)
}
