package agenttest

import "github.com/ratchet-dev/ratchet/internal/agent"

var interrupts = []testCase{
	{"an interrupt in the stream", interruptible, func(b *bench) { interrupted(b, "at length [[slow:400]]") }},
	{"an interrupt in a hang", interruptible, func(b *bench) { interrupted(b, "at length [[hang]]") }},
	{"an interrupt without a turn", interruptible, interruptedIdle},
}

func (b *bench) interrupt(s agent.Session) {
	b.Helper()
	if err := s.Interrupt(b.Context()); err != nil {
		b.Fatalf("interrupt: %v", err)
	}
}

func interrupted(b *bench, prompt string) {
	s, l := b.start(b.options)
	l.Send(prompt)
	b.untilAsked(l, "at length")
	b.interrupt(s)
	if turn := Next[agent.Turn](l); turn.Status != agent.Interrupted || turn.Err != nil {
		b.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
	b.works(l)
}

func interruptedIdle(b *bench) {
	s, l := b.start(b.options)
	b.interrupt(s)
	b.works(l)
	b.interrupt(s)
	b.works(l)
}
