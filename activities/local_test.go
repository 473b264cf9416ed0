package activities_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
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
			o := newOffice(t)
			o.enroll(citizen.Birth{Backend: dispatch.ClaudeCode, NativeSessionID: "n-1"})
			o.enroll(citizen.Birth{GardenID: other, Backend: dispatch.Codex, NativeSessionID: "n-2"})
			desk, err := activities.Local{RunsDir: t.TempDir(), Environ: []string{"HOME=" + o.dirs.Home, activities.ResumeVariable + "=" + list}}.NewDispatchActivities()
			if err != nil {
				if want != "error" || !strings.Contains(err.Error(), activities.ResumeVariable) || !strings.Contains(err.Error(), "claude-code, codex") {
					t.Errorf("%v", err)
				}
				return
			}
			o.desk = desk
			var got []string
			for _, id := range []dispatch.GardenID{gid, other} {
				if to := mustPerform[activities.ResolveResult](o, desk.Resolve, id); to.Session != "" {
					got = append(got, string(to.Backend))
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("resumed: %v, want %s", got, want)
			}
		})
	}
}

// Finding D9.
func TestObserveTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10000": 10 * time.Second, " 1500 ": 1500 * time.Millisecond, "0.5": 500 * time.Microsecond, "1e3": time.Second,
		"": 0, "0": 0, "-1": 0, "soon": 0, "10s": 0, "NaN": 0, "Inf": 0, "1e300": 0,
	} {
		if got := activities.ObserveTimeout(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Finding D9. Without the variable the child would be watched for the minute of
// the errand.
func TestAChildIsWatchedAsLongAsTheVariableSays(t *testing.T) {
	o := newOffice(t)
	silent := filepath.Join(t.TempDir(), "pi")
	check(t, os.WriteFile(silent, []byte("#!/bin/sh\nexec sleep 300\n"), 0o700))
	desk, err := activities.Local{RunsDir: t.TempDir(), Environ: []string{
		"HOME=" + o.dirs.Home, "PATH=/usr/bin:/bin", catalog.PiVariable + "=" + silent, activities.ObserveVariable + "=20",
	}}.NewDispatchActivities()
	check(t, err)
	o.desk = desk
	if out := receive(t, "the outcome", o.own(o.errand())); out.err != nil || out.Kind != dispatch.StartFailed || !strings.Contains(out.Error, "deadline") {
		t.Errorf("%+v", out)
	}
}
