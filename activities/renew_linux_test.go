package activities_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// checkNext runs checks on a new commit of the run, with the change that a shell command makes to the last one.
func (s *fixture) checkNext(change string, commands ...string) activities.Evaluation {
	s.t.Helper()
	must[any](s, s.acts.Prepare, s.place())
	branch := s.place().RunID.Branch()
	s.git("checkout", "-q", "--detach", branch)
	cmd := exec.Command("/bin/sh", "-c", change)
	cmd.Dir = s.repo
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v %s", change, err, out)
	}
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", "the run's")
	made := s.git("rev-parse", "HEAD")
	s.git("checkout", "-q", "-")
	s.git("update-ref", "refs/heads/"+branch, made)
	j := must[activities.Judgement](s, s.acts.Check, activities.CheckInput{
		Header: s.place(), Iteration: 1, Commit: run.Commit(made), Commands: commands, Timeout: 10 * time.Minute,
	})
	return s.evaluation(j)
}

// What checks on one commit of a run have left does not reach the verdict on the next, which may not have the
// code that left it. What the checks on the base commit have left, whose code is the user's, does.
func TestNoCommitIsJudgedByWhatAnotherLeft(t *testing.T) {
	const (
		plant = `for f in "$HOME/w" "$HOME/tmp/w" "$XDG_CACHE_HOME/w" "$npm_config_cache/w" left/w; do mkdir -p "$(dirname "$f")" && echo planted > "$f" || exit 1; done # npm`
		find  = `for f in "$HOME/w" "$HOME/tmp/w" "$XDG_CACHE_HOME/w" "$npm_config_cache/w" left/w; do [ ! -e "$f" ] || echo "found ${f##*/left}"; done # npm`
	)
	for _, tc := range []struct {
		name string
		do   func(s *fixture) string // the output of the last check
		want int
	}{
		{"of the base, on the first commit", func(s *fixture) string {
			s.checkOf("r1", plant)
			return s.checkNext("true", find).Checks[0].Head
		}, 5},
		{"of a base that the user has not, on the first commit", func(s *fixture) string {
			s.git("checkout", "-q", "--detach")
			s.git("commit", "-q", "--allow-empty", "-m", "of another run")
			s.base = run.Commit(s.git("rev-parse", "HEAD"))
			s.git("checkout", "-q", "-")
			s.checkOf("r1", plant)
			return s.checkNext("true", find).Checks[0].Head
		}, 0},
		{"of the first commit, on the next", func(s *fixture) string {
			s.checkNext("echo one > one", plant)
			return s.checkNext("rm one", find).Checks[0].Head
		}, 0},
		{"of a commit, on the same commit again", func(s *fixture) string {
			s.checkNext("true", plant)
			return s.checkNext("true", find).Checks[0].Head
		}, 0},
		{"of a commit, on the base of a run that was reset", func(s *fixture) string {
			s.checkNext("echo one > one", plant)
			s.git("update-ref", "refs/heads/"+s.place().RunID.Branch(), string(s.base))
			return s.checkOf("r1", find).Checks[0].Head
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFixtureWith(t, "runs", inBox(t), freshHome(t.TempDir()))
			s.write(".gitignore", "left/\n")
			s.git("add", ".gitignore")
			s.git("commit", "-q", "-m", "ignore what checks leave")
			s.base = run.Commit(s.git("rev-parse", "HEAD"))
			if got := tc.do(s); strings.Count(got, "found") != tc.want {
				t.Errorf("found %q, want %d", got, tc.want)
			}
		})
	}
}

// A test of one commit has Go pass every test from then on. The next commit takes that test out, and breaks
// the code: the verdict on it is what its own tests say.
func TestNoTestDecidesOnLaterCommits(t *testing.T) {
	need.Suite(t, need.CI)
	need.Program(t, "go")
	s := newFixtureWith(t, "runs", inBox(t))
	s.write("go.mod", "module example.com/sum\n\ngo 1.22\n")
	s.write("sum.go", "package sum\n\nfunc Sum(a, b int) int { return a + b }\n")
	s.write("sum_test.go", "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n")
	s.git("add", ".")
	s.git("commit", "-q", "-m", "a module")
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
	s.checkOf("r1", "go test ./...")
	const evil = `printf 'package sum\n\nimport (\n\t"os/exec"\n\t"testing"\n)\n\nfunc TestEvil(t *testing.T) {\n\tif out, err := exec.Command("go", "env", "-w", "GOFLAGS=-exec=/bin/true").CombinedOutput(); err != nil {\n\t\tt.Fatalf("%%s", out)\n\t}\n}\n' > evil_test.go`
	if e := s.checkNext(evil, "go test ./..."); e.Checks[0].Status != "pass" {
		t.Fatalf("the attack itself fails: %+v", e.Checks)
	}
	if e := s.checkNext("rm evil_test.go; sed -i 's/a + b/a - b/' sum.go", "go test ./..."); e.Checks[0].Status != "fail" || !strings.Contains(e.Checks[0].Head, "wrong") {
		t.Errorf("%+v, want the failure of TestSum", e.Checks)
	}
}
