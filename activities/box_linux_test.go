package activities_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func inBox(t *testing.T) func(*activities.Config) {
	t.Helper()
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *activities.Config) { c.Sandbox = activities.Sandbox{Policy: run.SandboxRequired, Box: b} }
}

// Each check is an attack, or a use that must go on working. The control runs the attacks without a box.
func TestChecksInABox(t *testing.T) {
	boxed, plain := newFixtureWith(t, "runs", inBox(t)), newFixture(t)
	for _, tc := range []struct {
		name, command string
		attack        bool
	}{
		{"git tells what changed", "git diff --exit-code && git status --porcelain && git log -1 && git describe --always", false},
		{"the work tree is written", "echo x > made && cat made", false},
		{"the record is read", "ls \"$RUNS\"/workflows/*/artifacts", true},
		{"the record is written", "echo x >> \"$RUNS\"/workflows/planted", true},
		{"the user's repository is written", "git -C \"$REPO\" branch planted && git -C \"$REPO\" rev-parse planted", true},
		{"its configuration is read", "cat \"$REPO\"/.git/config", true},
		{"its objects are written", "o=\"$REPO\"/.git/objects && echo x > $o/planted && rm $o/planted", true},
		{"the repository of the work tree is written", "git config x.y z && git config x.y", true},
		{"the worker is seen", "ls /proc/$WORKER/exe", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, s := range []*fixture{boxed, plain} {
				s.t = t
				s.prepare()
				command := fmt.Sprintf("RUNS='%s' REPO='%s' WORKER=%d; %s", s.runs.Dir(), s.repo, os.Getpid(), tc.command)
				j := s.check(command)
				want := run.Pass
				if tc.attack && s == boxed {
					want = run.Fixable
				}
				e := s.evaluation(j)
				if j.Verdict != want {
					t.Errorf("in a box: %v: %s, want %s: %+v", s == boxed, j.Verdict, want, e.Checks)
				}
				if (e.Checks[0].Sandbox != "") != (s == boxed) {
					t.Errorf("sandbox %q", e.Checks[0].Sandbox)
				}
			}
		})
	}
	if _, err := os.Stat(filepath.Join(boxed.repo, ".git", "refs", "heads", "planted")); err == nil {
		t.Error("the user's repository was written")
	}
}
