package dispatch_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

var (
	seven   = 7
	dirtied = dispatch.Outcome{Kind: dispatch.Sent, Transport: dispatch.ControlSocket, DeliveredAs: dispatch.Direct}
)

// outcomes are valid, with what they are in JSON.
var outcomes = map[string]struct {
	o       dispatch.Outcome
	good    bool
	retry   bool
	encoded string
}{
	"taken by an idle peer": {
		o: dirtied, good: true,
		encoded: `{"kind":"sent","transport":"control-socket","deliveredAs":"direct","retrySafe":false}`,
	},
	"taken by a peer that moved": {
		o: dispatch.Outcome{Kind: dispatch.FallbackSent, Transport: dispatch.ControlSocket, DeliveredAs: dispatch.Followed}, good: true,
		encoded: `{"kind":"fallback-sent","transport":"control-socket","deliveredAs":"followUp","retrySafe":false}`,
	},
	"mailed to a peer that moved": {
		o: dispatch.Outcome{Kind: dispatch.FallbackSent, Transport: dispatch.MetaMailbox, Mail: "a.msg"}, good: true,
		encoded: `{"kind":"fallback-sent","transport":"meta-mailbox","mail":"a.msg","retrySafe":false}`,
	},
	"mailed": {
		o: dispatch.Outcome{Kind: dispatch.Enqueued, Transport: dispatch.MetaMailbox, Mail: "a.msg"}, good: true,
		encoded: `{"kind":"enqueued","transport":"meta-mailbox","mail":"a.msg","retrySafe":false}`,
	},
	"done": {
		o: dispatch.Outcome{Kind: dispatch.Completed, Transport: dispatch.SpawnBg, Answer: "done"}, good: true,
		encoded: `{"kind":"completed","transport":"spawn-bg","answer":"done","retrySafe":false}`,
	},
	"refused by the peer": {
		o: dispatch.Outcome{Kind: dispatch.Rejected, Transport: dispatch.ControlSocket, Error: "Session not ready"}, retry: true,
		encoded: `{"kind":"rejected","transport":"control-socket","error":"Session not ready","retrySafe":true}`,
	},
	"rejected by the second look": {
		o:     dispatch.Outcome{Kind: dispatch.Rejected, Transport: dispatch.ControlSocket, RejectReason: dispatch.BadTarget, Error: "gone"},
		retry: true, encoded: `{"kind":"rejected","transport":"control-socket","rejectReason":"bad-target","error":"gone","retrySafe":true}`,
	},
	"an agent that is not installed": {
		o: dispatch.Outcome{Kind: dispatch.StartFailed, Transport: dispatch.SpawnBg, Error: "pi: not found"}, retry: true,
		encoded: `{"kind":"spawn-start-failed","transport":"spawn-bg","error":"pi: not found","retrySafe":true}`,
	},
	"a turn that failed": {
		o:       dispatch.Outcome{Kind: dispatch.TurnFailed, Transport: dispatch.SpawnBg, Answer: "so far", Error: "overloaded"},
		encoded: `{"kind":"turn-failed","transport":"spawn-bg","answer":"so far","error":"overloaded","retrySafe":false}`,
	},
	"an agent that exited": {
		o:       dispatch.Outcome{Kind: dispatch.ChildExited, Transport: dispatch.SpawnBg, ExitCode: &seven, Error: "exit code 7"},
		encoded: `{"kind":"child-exited","transport":"spawn-bg","exitCode":7,"error":"exit code 7","retrySafe":false}`,
	},
	"an agent whose time was up": {
		o:       dispatch.Outcome{Kind: dispatch.ChildExited, Transport: dispatch.SpawnBg, TimedOut: true, Error: "time is up"},
		encoded: `{"kind":"child-exited","transport":"spawn-bg","timedOut":true,"error":"time is up","retrySafe":false}`,
	},
	"an agent that does not die": {
		o: dispatch.Outcome{
			Kind: dispatch.LockRetained, Transport: dispatch.SpawnBg, Retention: dispatch.KillUnconfirmed, Error: "still there",
			Diagnostic: &dispatch.Diagnostic{GardenID: gid, PID: 4, LockPath: "/l", ObserveTimeoutMs: 30000, KillGraceMs: 5000},
		},
		encoded: `{"kind":"lock-retained","transport":"spawn-bg","reason":"kill-unconfirmed","diagnostic":{"gardenId":"` + gid + `","pid":4,"lockPath":"/l","observeTimeoutMs":30000,"killGraceMs":5000},"error":"still there","retrySafe":false}`,
	},
	"a transport that failed": {
		o:       dispatch.Outcome{Kind: dispatch.ExecutionFailed, Transport: dispatch.ControlSocket, Error: "permission denied"},
		encoded: `{"kind":"execution-failed","transport":"control-socket","error":"permission denied","retrySafe":false}`,
	},
	"sent, and the lock stays": {
		o: dispatch.Outcome{
			Kind: dispatch.ExecutionFailed, Transport: dispatch.ControlSocket, Finalized: &dirtied, ReleaseFailed: true, Error: "release",
		},
		encoded: `{"kind":"execution-failed","transport":"control-socket","finalizedOutcome":{"kind":"sent","transport":"control-socket","deliveredAs":"direct","retrySafe":false},"releaseFailed":true,"error":"release","retrySafe":false}`,
	},
	"nobody can tell": {
		o:       dispatch.Outcome{Kind: dispatch.Unknown, Transport: dispatch.ControlSocket, Error: "no answer"},
		encoded: `{"kind":"unknown","transport":"control-socket","error":"no answer","retrySafe":false}`,
	},
}

