package tools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
)

// named is a result of a dispatch.
type named struct {
	name string
	dispatch.Result
}

// json is what the tool has to give.
func (n named) json(t *testing.T) any {
	t.Helper()
	b, err := json.Marshal(n.Result)
	must(t, err)
	var members map[string]any
	must(t, json.Unmarshal(b, &members))
	if hint := n.Hint(); hint != "" {
		members["hint"] = hint
	}
	return members
}

// results are a reject for every reason, and an outcome of every kind by every
// transport that can have it.
func results(t *testing.T) []named {
	t.Helper()
	var all []named
	for _, why := range dispatch.Reasons {
		observed := dispatch.Dead
		if why.BeforeProbe() {
			observed = ""
		}
		receipt, err := dispatch.Reject(why, observed)
		must(t, err)
		all = append(all, named{string(why), dispatch.Result{Receipt: receipt, Diagnostic: "d"}})
	}
	send, mail := dispatch.Resolve(dispatch.FireAndForget, dispatch.Alive, false), dispatch.Resolve(dispatch.FireAndForget, dispatch.Unsupported, true)
	resume := dispatch.Resolve(dispatch.OwnedOutcome, dispatch.Dead, false)
	for _, kind := range dispatch.Kinds {
		for _, receipt := range []dispatch.Receipt{send, mail, resume} {
			o := dispatch.Outcome{Kind: kind, Transport: receipt.Transport()}
			switch {
			case !o.Succeeded():
				o.Error = "e"
			case receipt == mail:
				o.Mail = "m.msg"
			case receipt == resume:
				o.Answer = "done"
			}
			if kind == dispatch.LockRetained {
				o.Retention, o.Diagnostic = dispatch.KillUnconfirmed, &dispatch.Diagnostic{GardenID: live}
			}
			if o.Validate() == nil {
				all = append(all, named{fmt.Sprintf("%s by %s", kind, o.Transport), dispatch.Result{Receipt: receipt, Outcome: &o}})
			}
		}
	}
	dirty := dispatch.Outcome{Kind: dispatch.Sent, Transport: dispatch.ControlSocket}.Dirty(errors.New("busy"))
	return append(all, named{"sent, lock dirty", dispatch.Result{Receipt: send, Outcome: &dirty}})
}

func TestOnlyASuccessIsNoError(t *testing.T) {
	w := newFixture(t)
	c := w.connect(t)
	good := map[string]bool{
		"sent by control-socket": true, "fallback-sent by control-socket": true, "fallback-sent by meta-mailbox": true,
		"enqueued by meta-mailbox": true, "completed by spawn-bg": true,
	}
	rows := results(t)
	if len(rows) < 20 {
		t.Fatalf("%d results", len(rows))
	}
	for _, row := range rows {
		w.engine.result = row.Result
		res := c.call("entwurf_v2", messageTo(live))
		if res.IsError == good[row.name] {
			t.Errorf("%s: error %v", row.name, res.IsError)
		}
		var text any
		must(t, json.Unmarshal([]byte(said(t, res)), &text))
		if want := row.json(t); !reflect.DeepEqual(res.StructuredContent, want) || !reflect.DeepEqual(text, want) {
			t.Errorf("%s: %v and as text %v\nwant %v", row.name, res.StructuredContent, text, want)
		}
		if members := res.StructuredContent.(map[string]any); (members["hint"] == nil) != good[row.name] {
			t.Errorf("%s: hint %v", row.name, members["hint"])
		}
		delete(good, row.name)
	}
	if len(good) > 0 {
		t.Errorf("not seen: %v", good)
	}
}

