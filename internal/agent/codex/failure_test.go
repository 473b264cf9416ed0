package codex_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestWhyATurnFailed(t *testing.T) {
	t.Parallel()
	const body = `"{\"error\":{\"code\":\"invalid_request_error\",\"message\":\"never heard of it\",\"type\":\"invalid_request_error\"}}"`
	for name, tt := range map[string]struct {
		message, info string
		code          failure.Code
		retriable     bool
		says          string
	}{
		"HTTP 500":                    {`"high demand"`, `"internalServerError"`, failure.Unknown, true, "high demand"},
		"HTTP 401":                    {`"no"`, `{"httpConnectionFailed":{"httpStatusCode":401}}`, failure.Auth, false, "no"},
		"HTTP 403":                    {`"no"`, `{"httpConnectionFailed":{"httpStatusCode":403}}`, failure.Auth, false, "no"},
		"HTTP 400":                    {body, `"other"`, failure.BadRequest, false, "never heard of it"},
		"HTTP 400 with its status":    {`"no"`, `{"httpConnectionFailed":{"httpStatusCode":400}}`, failure.BadRequest, false, "no"},
		"HTTP 402":                    {`"pay"`, `{"httpConnectionFailed":{"httpStatusCode":402}}`, failure.RateLimit, false, "pay"},
		"HTTP 413":                    {`"big"`, `{"httpConnectionFailed":{"httpStatusCode":413}}`, failure.BadRequest, false, failure.TooLong + ": "},
		"HTTP 429":                    {`"slow"`, `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`, failure.RateLimit, true, "slow"},
		"HTTP 503":                    {`"away"`, `{"responseTooManyFailedAttempts":{"httpStatusCode":503}}`, failure.Unknown, true, "away"},
		"no connection":               {`"refused"`, `{"httpConnectionFailed":{"httpStatusCode":null}}`, failure.Unknown, true, "refused"},
		"a usage limit":               {`"used up"`, `"usageLimitExceeded"`, failure.RateLimit, false, "used up"},
		"a rate limit":                {`"slow"`, `"rateLimitExceeded"`, failure.RateLimit, true, "slow"},
		"an overload":                 {`"busy"`, `"serverOverloaded"`, failure.RateLimit, true, "busy"},
		"too long a prompt":           {`"no room"`, `"contextWindowExceeded"`, failure.BadRequest, false, failure.TooLong + ": no room"},
		"a login that has ended":      {`"who?"`, `"unauthorized"`, failure.Auth, false, "who?"},
		"a bad request":               {`"no"`, `"badRequest"`, failure.BadRequest, false, "no"},
		"a sandbox that fails":        {`"bwrap"`, `"sandboxError"`, failure.BadRequest, false, "bwrap"},
		"a model that is unknown":     {`"which?"`, `"modelNotFound"`, failure.BadRequest, false, "which?"},
		"a stream that was cut":       {`"stream disconnected before completion: x"`, `"other"`, failure.Unknown, true, "stream disconnected"},
		"a stream that disconnected":  {`"gone"`, `{"responseStreamDisconnected":{"httpStatusCode":null}}`, failure.Unknown, true, "gone"},
		"a key that is not set":       {"\"Missing environment variable: `K`.\"", `"other"`, failure.Auth, false, "`K`"},
		"a kind that is unknown":      {`"hm"`, `"newfangled"`, failure.Unknown, true, "hm"},
		"a kind with unknown members": {`"hm"`, `{"newfangled":{"more":[]}}`, failure.Unknown, true, "hm"},
		"no kind":                     {`"hm"`, `null`, failure.Unknown, true, "hm"},
		"a long story":                {`"` + strings.Repeat("long ", 1000) + `"`, `"badRequest"`, failure.BadRequest, false, "long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problem := `{"message":` + tt.message + `,"codexErrorInfo":` + tt.info + `,"additionalDetails":null}`
			s, l := playing(t, func(p *peer) {
				p.begin()
				p.say(`{"method":"thread/status/changed","params":{"threadId":"` + thread + `","status":{"type":"systemError"}}}`)
				p.say(`{"method":"error","params":{` + inTurn + `"willRetry":false,"error":` + problem + `}}`)
				p.finish("failed", `,"error":`+problem)
				p.begin()
				p.finish("completed", "")
			})
			turn, _ := l.Turn("go")
			e, ok := errors.AsType[*failure.Error](turn.Err)
			if turn.Status != agent.Failed || !ok || e.Code != tt.code || e.Retriable != tt.retriable || !strings.Contains(e.Message, tt.says) {
				t.Errorf("the turn was %s, error %+v; want %s, retriable %v, that says %q", turn.Status, turn.Err, tt.code, tt.retriable, tt.says)
			}
			if ok && len(e.Message) > failure.MaxMessage {
				t.Errorf("a message of %d bytes", len(e.Message))
			}
			if turn, _ := l.Turn("go on"); turn.Status != agent.Completed || !s.Alive() {
				t.Errorf("the next turn was %s, error %v", turn.Status, turn.Err)
			}
		})
	}
}

