package agenttest

import "github.com/ratchet-dev/ratchet/internal/agent"

var interrupts = []testCase{
	{"an interrupt in the stream", canInterrupt, func(b *bench) { testInterrupted(b, "at length [[slow:400]]") }},
	{"an interrupt in a hang", canInterrupt, func(b *bench) { testInterrupted(b, "at length [[hang]]") }},
	{"an interrupt without a turn", canInterrupt, testInterruptedIdle},
}

func (b *bench) interruptSession(s agent.Session) {
	b.Helper()
	if err := s.Interrupt(b.Context()); err != nil {
		b.Fatalf("interrupt: %v", err)
	}
}

func testInterrupted(b *bench, prompt string) {
	s, l := b.startSession(b.options)
	l.Send(prompt)
	b.waitForRequest(l, "at length")
	b.interruptSession(s)
	if turn := Next[agent.Turn](l); turn.Status != agent.Interrupted || turn.Err != nil {
		b.Errorf("the turn was %s, error %v:%s", turn.Status, turn.Err, l)
	}
	b.checkWorks(l)
}

func testInterruptedIdle(b *bench) {
	s, l := b.startSession(b.options)
	b.interruptSession(s)
	b.checkWorks(l)
	b.interruptSession(s)
	b.checkWorks(l)
}
