package agenttest

import (
	"errors"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

var endings = []testCase{
	{"a stop when idle", nil, func(b *bench) {
		s, l := b.startSession(b.options)
		b.checkWorks(l)
		b.checkStopped(s, l)
	}},
	{"a stop before the first turn", nil, func(b *bench) {
		s, l := b.startSession(b.options)
		b.checkStopped(s, l)
	}},
	{"a stop in a turn", nil, func(b *bench) {
		s, l := b.startSession(b.options)
		l.Send("at length [[hang]]")
		b.waitForRequest(l, "at length")
		b.checkStopped(s, l)
	}},
	{"a stop while it asks", canAsk, func(b *bench) {
		s, l := b.startSession(b.options)
		b.askForFile(l)
		b.checkStopped(s, l)
	}},
	{"a process that is killed", nil, testKilled},
}

// checkStopped stops the session and checks that it ends without an event.
func (b *bench) checkStopped(s agent.Session, l *Log) {
	b.Helper()
	b.stopSession(s)
	l.Rest()
	if exits := All[agent.Exit](l.Events()); len(exits) > 0 {
		b.Errorf("a stop is told as %+v", exits)
	}
	b.checkOver(s)
	b.stopSession(s)
}

// checkOver checks that a session takes no more input.
func (b *bench) checkOver(s agent.Session) {
	b.Helper()
	if s.Alive() {
		b.Error("alive after the end")
	}
	if err := s.Send(b.Context(), "[[say:hm]]"); !errors.Is(err, agent.ErrGone) {
		b.Errorf("send after the end: %v", err)
	}
}

func testKilled(b *bench) {
	s, l := b.startSession(b.options)
	if s.PID() == 0 {
		b.Skip("the session has no process of ours")
	}
	b.checkWorks(l)
	l.Send("at length [[hang:1]][[say:at last]]")
	b.waitForRequest(l, "at length")
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		b.Fatal(err)
	}
	l.Rest()
	exits := All[agent.Exit](l.Events())
	if _, last := l.Events()[len(l.Events())-1].(agent.Exit); len(exits) != 1 || !last {
		b.Fatalf("want one Exit, the last of all:%s", l)
	}
	b.checkOver(s)
	l.Poll("end of what it started", func() bool { return len(b.findMarked()) == 0 })
	if !b.can.Resume {
		return
	}
	_, l = b.startSession(b.resumeOptions(s))
	if turn, _ := l.Turn("back again [[say:here]]"); turn.Status != agent.Completed || turn.Text != "here" {
		b.Errorf("the turn was %s with %q, error %v:%s", turn.Status, turn.Text, turn.Err, l)
	}
	b.checkHeardBoth("back again", "once more")
}
