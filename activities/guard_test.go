package activities_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Finding B9: under the policy risky, a patch of what judges it waits for a person.
func TestWhatTheChecksRunIsARisk(t *testing.T) {
	s := newFixture(t)
	for name, text := range map[string]string{
		"Makefile": "test:\n\t@sh ci/unit\n", "ci/unit": "true\n", "ci/other": "true\n", "verify.py": "pass\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(s.repo, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		s.write(name, text)
	}
	s.git("add", ".")
	s.git("commit", "-q", "-m", "checks")
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
	change := func(name, text string) string {
		return "--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-" + text + "\n+exit 0\n"
	}
	for i, tt := range []struct {
		name, diff string
		risk       string // empty: none
	}{
		{"the build that they run", "--- a/Makefile\n+++ b/Makefile\n@@ -1,2 +1,2 @@\n test:\n-\t@sh ci/unit\n+\ttrue\n", `Makefile: part of the build`},
		{"a file that they name", change("verify.py", "pass"), `"verify.py" (named by the check "python3 verify.py")`},
		{"a script that they do not name", change("ci/other", "true"), ""},
		{"what is judged", appending, ""},
		{"a record of runs", "--- /dev/null\n+++ b/.runs/workflows/r1/events.ndjson\n@@ -0,0 +1 @@\n+x\n", "records of runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			s.provider.says(patching(tt.diff))
			c := s.call(run.Execute)
			c.Checks = []string{"make test", "python3 verify.py"}
			c.Number = i + 1
			out := must[activities.ProposeResult](s, s.acts.Propose, c)
			if out.Proposal == nil || out.Refusal != nil {
				t.Fatalf("%+v", out)
			}
			if risks := strings.Join(out.Proposal.Risks, "\n"); !strings.Contains(risks, tt.risk) || (risks == "") != (tt.risk == "") {
				t.Errorf("risks %q, want %q", risks, tt.risk)
			}
		})
	}
}

// Findings, section 6: anything under the runs directory's name.
func TestTheRunsDirectoryIsARisk(t *testing.T) {
	s := newFixtureWith(t, "repo/state/ratchet")
	out := s.propose(patching("--- /dev/null\n+++ b/state/ratchet/workflows/r2/events.ndjson\n@@ -0,0 +1 @@\n+x\n"))
	if out.Proposal == nil || !strings.Contains(strings.Join(out.Proposal.Risks, "\n"), "(the record of runs)") {
		t.Errorf("%+v", out.Proposal)
	}
	if out := newFixture(t).propose(patching("--- /dev/null\n+++ b/state/ratchet/x\n@@ -0,0 +1 @@\n+x\n")); len(out.Proposal.Risks) > 0 {
		t.Errorf("a runs directory elsewhere: %q", out.Proposal.Risks)
	}
}
