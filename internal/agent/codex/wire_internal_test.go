package codex

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// What a caller that gave up has returned already must not be written any more.
func TestAnAnswerAfterItsCallerGaveUpIsNotTaken(t *testing.T) {
	w := &conn{calls: map[string]*pendingCall{}, out: new(child.Outbox)}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	taken := false
	err := w.callServer(ctx, "thread/read", object{}, func(json.RawMessage) error { taken = true; return nil })
	w.takeAnswer(frame{ID: json.RawMessage("1"), Result: json.RawMessage("{}")})
	if !errors.Is(err, context.Canceled) || taken {
		t.Errorf("%v, taken: %t", err, taken)
	}
}
