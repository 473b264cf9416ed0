package activities_test

import (
	"context"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// scriptedAgent is an agent in memory to which every message ends with a script.
type scriptedAgent struct {
	*agenttest.Fake
	script string
}

func (a scriptedAgent) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := a.Fake.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return scriptedSession{s, a.script}, nil
}

type scriptedSession struct {
	agent.Session
	script string
}

func (s scriptedSession) Send(ctx context.Context, text string) error {
	return s.Session.Send(ctx, text+"\n"+s.script)
}
