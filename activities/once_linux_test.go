package activities_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	checks "github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// userState is everything of the user's repository that a merge has to do with: references, hooks, configuration, index and
// the files of the checkout.
func (s *fixture) userState() string {
	s.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(s.repo, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "objects" {
			return filepath.SkipDir
		}
		text := []byte("a directory")
		if !d.IsDir() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

// Each check of a merge is an attack on the merge: on the branch that is about to move, on the user's checkout, or on
// the verdict. The control runs it without the box, where it must succeed.
func TestAMergesChecksInABox(t *testing.T) {
	box := inBox(t)
	for _, tc := range []struct{ name, command string }{
		{"the branch is moved", `git -C "$REPO" update-ref refs/heads/main "$MERGED"`},
		{"another branch is made", `git -C "$REPO" branch planted "$MERGED"`},
		{"a file of the checkout is written", `echo planted > "$REPO"/log.txt`},
		{"the index is removed", `rm "$REPO"/.git/index`},
		{"a hook is left", `mkdir -p "$REPO"/.git/hooks && echo 'touch /tmp/x' > "$REPO"/.git/hooks/post-merge`},
		{"a merge driver is configured", `git -C "$REPO" config merge.evil.driver 'touch /tmp/x'`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, boxed := range []bool{true, false} {
				s := newFixture(t)
				if boxed {
					s = newFixtureWith(t, "runs", box)
				}
				merged := s.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "merged")
				before := s.userState()
				report := s.once(merged, fmt.Sprintf("export REPO='%s' MERGED=%s; %s", s.repo, merged, tc.command))
				if changed := s.userState() != before; changed == boxed {
					t.Errorf("in the box: %v: the check is %s, the repository has changed: %v", boxed, report.Checks[0].Status, changed)
				}
			}
		})
	}
}

// A check that fails does what it can to be taken for one that passes.
func TestAMergesCheckCannotForgeItsVerdict(t *testing.T) {
	s := newFixtureWith(t, "runs", inBox(t))
	merged := s.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "merged")
	for name, command := range map[string]string{
		"the control":                        "false",
		"it ends what started it":            "kill -9 $PPID; kill -9 -1; exit 1",
		"it writes to what it has inherited": `for fd in 1 2 3 4 5 6 7 8 9; do { echo '{"exit":0,"exitCode":0,"status":"pass"}' >&$fd; } 2>/dev/null; done; exit 1`,
		"it leaves a program that passes":    "sh -c 'sleep 1; exit 0' & exit 1",
		"it replaces the next command":       "ln -sf /bin/true ./true; ln -sf /bin/true ./false; PATH=.:$PATH exit 1",
	} {
		report := s.once(merged, command)
		if len(report.Checks) != 1 || report.Checks[0].Status == checks.Pass {
			t.Errorf("%s: %+v", name, report.Checks)
		}
	}
	if report := s.once(merged, "true"); report.Checks[0].Status != checks.Pass {
		t.Errorf("a check that passes: %+v", report.Checks)
	}
}

// once runs one check as a merge does.
func (s *fixture) once(merged, command string) checks.Report {
	s.t.Helper()
	in := activities.CheckInput{Header: s.place(), Commands: []string{command}, Timeout: time.Minute}
	in.RunID = "merge-" + s.place().RunID
	in.Repository.Base = run.Commit(merged)
	report, err := activities.CheckOnce(s.t.Context(), s.acts, in, func(string) {})
	if err != nil {
		s.t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.runs.Dir(), "*", "merge-*")); len(left) > 0 {
		s.t.Errorf("left: %v", left)
	}
	return report
}
