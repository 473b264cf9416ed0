package agenttest

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

var basics = []testCase{
	{"the manifest says what is there", nil, testManifestSays},
	{"the manifest obeys a context that ends", nil, testManifestObeys},
	{"a start is refused without a directory or a sandbox", nil, testStartRefused},
	{"a start obeys a context that ends", nil, testStartObeys},
	{"a turn", nil, testOneTurn},
	{"two turns of one conversation", nil, testTwoTurns},
	{"one turn at a time", nil, testBusy},
	{"a long line arrives whole", nil, testLongLine},
	{"an error of the API fails the turn", nil, testAPIError},
	{"another process goes on with a session", canResume, testResumed},
	{"no session under that id", canResume, testUnknownSession},
}

func testManifestSays(b *bench) {
	m := InstalledManifest(b.T, b.adapter)
	if m.Kind != b.adapter.Kind() || m.Label == "" || m.Version == "" {
		b.Errorf("manifest %+v", m)
	}
	if m.Models == nil || m.Modes == nil || m.Status == agent.Unsupported {
		b.Errorf("status %s, models %v, modes %v", m.Status, m.Models, m.Modes)
	}
	if again := InstalledManifest(b.T, b.adapter); !reflect.DeepEqual(again, m) {
		b.Errorf("first %+v\nthen %+v", m, again)
	}
}

func testManifestObeys(b *bench) {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if m := b.adapter.Manifest(ctx); m.Kind != b.adapter.Kind() { // a hang is the timeout of the whole test
		b.Errorf("manifest %+v", m)
	}
}

func testStartRefused(b *bench) {
	for name, spoil := range map[string]func(*agent.Options){
		"no directory":              func(o *agent.Options) { o.Dir = "" },
		"a directory that is not":   func(o *agent.Options) { o.Dir = filepath.Join(o.Dir, "none") },
		"the zero sandbox":          func(o *agent.Options) { o.Sandbox = "" },
		"a sandbox that is unknown": func(o *agent.Options) { o.Sandbox = "house" },
	} {
		o := b.options
		spoil(&o)
		if s, err := b.adapter.Start(b.Context(), o); err == nil {
			b.stopSession(s)
			b.Errorf("%s: started", name)
		}
	}
}

// testStartObeys ends the context before the start and during it; the start may
// still succeed.
func testStartObeys(b *bench) {
	for _, limit := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(b.Context(), limit)
		s, err := b.adapter.Start(ctx, b.options)
		switch {
		case err == nil && limit == 0:
			b.Error("started with a context that had ended")
			fallthrough
		case err == nil:
			b.stopSession(s)
		case !errors.Is(err, ctx.Err()):
			b.Errorf("after %v: %v", limit, err)
		}
		cancel()
		if left := b.findMarked(); len(left) > 0 {
			b.Errorf("after %v these are left: %v", limit, left)
		}
	}
}

func testOneTurn(b *bench) {
	s, l := b.startSession(b.options)
	if !s.Alive() {
		b.Error("not alive after the start")
	}
	const answer = "All is well ☃\nand <<<MARKED>>>"
	turn, _ := l.Turn("how are you? " + fakemodel.Say(answer))
	events := l.Events()
	if turn.Status != agent.Completed || turn.Err != nil || turn.Text != answer {
		b.Errorf("the turn was %s with %q, error %v", turn.Status, turn.Text, turn.Err)
	}
	if got := Said(events); got != answer {
		b.Errorf("the pieces add up to %q", got)
	}
	if turn.Tokens.Input <= 0 || turn.Tokens.Output <= 0 || turn.Tokens.Cached > turn.Tokens.Input {
		b.Errorf("tokens %+v", turn.Tokens)
	}
	if b.can.Cost && (turn.Cost == nil || *turn.Cost < 0) {
		b.Errorf("cost %v", turn.Cost)
	}
	b.checkStartedEarly(s, l, false)
	if !s.Alive() || b.Failed() {
		b.Errorf("alive is %v:%s", s.Alive(), l)
	}
}

// checkStartedEarly checks that the session was named before all other events.
func (b *bench) checkStartedEarly(s agent.Session, l *Log, resumed bool) {
	b.Helper()
	for _, e := range l.Events() {
		switch e := e.(type) {
		case agent.Text, agent.Turn:
			b.Errorf("%T before a Started", e)
			return
		case agent.Started:
			if e.SessionID == "" || e.Resumed != resumed {
				b.Errorf("%+v", e)
			}
			all := All[agent.Started](l.Events())
			if last := all[len(all)-1]; last.SessionID != s.ID() {
				b.Errorf("the id is %q, last told was %q", s.ID(), last.SessionID)
			}
			return
		}
	}
}

