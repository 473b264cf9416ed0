package activities_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
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
			desk, err := activities.Local{RunsDir: t.TempDir(), Environ: []string{"HOME=" + o.dirs.Home, activities.ResumeVariable + "=" + list}}.OpenDesk()
			if err != nil {
				if want != "error" || !strings.Contains(err.Error(), activities.ResumeVariable) || !strings.Contains(err.Error(), "claude-code, codex") {
					t.Errorf("%v", err)
				}
				return
			}
			o.desk = desk
			var got []string
			for _, id := range []dispatch.GardenID{gid, other} {
				if to := mustPerform[activities.Resolved](o, desk.Resolve, id); to.Session != "" {
					got = append(got, string(to.Backend))
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("resumed: %v, want %s", got, want)
			}
		})
	}
}
