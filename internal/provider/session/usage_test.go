package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// What the turn under way has used when a worker stops in order is told by the next attempt.
func TestUsageOfACanceledTurnIsToldByTheNextAttempt(t *testing.T) {
	b := newBench(t)
	req := b.request("[[usage:1000,20]]" + write("a.txt", "A") + write("b.txt", "B") + "[[say:done]]")
	req.Work.Tools = run.AllowTools
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	resp, err := b.provider().Generate(ctx, req, func(p provider.Progress) {
		if p.Used.TotalTokens >= 1020 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	var told int64
	if resp.Usage != nil {
		told = resp.Usage.TotalTokens
	}
	before := len(b.fake.Model.Requests())
	if resp, err = b.call(req); err != nil {
		t.Fatal(err)
	}
	told += resp.Usage.TotalTokens
	all := len(b.fake.Model.Requests())
	if least, most := 1020*int64(1+all-before), 1020*int64(all); told < least || told > most { // the last request before the end may have had no answer
		t.Errorf("%d tokens are told of %d requests, %d of them before it was canceled", told, all, before)
	}
}

// costly is an agent some of whose turns fail, and cost $5.
type costly struct {
	agent.Adapter
	fails func(resumed bool, turn int) bool
}

func (c costly) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := c.Adapter.Start(ctx, o)
	if err != nil {
		return s, err
	}
	out := make(chan agent.Event)
	go func() {
		defer close(out)
		n := 0
		for e := range s.Events() {
			if turn, ok := e.(agent.Turn); ok {
				if n++; c.fails(o.Resume != "", n) {
					cost := run.Dollars(5)
					turn.Status, turn.Cost, turn.Err = agent.Failed, &cost, &failure.Error{Code: failure.BadRequest, Message: failure.TooLong + ": 200001 tokens"}
				}
				e = turn
			}
			out <- e
		}
	}()
	return other{s, out}, nil
}

// The session was full, and the work is sent to a new one.
func TestCostOfATurnThatFailedIsToldWithTheNext(t *testing.T) {
	b := newBench(t)
	p := session.New(session.Config{Adapter: costly{b.fake, func(resumed bool, _ int) bool { return resumed }}, Pool: b.pool})
	req := b.request("[[usage:1000,20]][[say:done]]")
	if _, err := p.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	req.Phase, req.Role, req.Iteration = run.Fix, run.Fixer, 2
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil || resp.Usage.Cost < run.Dollars(5) || resp.Usage.TotalTokens != 2*1020 {
		t.Errorf("%v, usage %+v", err, resp.Usage)
	}
}

// The second answer is the note's, for a worker that died before it kept the first.
func TestCostOfAPeersTurnThatFailedIsTold(t *testing.T) {
	b := newBench(t)
	dirs := registry(t)
	p := session.New(session.Config{
		Adapter: costly{b.fake, func(_ bool, turn int) bool { return turn == 2 }}, Pool: b.pool,
		Host: early{citizen.Host{Dirs: dirs}, dirs, []string{"[[say:heard you]]"}},
	})
	req := b.request("[[say:done]]")
	for range 2 {
		if resp, err := p.Generate(t.Context(), req, nil); err != nil || resp.Usage.Cost < run.Dollars(5) {
			t.Errorf("%v, usage %+v", err, resp.Usage)
		}
	}
	if n := len(b.fake.Model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// An evaluator without a decision is asked once more: the second answer does not tell what the first has told.
func TestTheNextCallOfTheSameWorkTellsItsOwnUsage(t *testing.T) {
	for name, unfit := range map[string]bool{"after an answer": false, "after changes that cannot be taken": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request("[[usage:1000,20]]" + write("a.txt", "A") + "[[say:done]]")
			if unfit {
				b.site.unfit = map[string]string{"a.txt": "a symbolic link"}
			}
			var told int64
			for n := 1; n <= 2; n++ {
				req.Call = n
				resp, err := b.call(req)
				if unfit == (err == nil) {
					t.Fatalf("call %d: %v", n, err)
				}
				told += resp.Usage.TotalTokens
			}
			if want := 1020 * int64(len(b.fake.Model.Requests())); told != want {
				t.Errorf("%d tokens are told of %d", told, want)
			}
		})
	}
}

// The note in the slot is still of the call before, whose answer has told its usage.
func TestAnAgentThatDoesNotStartTellsNoUsage(t *testing.T) {
	for name, change := range map[string]func(*provider.Request){
		"in the next call":  func(req *provider.Request) { req.Call = 2 },
		"in the next phase": func(req *provider.Request) { req.Phase, req.Role, req.Iteration = run.Fix, run.Fixer, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request("[[usage:1000,20]][[say:done]]")
			first, err := b.call(req)
			if err != nil {
				t.Fatal(err)
			}
			change(&req)
			b.fake.Refuse = func(agent.Options) error { return errors.New("the program does not start") }
			if resp, err := b.call(req); err == nil || resp.Usage != nil && *resp.Usage != (run.Usage{}) {
				t.Errorf("%v, usage %+v", err, resp.Usage)
			}
			b.fake.Refuse = nil
			second, err := b.call(req)
			if want := 1020 * int64(len(b.fake.Model.Requests())); err != nil || first.Usage.TotalTokens+second.Usage.TotalTokens != want {
				t.Errorf("%v; %+v and %+v are told of %d tokens", err, first.Usage, second.Usage, want)
			}
		})
	}
}

// A call whose budget is used up before it begins sends no prompt.
func TestAnAgentWithoutABudgetIsNotAsked(t *testing.T) {
	for name, left := range map[string]provider.Left{"no tokens": {Tokens: -1}, "no money": {Tokens: 1000, Cost: -1}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request("[[usage:1000,20]][[say:done]]")
			req.Work.Left = left
			resp, err := b.call(req)
			if err != nil || !isExhausted(resp) || len(b.fake.Model.Requests()) != 0 {
				t.Errorf("%v, %d requests", err, len(b.fake.Model.Requests()))
			}
		})
	}
}

// Its result was lost with its worker.
func TestAnAgentThatHasUsedUpItsBudgetIsNotAskedAgain(t *testing.T) {
	b := newBench(t)
	req := b.request("[[usage:1000,20]]" + write("a.txt", "A") + write("b.txt", "B") + "[[say:done]]")
	req.Work.Tools, req.Work.Left = run.AllowTools, provider.Left{Tokens: 1020}
	var asked int
	for n := 1; n <= 2; n++ {
		resp, err := b.call(req)
		if err != nil || !isExhausted(resp) || n == 2 && (len(b.fake.Model.Requests()) != asked || resp.Usage.TotalTokens != 0) {
			t.Errorf("attempt %d: %v, %d requests, usage %+v", n, err, len(b.fake.Model.Requests()), resp.Usage)
		}
		asked = len(b.fake.Model.Requests())
	}
}