func testTwoTurns(b *bench) {
	_, l := b.startSession(b.options)
	first, _ := l.Turn("remember the word heliotrope [[usage:4000,30]][[say:one]]")
	second, events := l.Turn("and now? [[usage:300,20]][[say:two]]")
	if first.Text != "one" || second.Text != "two" || Said(events) != "two" {
		b.Errorf("said %q, then %q:%s", first.Text, second.Text, l)
	}
	if second.Tokens.Input >= first.Tokens.Input {
		b.Errorf("tokens %+v, then %+v: want those of each turn", first.Tokens, second.Tokens)
	}
	b.checkHeardBoth("and now?", "heliotrope")
}

// checkHeardBoth checks that a request with the prompt also holds the earlier text.
func (b *bench) checkHeardBoth(prompt, before string) {
	b.Helper()
	for _, q := range b.model.Requests() {
		if text := q.Text(); len(q.Tools) > 0 && strings.Contains(text, prompt) && strings.Contains(text, before) {
			return
		}
	}
	b.Errorf("the model heard %q without %q", prompt, before)
}

func testBusy(b *bench) {
	s, l := b.startSession(b.options)
	l.Send("[[slow:8]]")
	if err := s.Send(b.Context(), "not yet [[say:hm]]"); !errors.Is(err, agent.ErrBusy) {
		b.Errorf("a second message in the turn: %v", err)
	}
	if turn := Next[agent.Turn](l); turn.Status != agent.Completed || !strings.Contains(turn.Text, "slow7") {
		b.Errorf("the turn was %s with %q", turn.Status, turn.Text)
	}
	b.checkWorks(l)
	if b.modelHeard("not yet") {
		b.Error("the model heard what was refused")
	}
}

func testLongLine(b *bench) {
	const size = 350_000
	_, l := b.startSession(b.options)
	turn, events := l.Turn("[[fill:350000]]")
	if turn.Status != agent.Completed || turn.Text != fakemodel.Filler(size) {
		b.Errorf("the turn was %s with %d bytes, error %v", turn.Status, len(turn.Text), turn.Err)
	}
	if got := Said(events); got != turn.Text {
		b.Errorf("the pieces add up to %d bytes", len(got))
	}
	b.checkWorks(l)
}

func testAPIError(b *bench) {
	s, l := b.startSession(b.options)
	turn, _ := l.Turn("[[error:400:invalid_request_error:never heard of it]]")
	e, ok := errors.AsType[*failure.Error](turn.Err)
	if turn.Status != agent.Failed || !ok {
		b.Fatalf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
	if e.Code == "" || e.Retriable || !strings.Contains(e.Message, "never heard of it") {
		b.Errorf("error %+v", e)
	}
	if s.Alive() {
		b.checkWorks(l)
	}
}

func testResumed(b *bench) {
	s, l := b.startSession(b.options)
	if turn, _ := l.Turn("remember the word heliotrope [[say:kept]]"); turn.Status != agent.Completed {
		b.Fatalf("the turn was %s:%s", turn.Status, l)
	}
	o := b.resumeOptions(s)
	b.stopSession(s)
	s, l = b.startSession(o)
	if turn, _ := l.Turn("which was it? [[say:I know]]"); turn.Status != agent.Completed || turn.Text != "I know" {
		b.Errorf("the turn was %s with %q, error %v:%s", turn.Status, turn.Text, turn.Err, l)
	}
	b.checkStartedEarly(s, l, true)
	b.checkHeardBoth("which was it?", "heliotrope")
}

func testUnknownSession(b *bench) {
	o := b.options
	o.Resume = uuid.NewString()
	s, err := b.adapter.Start(b.Context(), o)
	if err != nil {
		if !errors.Is(err, agent.ErrNoSession) {
			b.Errorf("start: %v", err)
		}
		return
	}
	b.Cleanup(func() { b.stopSession(s) })
	l := Watch(b, s)
	if turn, _ := l.Turn("[[say:hm]]"); turn.Status != agent.Failed || !errors.Is(turn.Err, agent.ErrNoSession) {
		b.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
}
