package claude_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// A client that hangs does not read its input. Who sends a prompt of more than
// a pipe holds must not hang with it past ctx: package session sends from the
// goroutine that a cancellation and a timeout have to end.
func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFake(t, script{Start: []string{greetingFrame, "until never"}})
	s := f.start(t, agent.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Send(ctx, strings.Repeat("long ", 1<<18)) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("nobody has read it")
		}
	case <-time.After(agenttest.Patience):
		t.Error("Send goes on for ever")
		f.Put(t, "never", "")
		_ = s.Stop(context.Background())
		<-done
	}
}