func TestOutcome(t *testing.T) {
	seen := map[dispatch.Kind]bool{}
	for name, tt := range outcomes {
		seen[tt.o.Kind] = true
		if tt.o.Succeeded() != tt.good || tt.o.RetrySafe() != tt.retry {
			t.Errorf("%s: succeeded %v, safe %v", name, tt.o.Succeeded(), tt.o.RetrySafe())
		}
		b, err := json.Marshal(tt.o)
		if err != nil || string(b) != tt.encoded {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", name, b, err, tt.encoded)
		}
		var back dispatch.Outcome
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, tt.o) {
			t.Errorf("%s: came back as %+v, %v", name, back, err)
		}
	}
	if len(seen) != len(dispatch.Kinds) {
		t.Errorf("%d kinds have an example", len(seen))
	}
}

func TestOutcomeRefuses(t *testing.T) {
	with := func(name string, change func(*dispatch.Outcome)) dispatch.Outcome {
		o := outcomes[name].o
		change(&o)
		return o
	}
	for name, o := range map[string]dispatch.Outcome{
		"the zero outcome":                    {},
		"an unknown kind":                     with("mailed", func(o *dispatch.Outcome) { o.Kind = "failed" }),
		"no transport":                        with("mailed", func(o *dispatch.Outcome) { o.Transport = "" }),
		"sent by mail":                        with("taken by an idle peer", func(o *dispatch.Outcome) { o.Transport = dispatch.MetaMailbox }),
		"a success with an error":             with("done", func(o *dispatch.Outcome) { o.Error = "x" }),
		"a failure without one":               with("nobody can tell", func(o *dispatch.Outcome) { o.Error = "" }),
		"mail without its file":               with("mailed", func(o *dispatch.Outcome) { o.Mail = "" }),
		"a socket with a mail":                with("taken by an idle peer", func(o *dispatch.Outcome) { o.Mail = "a.msg" }),
		"delivered and unknown":               with("nobody can tell", func(o *dispatch.Outcome) { o.DeliveredAs = dispatch.Direct }),
		"mail delivered as a turn":            with("mailed", func(o *dispatch.Outcome) { o.DeliveredAs = dispatch.Direct }),
		"an answer of a peer":                 with("taken by an idle peer", func(o *dispatch.Outcome) { o.Answer = "x" }),
		"a reject reason of a failure":        with("a transport that failed", func(o *dispatch.Outcome) { o.RejectReason = dispatch.BadTarget }),
		"completed with an exit code":         with("done", func(o *dispatch.Outcome) { o.ExitCode = &seven }),
		"completed when its time was up":      with("done", func(o *dispatch.Outcome) { o.TimedOut = true }),
		"a lock that is kept for no reason":   with("an agent that does not die", func(o *dispatch.Outcome) { o.Retention = "" }),
		"a lock that is kept for nobody":      with("an agent that does not die", func(o *dispatch.Outcome) { o.Diagnostic = nil }),
		"a reason to keep a lock that is not": with("done", func(o *dispatch.Outcome) { o.Retention = dispatch.ObserveFailed }),
		"a dirty lock without what happened":  with("sent, and the lock stays", func(o *dispatch.Outcome) { o.Finalized = nil }),
		"what happened with a clean lock":     with("sent, and the lock stays", func(o *dispatch.Outcome) { o.ReleaseFailed = false }),
		"a dirty lock behind a success":       with("taken by an idle peer", func(o *dispatch.Outcome) { o.Finalized, o.ReleaseFailed = &dirtied, true }),
		"what happened is no outcome":         with("sent, and the lock stays", func(o *dispatch.Outcome) { o.Finalized = &dispatch.Outcome{} }),
	} {
		if b, err := json.Marshal(o); err == nil {
			t.Errorf("%s: %s", name, b)
		}
	}
	for _, text := range []string{`{}`, `{"kind":"sent"}`, `{"kind":"done","transport":"spawn-bg"}`, `{"kind":"sent","transport":"tmux-live"}`} {
		var o dispatch.Outcome
		if err := json.Unmarshal([]byte(text), &o); err == nil || o.Kind != "" {
			t.Errorf("%s: taken as %+v", text, o)
		}
	}
}