func TestTheLetterSaysWhatWasAskedAndWho(t *testing.T) {
	w := newFixture(t)
	w.isClaude(t)
	w.engine.result = results(t)[0].Result
	c := w.connect(t)
	const message = "--flag @path \"\u2028\" é\nend\n"
	quoted, err := json.Marshal(message)
	must(t, err)
	c.call("entwurf_v2", `{"target":"`+string(live)+`","intent":"owned-outcome","mode":"steer","wants_reply":true,"message":`+string(quoted)+`}`)
	c.call("entwurf_v2", messageTo(gone))
	got := w.engine.sent()
	want := []dispatch.Request{
		{Target: live, Intent: dispatch.OwnedOutcome, Mode: dispatch.Steer, Message: message, WantsReply: true},
		{Target: gone, Intent: dispatch.FireAndForget, Message: "hi"},
	}
	if len(got) != 2 || got[0].Request != want[0] || got[1].Request != want[1] || got[0].ID == "" || got[0].ID == got[1].ID {
		t.Fatalf("%+v", got)
	}
	if s := got[0].Sender; s.SessionID != string(claude) || s.AgentID != "meta-session/claude-code" || s.CWD != "/there" || s.Origin != dispatch.MetaSession {
		t.Errorf("sender %+v", s)
	}
}

func TestWhoHasNoIdentitySendsAsAStranger(t *testing.T) {
	w := newFixture(t)
	w.engine.result = results(t)[0].Result
	c := w.connect(t)
	c.call("entwurf_v2", messageTo(live))
	if s := w.engine.sent()[0].Sender; s.Origin != dispatch.ExternalMCP || *s.Replyable {
		t.Errorf("sender %+v", s)
	}
	w.vars["PI_TOOLS_BRIDGE_REQUIRE_META_SENDER"] = "1"
	if line := c.refused("entwurf_v2", messageTo(live)); !strings.Contains(line, citizen.ErrAnonymous.Error()) || len(w.engine.sent()) != 1 {
		t.Errorf("%s, %d letters", line, len(w.engine.sent()))
	}
}

func TestAnEngineThatFailsIsOneLine(t *testing.T) {
	w := newFixture(t)
	w.engine.err = errors.New("cannot reach temporal;\n\trun `starter up`\x1b[2J")
	if line := w.connect(t).refused("entwurf_v2", messageTo(live)); line != "cannot reach temporal; run `starter up`<U+001B>[2J" {
		t.Errorf("%q", line)
	}
}

// The engine may be lost to a call that nobody has given up.
func TestWhoIsCutOffIsToldNotToSendAgain(t *testing.T) {
	w := newFixture(t)
	c := w.connect(t)
	for _, cut := range []dispatches.CutOffError{
		{Workflow: "dispatch-x", Taken: true, Cause: errors.New("unavailable")},
		{Workflow: "dispatch-x", Cause: errors.New(strings.Repeat("unavailable ", 100))},
	} {
		w.engine.err = fmt.Errorf("asked: %w", &cut)
		line := c.refused("entwurf_v2", messageTo(live))
		for _, want := range []string{"do not send the message again before you know its outcome", "ratchet_dispatches", "asked: unavailable"} {
			if !strings.Contains(line, want) {
				t.Errorf("%q is not in %s", want, line)
			}
		}
	}
	w.engine.err = errors.New("no worker")
	if line := c.refused("entwurf_v2", messageTo(live)); line != "no worker" {
		t.Errorf("of what was never sent: %s", line)
	}
}

// talk speaks the protocol by hand: the SDK's client does not show the answer to
// a call that it has cancelled.
func (p pipes) talk(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		_, err := io.WriteString(p.in, line+"\n")
		must(t, err)
	}
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hand","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}`
	cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`
)

