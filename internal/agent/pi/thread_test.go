package pi_test

import (
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestEveryReadOfTheThreadGetsItsAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(t, script{Turns: [][]string{{"gather 2"}}})
	s := f.start(t, agent.Options{})
	send(t, s, "hi")
	const reads = 2
	done := make(chan error, reads)
	for range reads {
		go func() {
			_, err := s.(agent.Watched).Thread(t.Context())
			done <- err
		}()
	}
	limit := time.After(agenttest.Patience)
	for range reads {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-limit:
			t.Fatal("a read waits for ever")
		}
	}
}
