package host_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	dispatchacts "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// Sessions of Claude Code and Codex are resumed where the worker's operator says
// so, and no others.
func TestWhichBackendsAreResumed(t *testing.T) {
	const other dispatch.GardenID = "20260612T093000-0a1b2d"
	for list, want := range map[string]string{
		"": "", "pi": "", "claude-code": "claude-code", "codex": "codex", " codex, claude-code,": "claude-code codex",
		"claude": "claude-code", "antigravity": "error", "codex claude-code": "error",
	} {
		t.Run(list, func(t *testing.T) {
			r := newRegistry(t)
			r.enroll(citizen.Birth{GardenID: gid, Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"})
			r.enroll(citizen.Birth{GardenID: other, Backend: dispatch.Codex, NativeSessionID: "n-2"})
			h, err := r.openHost(host.ResumeVariable + "=" + list)
			if err != nil {
				if want != "error" || !strings.Contains(err.Error(), host.ResumeVariable) || !strings.Contains(err.Error(), "claude-code, codex") {
					t.Errorf("%v", err)
				}
				return
			}
			var got []string
			for _, id := range []dispatch.GardenID{gid, other} {
				if to := perform[dispatchacts.ResolveResult](t, h.Dispatch, h.Dispatch.Resolve, id); to.Session != "" {
					got = append(got, string(to.Backend))
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("resumed: %v, want %s", got, want)
			}
		})
	}
}

func TestParseObserveTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10000": 10 * time.Second, " 1500 ": 1500 * time.Millisecond, "0.5": 500 * time.Microsecond, "1e3": time.Second,
		"": 0, "0": 0, "-1": 0, "soon": 0, "10s": 0, "NaN": 0, "Inf": 0, "1e300": 0,
	} {
		if got := host.ParseObserveTimeout(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Without the variable the child would be watched for the minute that the turn carries.
func TestAChildIsWatchedAsLongAsTheVariableSays(t *testing.T) {
	r := newRegistry(t)
	silent := filepath.Join(t.TempDir(), "pi")
	check(t, proctest.WriteProgram(silent, "#!/bin/sh\nexec sleep 300\n"))
	h, err := r.openHost("PATH=/usr/bin:/bin", "RATCHET_PI"+"="+silent, host.ObserveVariable+"=20")
	check(t, err)
	turn := dispatchacts.OwnedTurn{
		Message: dispatch.Message{
			ID: "m-1", Request: dispatch.Request{Target: gid, Intent: dispatch.OwnedOutcome, Message: "do it"},
			Sender: dispatch.Sender{SessionID: "20260612T090000-aaaaaa", AgentID: "pi/test", CWD: "/w", Timestamp: "2026-06-12T09:30:00.000Z"},
		},
		Lock: dispatchacts.Lock{Target: gid, Nonce: "n-1"}, CWD: r.work, Approve: true, Observe: time.Minute,
	}
	if got := perform[dispatchacts.LockResult](t, h.Dispatch, h.Dispatch.Lock, turn.Lock); !got.OK {
		t.Fatalf("%+v", got)
	}
	out := perform[dispatch.Outcome](t, h.Dispatch, h.Dispatch.Own, turn)
	if out.Kind != dispatch.StartFailed || !strings.Contains(out.Error, "deadline") {
		t.Errorf("%+v", out)
	}
}