func TestNoKindGoesByTmux(t *testing.T) {
	for name, tt := range outcomes {
		o := tt.o
		o.Transport = dispatch.TmuxLive
		if o.Validate() == nil {
			t.Errorf("%s: by tmux-live", name)
		}
	}
}

func TestFallback(t *testing.T) {
	for name, tt := range outcomes {
		o := tt.o.Fallback()
		want := tt.o.Kind
		if tt.good {
			want = dispatch.FallbackSent
		}
		if o.Kind != want || o.Transport != tt.o.Transport || o.Error != tt.o.Error {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestDirty(t *testing.T) {
	own := []dispatch.Kind{dispatch.ExecutionFailed, dispatch.Unknown, dispatch.LockRetained}
	for name, tt := range outcomes {
		o := tt.o.Dirty(errors.New("disk full"))
		if slices.Contains(own, tt.o.Kind) {
			if !reflect.DeepEqual(o, tt.o) {
				t.Errorf("%s: the failure was replaced by %+v", name, o)
			}
			continue
		}
		if o.Succeeded() || o.RetrySafe() || !o.ReleaseFailed || !reflect.DeepEqual(*o.Finalized, tt.o) || !strings.Contains(o.Error, "disk full") || o.Validate() != nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestResult(t *testing.T) {
	rejected, err := dispatch.Reject(dispatch.TargetLocked, "")
	if err != nil {
		t.Fatal(err)
	}
	none := dispatch.Result{Receipt: rejected, Diagnostic: "held by pid 4"}
	if none.Succeeded() || none.Hint() != dispatch.TargetLocked.Hint() {
		t.Errorf("a reject: %v, %q", none.Succeeded(), none.Hint())
	}
	if b, err := json.Marshal(none); err != nil || string(b) != `{"receipt":{"ok":false,"reason":"target-locked","observedLiveness":null},"diagnostic":"held by pid 4"}` {
		t.Errorf("%s, %v", b, err)
	}
	for name, tt := range outcomes {
		r := dispatch.Result{Receipt: dispatch.Resolve(dispatch.FireAndForget, dispatch.Alive, false), Outcome: &tt.o}
		if r.Succeeded() != tt.good {
			t.Errorf("%s: %v", name, r.Succeeded())
		}
		if h := r.Hint(); (h == "") != tt.good || strings.ContainsAny(h, "\n") {
			t.Errorf("%s: hint %q", name, h)
		}
	}
	if (dispatch.Result{Receipt: rejected, Outcome: &dirtied}).Succeeded() {
		t.Error("a reject with an outcome succeeded")
	}
	again := outcomes["rejected by the second look"].o
	if h := (dispatch.Result{Outcome: &again}).Hint(); h != dispatch.BadTarget.Hint() {
		t.Errorf("the second look: %q", h)
	}
	dirty := outcomes["sent, and the lock stays"].o
	if h := (dispatch.Result{Outcome: &dirty}).Hint(); !strings.Contains(h, "do not send it again") {
		t.Errorf("a dirty lock: %q", h)
	}
}
