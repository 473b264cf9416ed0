package dispatch_test

import (
	"encoding"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// text is a pointer to a word.
type text[T any] interface {
	*T
	encoding.TextUnmarshaler
}

// closed checks that exactly the words of the contract are decoded.
func closed[T ~string, P text[T]](t *testing.T, what string, got []T, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d words, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		var word T
		if err := P(&word).UnmarshalText([]byte(w)); err != nil || string(word) != w {
			t.Errorf("%s %q: %q, %v", what, w, word, err)
		}
		if i < len(got) && string(got[i]) != w {
			t.Errorf("%s: word %d is %q, want %q", what, i, got[i], w)
		}
	}
	for _, w := range []string{"", " " + want[0], want[0] + "\n", "unheard-of"} {
		var word T
		if err := P(&word).UnmarshalText([]byte(w)); err == nil || word != "" {
			t.Errorf("%s took %q", what, w)
		}
	}
}

func TestWordsAreClosedSets(t *testing.T) {
	closed(t, "intent", dispatch.Intents, "fire-and-forget", "owned-outcome")
	closed(t, "mode", dispatch.Modes, "steer", "follow_up")
	closed(t, "liveness", dispatch.Livenesses, "alive", "dead", "indeterminate", "unsupported")
	closed(t, "transport", dispatch.Transports, "control-socket", "spawn-bg", "tmux-live", "meta-mailbox")
	closed(t, "action", dispatch.Actions, "send", "resume")
	closed(t, "ownership", dispatch.Ownerships, "ack-only", "owned")
	closed(t, "backend", dispatch.Backends, "claude-code", "antigravity", "codex", "pi")
	closed(t, "reason", dispatch.Reasons,
		"indeterminate-no-spawn", "dormant-fire-forget-unsupported", "owned-live-no-autosend", "backend-liveness-unsupported",
		"mailbox-undeliverable", "bad-target", "untrusted-fail-fast", "target-locked", "target-address-conflict")
	closed(t, "kind", dispatch.Kinds,
		"sent", "fallback-sent", "enqueued", "completed", "rejected", "spawn-start-failed",
		"turn-failed", "child-exited", "lock-retained", "execution-failed", "unknown")
	closed(t, "retention", []dispatch.Retention{dispatch.KillUnconfirmed, dispatch.ObserveFailed}, "kill-unconfirmed", "observe-failed")
}
