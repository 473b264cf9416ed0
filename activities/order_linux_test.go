package activities_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// The checks of one evaluation share the tree, as docs/sandbox.md says with what helps.
func TestACheckThatRewritesWhatTheNextOneJudgesBy(t *testing.T) {
	for name, tt := range map[string]struct {
		checks []string
		want   []string // the head of each
	}{
		"the next one":              {[]string{"echo 'echo passed' >judge.sh", "sh judge.sh"}, []string{"", "passed\n"}},
		"one before":                {[]string{"sh judge.sh", "echo 'echo passed' >judge.sh"}, []string{"failed\n", ""}},
		"one that restores":         {[]string{"echo 'echo passed' >judge.sh", "git archive HEAD | tar -x && sh judge.sh"}, []string{"", "failed\n"}},
		"one that works elsewhere":  {[]string{"echo 'echo passed' >judge.sh; touch made", "git archive HEAD | tar -x -C /tmp && cd /tmp && test ! -e made && sh judge.sh"}, []string{"", "failed\n"}},
		"one that sees the changes": {[]string{"echo 'echo passed' >judge.sh", "git diff --name-only"}, []string{"", "judge.sh\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixtureWith(t, "runs", inBox(t))
			s.write("judge.sh", "echo failed; exit 1\n")
			s.git("add", ".")
			s.git("commit", "-q", "-m", "add a judge")
			s.base = run.Commit(s.git("rev-parse", "HEAD"))
			s.prepare()
			e := s.evaluation(s.check(tt.checks...))
			for i, want := range tt.want {
				if got := e.Checks[i].Head; got != want {
					t.Errorf("%s: %q, want %q", tt.checks[i], got, want)
				}
			}
		})
	}
}
