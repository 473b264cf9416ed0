package agenttest

import (
	"errors"
	"syscall"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

var endings = []testCase{
	{"a stop when idle", nil, func(b *bench) {
		s, l := b.start(b.options)
		b.works(l)
		b.stopped(s, l)
	}},
	{"a stop before the first turn", nil, func(b *bench) {
		s, l := b.start(b.options)
		b.stopped(s, l)
	}},
	{"a stop in a turn", nil, func(b *bench) {
		s, l := b.start(b.options)
		l.Send("at length [[hang]]")
		b.untilAsked(l, "at length")
		b.stopped(s, l)
	}},
	{"a stop while it asks", asks, func(b *bench) {
		s, l := b.start(b.options)
		b.ask(l)
		b.stopped(s, l)
	}},
	{"a process that is killed", nil, killed},
}

// stopped stops the session and checks that it is over, and quietly.
func (b *bench) stopped(s agent.Session, l *Log) {
	b.Helper()
	b.stop(s)
	l.Rest()
	if exits := All[agent.Exit](l.Events()); len(exits) > 0 {
		b.Errorf("a stop is told as %+v", exits)
	}
	b.over(s)
	b.stop(s)
}

// over checks that a session takes nothing any more.
func (b *bench) over(s agent.Session) {
	b.Helper()
	if s.Alive() {
		b.Error("alive after the end")
	}
	if err := s.Send(b.Context(), "[[say:hm]]"); !errors.Is(err, agent.ErrGone) {
		b.Errorf("send after the end: %v", err)
	}
}

func killed(b *bench) {
	s, l := b.start(b.options)
	if s.PID() == 0 {
		b.Skip("the session has no process of ours")
	}
	b.works(l)
	l.Send("at length [[hang:1]][[say:at last]]")
	b.untilAsked(l, "at length")
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		b.Fatal(err)
	}
	l.Rest()
	exits := All[agent.Exit](l.Events())
	if _, last := l.Events()[len(l.Events())-1].(agent.Exit); len(exits) != 1 || !last {
		b.Fatalf("want one Exit, the last of all:%s", l)
	}
	b.over(s)
	l.Poll("end of what it started", func() bool { return len(b.marked()) == 0 })
	if !b.can.Resume {
		return
	}
	_, l = b.start(b.resumed(s))
	if turn, _ := l.Turn("back again [[say:here]]"); turn.Status != agent.Completed || turn.Text != "here" {
		b.Errorf("the turn was %s with %q, error %v:%s", turn.Status, turn.Text, turn.Err, l)
	}
	b.heardBoth("back again", "once more")
}