func calls(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

func TestPastDispatches(t *testing.T) {
	w := newFixture(t)
	w.engine.result = results(t)[0].Result
	c := w.connect(t)
	type listed struct {
		Dispatches []dispatches.Past
		Unknown    string
	}
	var all, some listed
	structured(t, c.call("ratchet_dispatches", ``), &all)
	if len(all.Dispatches) != 2 || all.Dispatches[0].Result != nil || all.Dispatches[1].Result.Receipt != w.engine.result.Receipt || all.Unknown != "" {
		t.Errorf("%+v", all)
	}
	w.engine.err = errors.New("no worker\nanswers")
	structured(t, c.call("ratchet_dispatches", `{"gardenId":"`+string(live)+`","max":3}`), &some)
	if len(some.Dispatches) != 2 || some.Unknown != "no worker answers" {
		t.Errorf("beside an error: %+v", some)
	}
	if res := c.call("ratchet_dispatches", `{}`); !res.IsError {
		t.Error("an error alone is none")
	}
	if want := []string{" 20", string(live) + " 3", " 20"}; !slices.Equal(w.engine.asked, want) {
		t.Errorf("asked for %q", w.engine.asked)
	}
}

func TestACallThatIsCancelledLeavesTheDispatchGoing(t *testing.T) {
	w := newFixture(t)
	began := make(chan struct{})
	w.engine.hold = func(ctx context.Context) { close(began); <-ctx.Done() }
	p := w.serve(t.Context(), t, plainly)
	go p.talk(t, hello, calls("entwurf_v2", messageTo(live)))
	out := bufio.NewScanner(p.out)
	out.Scan()
	<-began
	go p.talk(t, cancelled)
	out.Scan()
	for _, want := range []string{`"id":2`, `"isError":true`, "the message is still being sent", "dispatch-" + string(live), "before you know its outcome"} {
		if !strings.Contains(out.Text(), want) {
			t.Errorf("%q is not in %s", want, out.Text())
		}
	}
	if log := w.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, w.engine.sent()[0].ID) {
		t.Errorf("log: %s", log)
	}
}

func TestACallThatIsCancelledMayStillHearTheEnd(t *testing.T) {
	w := newFixture(t)
	w.engine.result = results(t)[0].Result
	began, end := make(chan struct{}), make(chan struct{})
	w.engine.hold = func(ctx context.Context) { close(began); <-end }
	p := w.serve(t.Context(), t, plainly)
	go p.talk(t, hello, calls("entwurf_v2", messageTo(live)))
	out := bufio.NewScanner(p.out)
	out.Scan()
	<-began
	go func() { p.talk(t, cancelled); close(end) }()
	out.Scan()
	if !strings.Contains(out.Text(), `"receipt"`) || w.log.String() != "" {
		t.Errorf("%s\nlog: %s", out.Text(), w.log.String())
	}
}

func TestAClientThatHangsUpLeavesTheDispatchGoing(t *testing.T) {
	w := newFixture(t)
	var held context.Context
	w.engine.hold = func(ctx context.Context) { held = ctx; <-ctx.Done() }
	p := w.serve(t.Context(), t, plainly)
	go io.Copy(io.Discard, p.out)
	p.talk(t, hello, calls("entwurf_v2", messageTo(live)))
	eventually.Holds(t, "the dispatch began", func() bool { return len(w.engine.sent()) == 1 })
	must(t, p.in.Close())
	if err := <-p.ended; err != nil || held.Err() == nil || !strings.Contains(w.log.String(), "still being sent") {
		t.Errorf("%v; log: %s", err, w.log.String())
	}
}

func TestTheLongestMessageIsTaken(t *testing.T) {
	w := newFixture(t)
	w.engine.result = results(t)[0].Result
	escaped := strings.Repeat(`\ud83c\udf31`, dispatch.MaxMessage)
	p := w.serve(t.Context(), t, plainly)
	go p.talk(t, hello, calls("entwurf_v2", `{"target":"`+string(live)+`","intent":"fire-and-forget","message":"`+escaped+`"}`))
	out := bufio.NewScanner(p.out)
	out.Scan()
	out.Scan()
	if sent := w.engine.sent(); len(sent) != 1 || sent[0].Request.Message != strings.Repeat("🌱", dispatch.MaxMessage) {
		t.Errorf("got %d messages, want the longest; answer: %s", len(sent), out.Text())
	}
}
