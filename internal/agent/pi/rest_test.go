package pi_test

import (
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// Finding H2. A pi before 0.80.4 ends a run, and what comes after it is told by
// other frames than agent_settled.
func TestAPiThatDoesNotTellThatItHasSettled(t *testing.T) {
	t.Parallel()
	const (
		retry, retried      = `{"type":"auto_retry_start","attempt":1}`, `{"type":"auto_retry_end"}`
		shortens, shortened = `{"type":"compaction_start"}`, `{"type":"compaction_end","result":{}}`
	)
	broken := ended("", "error", `,"errorMessage":"boom"`)
	for name, tt := range map[string]struct {
		busy   int
		frames []string // after the begin; the first line that pi reads is of each turn
		status agent.TurnStatus
		text   string
	}{
		"it ends":                         {0, []string{ended("one", "stop", ""), endLine}, agent.Completed, "one"},
		"it ends in an error":             {0, []string{broken, endLine}, agent.Failed, ""},
		"it repeats a request":            {0, []string{broken, endLine, retry, "serve", "serve", beginLine, ended("two", "stop", ""), retried, endLine}, agent.Completed, "two"},
		"it gives up repeating":           {0, []string{broken, endLine, retry, "serve", "serve", retried}, agent.Failed, ""},
		"it shortens the conversation":    {0, []string{ended("one", "stop", ""), endLine, shortens, "serve", "serve", shortened}, agent.Completed, "one"},
		"it goes on after it has done so": {0, []string{ended("one", "stop", ""), endLine, shortens, "serve", "serve", shortened, beginLine, ended("two", "stop", ""), endLine}, agent.Completed, "two"},
		"it goes on by itself":            {1, []string{ended("one", "stop", ""), endLine, "serve", "serve", beginLine, ended("two", "stop", ""), endLine}, agent.Completed, "two"},
		"it works for longer than asked":  {3, []string{ended("one", "stop", ""), endLine}, agent.Completed, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := append([]string{acceptLine, beginLine}, tt.frames...)
			s := newFake(t, script{Busy: tt.busy, Turns: [][]string{frames, frames}}).start(t, agent.Options{})
			for range 2 - min(tt.busy, 1) {
				got, _ := agenttest.Turn(t, s, "go")
				e, failed := errors.AsType[*failure.Error](got.Err)
				if got.Status != tt.status || got.Text != tt.text || failed != (tt.status == agent.Failed) {
					t.Errorf("%s %q, %v", got.Status, got.Text, e)
				}
			}
		})
	}
}