func TestTheErrorThatWasToldCountsWhereTheTurnNamesNone(t *testing.T) {
	_, l := playing(t, func(p *peer) {
		p.begin()
		p.say(`{"method":"error","params":{` + inTurn + `"willRetry":false,"error":{"message":"m","codexErrorInfo":"unauthorized"}}}`)
		p.finish("failed", `,"error":null`)
	})
	turn, _ := l.Turn("go")
	if e, ok := errors.AsType[*failure.Error](turn.Err); !ok || e.Code != failure.Auth {
		t.Errorf("error %+v", turn.Err)
	}
}

func TestAUsageLimitSaysWhenItEnds(t *testing.T) {
	now := time.Now()
	in := func(d time.Duration) int64 { return now.Add(d).Unix() }
	report := func(p *peer, id string, primary, secondary any) {
		p.say(`{"method":"account/rateLimits/updated","params":{"rateLimits":{"limitId":%s,"primary":%s,"secondary":%s}}}`, id, primary, secondary)
	}
	window := func(used float64, at any) map[string]any {
		return map[string]any{"usedPercent": used, "windowDurationMins": 300, "resetsAt": at}
	}
	for name, tt := range map[string]struct {
		reports func(*peer)
		want    int64 // zero: it is not known
	}{
		"nobody told":             {func(*peer) {}, 0},
		"nothing was told":        {func(p *peer) { report(p, "codex", nil, nil) }, 0},
		"no time was told":        {func(p *peer) { report(p, "codex", window(100, nil), nil) }, 0},
		"a time that has passed":  {func(p *peer) { report(p, "codex", window(100, in(-time.Hour)), nil) }, 0},
		"the one window":          {func(p *peer) { report(p, "codex", window(100, in(time.Hour)), nil) }, in(time.Hour)},
		"the window that is full": {func(p *peer) { report(p, "codex", window(43, in(time.Hour)), window(100, in(48*time.Hour))) }, in(48 * time.Hour)},
		"the later of two":        {func(p *peer) { report(p, "codex", window(100, in(time.Hour)), window(100, in(2*time.Hour))) }, in(2 * time.Hour)},
		"a report leaves it out": {func(p *peer) {
			report(p, "codex", window(100, in(time.Hour)), nil)
			report(p, "codex", nil, window(10, in(2*time.Hour)))
		}, in(time.Hour)},
		"a limit of another kind": {func(p *peer) {
			report(p, "codex", window(100, in(time.Hour)), nil)
			report(p, "other", window(20, in(3*time.Hour)), nil)
		}, in(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			_, l := playing(t, func(p *peer) {
				p.begin()
				tt.reports(p)
				p.finish("failed", `,"error":{"message":"used up","codexErrorInfo":"usageLimitExceeded"}`)
			})
			turn, _ := l.Turn("go")
			limited, ok := errors.AsType[*failure.Limited](turn.Err)
			if ok != (tt.want != 0) || ok && limited.Until.Unix() != tt.want {
				t.Errorf("error %+v; want until %d", turn.Err, tt.want)
			}
			if e, ok := errors.AsType[*failure.Error](turn.Err); !ok || e.Code != failure.RateLimit || e.Retriable {
				t.Errorf("error %+v", turn.Err)
			}
		})
	}
}

func TestATurnThatIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		refusal   string
		code      failure.Code // empty: no such session
		retriable bool
	}{
		"a thread that is gone": {`{"code":-32600,"message":"thread not found: T"}`, "", false},
		"a bad request":         {`{"code":-32600,"message":"Invalid request: no"}`, failure.BadRequest, false},
		"in a compaction":       {`{"code":-32603,"message":"failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Compact }"}`, failure.Unknown, true},
		"for a reason that is told": {
			`{"code":-32600,"message":"who?","data":{"message":"who?","codexErrorInfo":"unauthorized"}}`, failure.Auth, false,
		},
		"with other data": {`{"code":-32600,"message":"no","data":"more"}`, failure.BadRequest, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, l := playing(t, func(p *peer) {
				p.say(`{"id":%s,"error":`+tt.refusal+`}`, p.expect("turn/start").ID)
				p.begin()
				p.finish("completed", "")
			})
			turn, _ := l.Turn("go")
			e, ok := errors.AsType[*failure.Error](turn.Err)
			switch {
			case turn.Status != agent.Failed, tt.code == "" && !errors.Is(turn.Err, agent.ErrNoSession):
				t.Errorf("the turn was %s, error %+v", turn.Status, turn.Err)
			case tt.code != "" && (!ok || e.Code != tt.code || e.Retriable != tt.retriable):
				t.Errorf("error %+v", turn.Err)
			}
			if turn, _ := l.Turn("again"); turn.Status != agent.Completed {
				t.Errorf("the next turn was %s, error %v", turn.Status, turn.Err)
			}
		})
	}
}

// overload refuses the next n requests of a method.
func (p *peer) overload(method string, n int) {
	for range n {
		p.say(`{"id":%s,"error":{"code":-32001,"message":"Server overloaded; retry later."}}`, p.expect(method).ID)
	}
}

func TestAnOverloadedServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	c := serve(t, func(p *peer) {
		p.overload("initialize", 2)
		p.answer(p.expect("initialize"), `{}`)
		p.expect("initialized")
		p.overload("thread/start", 1)
		p.answer(p.expect("thread/start"), `{"thread":{"id":"`+thread+`"}}`)
		p.overload("turn/start", 2)
		p.begin()
		p.finish("completed", "")
		p.rest()
	})
	_, l := start(t, c)
	if turn, _ := l.Turn("go"); turn.Status != agent.Completed {
		t.Errorf("the turn was %s, error %v", turn.Status, turn.Err)
	}
}

func TestAServerThatStaysOverloaded(t *testing.T) {
	t.Parallel()
	_, l := playing(t, func(p *peer) {
		p.overload("turn/start", 5)
		p.begin()
		p.finish("completed", "")
	})
	turn, _ := l.Turn("go")
	if e, ok := errors.AsType[*failure.Error](turn.Err); !ok || e.Code != failure.RateLimit || !e.Retriable {
		t.Errorf("the turn was %s, error %+v", turn.Status, turn.Err)
	}
	if turn, _ := l.Turn("again"); turn.Status != agent.Completed {
		t.Errorf("the next turn was %s, error %v", turn.Status, turn.Err)
	}
}

func TestAProcessThatEndsByItself(t *testing.T) {
	s, l := playing(t, func(p *peer) {
		p.begin()
		p.say(`{"id":0,"method":"item/commandExecution/requestApproval","params":{"itemId":"call_1","command":"ls"}}`)
		p.next() // the decision
		p.conn.Close()
	})
	l.Send("go")
	asked := agenttest.Next[agent.Permission](l)
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Allow}); err != nil {
		t.Error(err)
	}
	l.Rest()
	exit, last := l.Events()[len(l.Events())-1].(agent.Exit)
	if !last || exit.Code != 0 || exit.Signal != "" || !strings.Contains(exit.Stderr, "serving") {
		t.Errorf("the events end with %+v", l.Events()[len(l.Events())-1])
	}
	if turns := agenttest.All[agent.Turn](l.Events()); len(turns) > 0 {
		t.Errorf("turns %+v", turns)
	}
	if err := s.Send(t.Context(), "more"); !errors.Is(err, agent.ErrGone) || s.Alive() {
		t.Errorf("send after the end: %v", err)
	}
}
